// `holdfast sessions`: lists conversations, shows one and its entries, and stops it; see `transcripts.ts` for the other verbs.
import type { EntryBlock as ContentAnswer } from '../../contract/transcripts.ts';
import type { SessionFacts as SessionAnswer } from '../../contract/views.ts';
import { headOf } from '../../core/cut-text.ts';
import { connectApi, fromOptions, type ClientFlags } from '../api-client.ts';
import { EXIT, type ExitCode } from '../cli-error.ts';
import type { PageOptions } from '../options.ts';
import { noteNextPage, printFields, printList } from '../print.ts';
import type { Style } from '../style.ts';
import type { Terminal } from '../terminal.ts';

const STATUS_STYLES: Record<string, Style> = { running: 'green', waiting: 'yellow' };
/** The maximum length of a tool call or result in the output. */
const PAYLOAD_CHARS_MAX = 400;

/** Lists sessions. */
export async function runSessionsList(
  options: PageOptions & { kind?: string; tag?: string },
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const body = await connectApi(flags).listSessions(fromOptions(options));
  printList<SessionAnswer>(
    body,
    [
      { title: 'SESSION', value: (row) => row.key },
      { title: 'STATUS', value: (row) => row.status, style: (row) => STATUS_STYLES[row.status] },
      { title: 'WAITING', value: (row) => String(row.waitingMessages), align: 'right', dropOrder: 1 },
      { title: 'TOKENS', value: (row) => String(row.tokens.context), align: 'right', dropOrder: 3 },
      { title: 'LABEL', value: (row) => row.label ?? '', dropOrder: 2, isProse: true },
      { title: 'UPDATED', value: (row) => terminal.time(row.updatedAt), dropOrder: 4 },
    ],
    terminal,
  );
  return EXIT.ok;
}

/** Shows one session. */
export async function runSessionsShow(key: string, flags: ClientFlags, terminal: Terminal): Promise<ExitCode> {
  const body = await connectApi(flags).getSession({ key });
  if (terminal.isJson) {
    terminal.json(body);
    return EXIT.ok;
  }
  const { tokens } = body;
  printFields(terminal, {
    session: body.key,
    id: body.id,
    status: body.status,
    agent: body.agentId,
    kind: body.kind,
    parent: body.parentKey,
    label: body.label,
    channel: body.channel,
    'queue mode': body.queueMode,
    model: body.model,
    thinking: body.thinking,
    turn: body.turnId,
    'messages waiting': body.waitingMessages,
    'system events': body.systemEvents,
    tokens: `${tokens.context} in context, ${tokens.input} in and ${tokens.output} out so far`,
    epoch: body.epoch,
    created: terminal.time(body.createdAt),
    updated: terminal.time(body.updatedAt),
  });
  return EXIT.ok;
}

/** Prints the transcript, oldest entry first. */
export async function runTranscript(
  key: string,
  options: PageOptions & { all?: boolean; tail?: number },
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const { all, tail, ...page } = options;
  const body = await connectApi(flags).listEntries({
    key,
    ...(tail === undefined ? page : { limit: tail, order: 'desc' }),
    state: all === true ? 'all' : undefined,
  });
  if (tail !== undefined) {
    body.items.reverse();
    // Older entries were not requested.
    body.nextCursor = null;
  }
  if (terminal.isJson) {
    terminal.json(body);
    return EXIT.ok;
  }
  for (const entry of body.items) {
    const state = entry.state === 'active' ? '' : ` (${entry.state})`;
    terminal.print(terminal.paint('bold', `${entry.role} · ${entry.kind}${state} · ${terminal.time(entry.createdAt)}`));
    for (const block of entry.content) terminal.print(indent(blockText(block)));
    terminal.print('');
  }
  noteNextPage(body, terminal);
  return EXIT.ok;
}

/** Stops the running turn. */
export async function runSessionsAbort(
  key: string,
  options: { keepQueued?: boolean },
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const body = await connectApi(flags).abortSession({
    key,
    body: options.keepQueued === true ? { queued: 'keep' } : {},
  });
  if (terminal.isJson) terminal.json(body);
  else
    terminal.print(
      `${body.aborted === null ? 'no turn was running' : `stopped turn ${body.aborted}`}; ${body.cancelled} cancelled`,
    );
  return EXIT.ok;
}

function blockText(block: ContentAnswer): string {
  switch (block.type) {
    case 'text':
      return stringOf(block['text']);
    case 'thinking':
      return `(thinking) ${shorten(stringOf(block['thinking']))}`;
    case 'tool_use':
      return `→ ${stringOf(block['name'])} ${shorten(JSON.stringify(block['input']))}`;
    case 'tool_result':
      return `← ${block['is_error'] === true ? 'error: ' : ''}${shorten(resultText(block['content']))}`;
    default:
      return `(${block.type})`;
  }
}

/** A field of a block, whose other fields are not described. */
function stringOf(field: unknown): string {
  return typeof field === 'string' ? field : '';
}

function resultText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return JSON.stringify(content) ?? '';
  return content
    .map((block: ContentAnswer) => (block.type === 'text' ? stringOf(block['text']) : `(${block.type})`))
    .join('\n');
}

function shorten(text: string): string {
  const { length } = text;
  return length <= PAYLOAD_CHARS_MAX
    ? text
    : `${headOf(text, PAYLOAD_CHARS_MAX)}… (${length} characters; --json has all)`;
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '  ');
}
