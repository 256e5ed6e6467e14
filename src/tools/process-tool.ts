// The `process` tool: commands that `exec` left in the background of this session, and of no other.
// Looking, writing and killing may be done by any worker: they go through the command's row and its
// log, so it does not matter whose process it is.
import { z } from 'zod';
import { cutHead, cutTail } from '../core/text.ts';
import { pause } from '../clock.ts';
import type { ProcessFacts } from './rules/background-process.ts';
import { defineTool } from './define-tool.ts';
import { outputText, tornBytesAt } from './bounded-output.ts';
import type { ProcessKeeper, ProcessStore } from './process-keeper.ts';
import { readProcessLog } from './process-log.ts';
import { errorOutcome, type Tool, type ToolCall, type ToolOutcome, textOutcome } from './tool.ts';
import { isUuid } from '../core/ids.ts';

export interface ProcessToolOptions {
  store: ProcessStore;
  keeper: Pick<ProcessKeeper, 'wait' | 'poll'>;
  dataDir: string;
}

const OUTPUT_CHARS_MAX = 36_000;
const LOG_BYTES_MAX = 8 * 1024 * 1024;
const LINES_DEFAULT = 200;
const LINES_MAX = 5000;
const DATA_CHARS_MAX = 100_000;
const POLL_MS_MAX = 60_000;
const LISTED_MAX = 30;
const COMMAND_CHARS_MAX = 100;
/** How often another worker's process is checked. */
const POLL_MS = 250;
/** Longer than a group's grace period between TERM and KILL. */
const KILL_MS_MAX = 5_000;

export function createProcessTool(options: ProcessToolOptions): Tool {
  return defineTool({
    name: 'process',
    description:
      'Manage the background commands of this session: list; poll (new output and status; waits up to timeout ms for either); log (lines of the output: the last ones, or limit lines from offset); write (data to its stdin, eof to close it); kill.',
    summary: 'Manage background exec sessions',
    input: z.strictObject({
      action: z.enum(['list', 'poll', 'log', 'write', 'kill']),
      sessionId: z.string().min(1).max(100).optional().describe('Id of the command, as exec or list gives it'),
      timeout: z.int().min(0).max(POLL_MS_MAX).optional().describe('poll: milliseconds to wait; default 0'),
      offset: z.int().min(0).optional().describe('log: lines to skip'),
      limit: z.int().min(1).max(LINES_MAX).optional().describe(`log: lines at most; default ${LINES_DEFAULT}`),
      data: z
        .string()
        .max(DATA_CHARS_MAX)
        .refine((data) => !data.includes('\0'), 'must not contain a NUL character')
        .optional()
        .describe('write: the text, with its line break'),
      eof: z.boolean().optional().describe('write: close stdin afterwards'),
    }),
    // A call that is run again shows the same output, writes its input once, and kills a process
    // that is already dead.
    isIdempotent: true,
    isReadOnly: false,
    async run(input, call) {
      if (input.action === 'list') return await list(options, call);
      const id = input.sessionId;
      if (id === undefined) return errorOutcome(`process: sessionId: is needed for ${input.action}`);
      const facts = isUuid(id) ? await options.store.find(call.sessionKey, id) : null;
      if (facts === null) return errorOutcome(`process: sessionId: this session has no command ${JSON.stringify(id)}`);
      switch (input.action) {
        case 'poll':
          return await poll(options, call, facts, input.timeout ?? 0);
        case 'log':
          return await log(options, facts, input);
        case 'write':
          return await write(options, call, facts, input);
        case 'kill':
          return await kill(options, call, facts);
      }
    },
  });
}

async function list({ store }: ProcessToolOptions, { sessionKey }: ToolCall): Promise<ToolOutcome> {
  const all = await store.list(sessionKey, LISTED_MAX);
  const lines = all.map((facts) => `${facts.id} ${toStatus(facts)}: ${oneLine(facts.command)}`);
  return textOutcome(lines.length === 0 ? 'This session has no background commands.' : lines.join('\n'));
}

async function poll(
  options: ProcessToolOptions,
  call: ToolCall,
  first: ProcessFacts,
  timeoutMs: number,
): Promise<ToolOutcome> {
  const { store, dataDir } = options;
  const { id } = first;
  const facts = await changed(options, call, first, timeoutMs);
  const logged = await readProcessLog({ dataDir, id }, { from: first.polledBytes, bytesMax: LOG_BYTES_MAX });
  if (logged === null) return elsewhere(facts);
  const isOver = facts.status !== 'running';
  // The next poll shows a character of which only half is there.
  const torn = isOver ? 0 : tornBytesAt(logged.bytes);
  const shown = await store.notePoll({ id, key: call.idempotencyKey, until: logged.from + logged.bytes.length - torn });
  const part = await readProcessLog({ dataDir, id }, { from: shown.from, bytesMax: shown.until - shown.from });
  const text = outputText(part?.bytes ?? Buffer.alloc(0), { isStart: part?.from === shown.from, isEnd: true });
  return textOutcome(withStatus(text, facts));
}

