// `holdfast sessions`: lists conversations, shows one and its entries, stops, compacts, copies and
// exports it.
import type { EntryBlock } from '../../contract/transcripts.ts';
import { cutHead } from '../../core/text.ts';
import { command, lists, prints, type Words } from '../command.ts';
import { ITS_KEY, pages, TAG_FILTER, wholeNumber } from '../options.ts';
import { noteNextPage, printFields } from '../print.ts';
import type { Style } from '../table.ts';
import { compact } from './sessions-compact.ts';
import { exportSession } from './sessions-export.ts';

const STATUS_STYLES: Record<string, Style> = { running: 'green', waiting: 'yellow' };
/** The maximum length of a tool call or result in the output. */
const PAYLOAD_CHARS_MAX = 400;
const TAIL_MAX = 200;

export const words: Words = {
  sessions: {
    list: command({
      summary: 'list sessions',
      takes: {
        ...pages(),
        ...TAG_FILTER,
        kind: ['--kind <kinds>', 'only of these kinds, separated by commas; by default all but batch'],
      },
      run: lists('listSessions', (terminal) => [
        { title: 'SESSION', value: (row) => row.key },
        { title: 'STATUS', value: (row) => row.status, style: (row) => STATUS_STYLES[row.status] },
        { title: 'WAITING', value: (row) => row.waitingMessages, dropOrder: 1 },
        { title: 'TOKENS', value: (row) => row.tokens.context, dropOrder: 3 },
        { title: 'LABEL', value: (row) => row.label, dropOrder: 2, isProse: true },
        { title: 'UPDATED', value: (row) => terminal.time(row.updatedAt), dropOrder: 4 },
      ]),
    }),
    show: command({
      summary: 'print one session',
      takes: ITS_KEY,
      run: prints('getSession', (session, terminal) => {
        const { tokens } = session;
        printFields(terminal, {
          session: session.key,
          id: session.id,
          status: session.status,
          agent: session.agentId,
          kind: session.kind,
          parent: session.parentKey,
          label: session.label,
          channel: session.channel,
          'queue mode': session.queueMode,
          model: session.model,
          thinking: session.thinking,
          turn: session.turnId,
          'messages waiting': session.waitingMessages,
          'system events': session.systemEvents,
          tokens: `${tokens.context} in context, ${tokens.input} in and ${tokens.output} out so far`,
          epoch: session.epoch,
          created: terminal.time(session.createdAt),
          updated: terminal.time(session.updatedAt),
        });
      }),
    }),
    transcript: command({
      summary: 'print the transcript, oldest entry first',
      takes: {
        ...ITS_KEY,
        ...pages(),
        all: ['--all', 'also entries that are pruned, compacted or hidden'],
        tail: ['--tail <count>', 'only the last entries', wholeNumber(1, TAIL_MAX)],
      },
      async run({ key, all, tail, ...page }, api, terminal) {
        const body = await api.listEntries({
          key,
          ...(tail === undefined ? page : { limit: tail, order: 'desc' }),
          state: all === true ? 'all' : undefined,
        });
        if (tail !== undefined) {
          body.items.reverse();
          // Older entries were not requested.
          body.nextCursor = null;
        }
        if (terminal.isJson) return terminal.json(body);
        for (const { state, role, kind, createdAt, content } of body.items) {
          const ofState = state === 'active' ? '' : ` (${state})`;
          terminal.print(terminal.paint('bold', `${role} · ${kind}${ofState} · ${terminal.time(createdAt)}`));
          for (const block of content) terminal.print(indent(blockText(block)));
          terminal.print('');
        }
        noteNextPage(body, terminal);
      },
    }),
    export: exportSession,
    abort: command({
      alias: 'stop',
      summary: 'stop the running turn and its subagents, cancel waiting messages',
      takes: { ...ITS_KEY, queued: ['--keep-queued', 'keep the waiting messages', undefined, 'keep'] },
      run: prints('abortSession', ({ aborted, cancelled }) => {
        const stopped = aborted === null ? 'no turn was running' : `stopped turn ${aborted}`;
        return `${stopped}; ${cancelled} cancelled`;
      }),
    }),
    compact,
    reset: command({
      summary: 'start a new transcript under the same key; the old one is kept',
      takes: { ...ITS_KEY, abort: ['--abort', 'stop a running turn first'] },
      run: prints(
        'resetSession',
        ({ transcriptNo, previousTranscriptNo }) =>
          `transcript ${transcriptNo} begins; transcript ${previousTranscriptNo} is kept`,
      ),
    }),
    fork: command({
      summary: 'copy a session to a new key; print that key',
      takes: {
        ...ITS_KEY,
        newKey: ['<new-key>', 'the key of the copy'],
        entryId: ['--until <entry>', 'the last entry to copy; by default all'],
      },
      async run({ key, newKey, entryId }, api, terminal) {
        const copied = await api.forkSession({ key, body: { key: newKey, ...(entryId && { entryId }) } });
        if (terminal.isJson) terminal.json(copied);
        else terminal.print(copied.session.key);
        terminal.note(`a copy with ${copied.entries} entries`);
      },
    }),
  },
};

function blockText(block: EntryBlock): string {
  switch (block.type) {
    case 'text':
      return formatField(block['text']);
    case 'thinking':
      return `(thinking) ${shorten(formatField(block['thinking']))}`;
    case 'tool_use':
      return `→ ${formatField(block['name'])} ${shorten(JSON.stringify(block['input']))}`;
    case 'tool_result':
      return `← ${block['is_error'] === true ? 'error: ' : ''}${shorten(resultText(block['content']))}`;
    default:
      return `(${block.type})`;
  }
}

/** A field of a block, whose other fields are not described. */
function formatField(field: unknown): string {
  return typeof field === 'string' ? field : '';
}

function resultText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return JSON.stringify(content) ?? '';
  return content
    .map((block: EntryBlock) => (block.type === 'text' ? formatField(block['text']) : `(${block.type})`))
    .join('\n');
}

function shorten(text: string): string {
  const { length } = text;
  return length <= PAYLOAD_CHARS_MAX
    ? text
    : `${cutHead(text, PAYLOAD_CHARS_MAX)}… (${length} characters; --json has all)`;
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '  ');
}