/** The facts once there is more output or an end, or the time has passed. */
async function changed(
  options: ProcessToolOptions,
  call: ToolCall,
  first: ProcessFacts,
  timeoutMs: number,
): Promise<ProcessFacts> {
  // A poll that is run again shows the same output.
  if (first.status !== 'running' || timeoutMs === 0 || first.pollKey === call.idempotencyKey) return first;
  const { id, polledBytes } = first;
  const untilMs = performance.now() + timeoutMs;
  await options.keeper.wait(id, { untilEnd: false, seenBytes: polledBytes, timeoutMs, signal: call.signal });
  const now = await options.store.find(call.sessionKey, id);
  return await untilChanged(options, call, now ?? first, { untilMs, isEnough: (printed) => printed > polledBytes });
}

async function untilChanged(
  { store, dataDir }: ProcessToolOptions,
  call: ToolCall,
  first: ProcessFacts,
  { untilMs, isEnough }: { untilMs: number; isEnough: (printed: number) => boolean },
): Promise<ProcessFacts> {
  let facts = first;
  while (facts.status === 'running' && performance.now() < untilMs && !call.signal.aborted) {
    const logged = await readProcessLog({ dataDir, id: facts.id }, { from: 0, bytesMax: 0 });
    if (isEnough(logged?.total ?? 0)) break;
    await pause(POLL_MS, call.signal);
    facts = (await store.find(call.sessionKey, facts.id)) ?? facts;
  }
  return facts;
}

async function log(
  { dataDir }: ProcessToolOptions,
  facts: ProcessFacts,
  input: { offset?: number | undefined; limit?: number | undefined },
): Promise<ToolOutcome> {
  const logged = await readProcessLog({ dataDir, id: facts.id }, { from: 0, bytesMax: LOG_BYTES_MAX });
  if (logged === null) return elsewhere(facts);
  const text = outputText(logged.bytes, { isStart: logged.from === 0, isEnd: facts.status !== 'running' });
  const lines = text.replace(/\n$/, '').split('\n');
  const { limit = LINES_DEFAULT } = input;
  const start = Math.min(input.offset ?? Math.max(0, lines.length - limit), lines.length);
  const part = lines.slice(start, start + limit);
  const dropped = logged.from === 0 ? '' : `; the first ${logged.from} bytes were deleted`;
  const place = part.length === 0 ? 'no lines' : `lines ${start + 1}-${start + part.length}`;
  return textOutcome(
    withStatus(`[${place} of ${text === '' ? 0 : lines.length}${dropped}]\n${part.join('\n')}`, facts),
  );
}

async function write(
  { store, keeper }: ProcessToolOptions,
  call: ToolCall,
  facts: ProcessFacts,
  { data = '', eof = false }: { data?: string | undefined; eof?: boolean | undefined },
): Promise<ToolOutcome> {
  if (data === '' && !eof) return errorOutcome('process: data: is needed for write, or eof');
  if (facts.status !== 'running')
    return errorOutcome(`process: sessionId: the command is no longer running (${toStatus(facts)})`);
  await store.addInput({ processId: facts.id, causeKey: call.idempotencyKey, data, isLast: eof });
  await keeper.poll().catch(() => undefined);
  return textOutcome(`${data.length} characters go to its stdin${eof ? ', which is closed then' : ''}.`);
}

async function kill(options: ProcessToolOptions, call: ToolCall, facts: ProcessFacts): Promise<ToolOutcome> {
  if (facts.status !== 'running') return textOutcome(`It is no longer running: ${toStatus(facts)}.`);
  await options.store.askToKill(facts.id, 'killed by the agent');
  const untilMs = performance.now() + KILL_MS_MAX;
  const over = options.keeper.wait(facts.id, {
    untilEnd: true,
    seenBytes: 0,
    timeoutMs: KILL_MS_MAX,
    signal: call.signal,
  });
  await options.keeper.poll().catch(() => undefined);
  await over;
  const now = (await options.store.find(call.sessionKey, facts.id)) ?? facts;
  const last = await untilChanged(options, call, now, { untilMs, isEnough: () => false });
  return textOutcome(last.status === 'running' ? 'It is being killed.' : `It has ended: ${toStatus(last)}.`);
}

/** Workers share the folder of outputs, unless they are configured otherwise. */
function elsewhere(facts: ProcessFacts): ToolOutcome {
  const tail = facts.outputTail ?? '';
  return textOutcome(withStatus(tail === '' ? '[its output is on another machine or was deleted]' : tail, facts));
}

/** The output, then in brackets how the command ended. */
function withStatus(output: string, facts: ProcessFacts): string {
  const text = output.replace(/\n$/, '');
  const cut =
    text.length > OUTPUT_CHARS_MAX
      ? `[${text.length - OUTPUT_CHARS_MAX} characters left out]\n${cutTail(text, OUTPUT_CHARS_MAX)}`
      : text;
  return cut === '' ? `[${toStatus(facts)}]` : `${cut}\n[${toStatus(facts)}]`;
}

function toStatus({ status, exitCode, exitSignal, reason, ranMs }: ProcessFacts): string {
  const time = `${Math.round(ranMs / 100) / 10} s`;
  switch (status) {
    case 'running':
      return `running for ${time}`;
    case 'exited':
      return exitSignal === null ? `exit code ${exitCode} after ${time}` : `ended by ${exitSignal} after ${time}`;
    case 'killed':
    case 'lost':
      return `${status} after ${time}: ${reason}`;
  }
}

function oneLine(command: string): string {
  const line = command.replaceAll(/\s+/g, ' ').trim();
  return line.length > COMMAND_CHARS_MAX ? `${cutHead(line, COMMAND_CHARS_MAX)}…` : line;
}
