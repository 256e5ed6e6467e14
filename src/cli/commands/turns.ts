// `holdfast turns`: lists turns, shows one with the timeline of its steps, aborts it, prints its
// requests, and follows it: at a terminal it is drawn, and drawn again as it proceeds; in a pipe it
// is a line for each thing that happens.
import type { ToolCallView } from '../../contract/tool-calls.ts';
import type { TurnView, TurnStatus } from '../../contract/views.ts';
import { lineOf } from '../../core/words.ts';
import type { Why } from '../../kernel/rules/why.ts';
import type { Schemas } from '../../client/operations.ts';
import type { ApiClient } from '../api-client.ts';
import { readCallWords } from '../calls-of-turn.ts';
import { EXIT, type ExitCode } from '../cli-error.ts';
import { command, lists, prints, type Words } from '../command.ts';
import { errorText, noteNextPage, printFields, printParts, printTable } from '../print.ts';
import { watchEvents } from '../event-stream.ts';
import { ITS_ID, pages, TAG_FILTER, wholeNumber } from '../options.ts';
import { interruption, pollUntilEnd } from '../poll-until-end.ts';
import type { Terminal } from '../terminal.ts';
import { pastTime } from '../time-option.ts';
import {
  durationBetween,
  eventLine,
  stepLines,
  TURN_STATUS_STYLES,
  usageText,
  waterfallLines,
  type CallWords,
} from '../turn-timeline.ts';

const POLL_MS = 250;
/** Lines of the terminal that the drawing leaves free: for the text below it, and the cursor. */
const FREE_LINES = 3;

const END_EXITS: Record<TurnStatus, ExitCode | null> = {
  running: null,
  parked: null,
  resuming: null,
  interrupted: null,
  completed: EXIT.ok,
  silent: EXIT.ok,
  failed: EXIT.turnFailed,
  aborted: EXIT.turnAborted,
  timedOut: EXIT.turnAborted,
};

const CALL_NO_MAX = 1_000_000;

export const words: Words = {
  turns: {
    list: command({
      summary: 'list turns, newest first',
      takes: {
        ...pages(),
        ...TAG_FILTER,
        session: ['--session <key>', 'only this session'],
        status: ['--status <status>', 'only this status, such as failed'],
        kind: ['--kind <kind>', 'only this kind, such as cron'],
        lane: ['--lane <lane>', 'only this lane'],
        score: ['--score <name:value>', 'only turns with this score, such as thumb:false'],
        tool: ['--tool <name>', 'only turns that called this tool, and only its calls'],
        callStatus: [
          '--call-status <status>',
          'unknown: the calls that may or may not have taken effect, in place of turns',
        ],
        since: ['--since <time>', 'only turns started since: ISO 8601, or a duration such as 30m', pastTime],
      },
      run: async ({ callStatus, ...input }, api, terminal) =>
        callStatus === undefined
          ? await listAll(input, api, terminal)
          : await listCalls({ ...input, callStatus }, api, terminal),
    }),
    show: command({
      summary: 'print one turn with its steps, each call with its command and its result',
      takes: ITS_ID,
      async run({ id }, api, terminal) {
        const turn = await api.getTurn({ id });
        if (terminal.isJson) terminal.json(turn);
        else printTurn(turn, await readCallWords(api, turn.id), terminal);
      },
    }),
    abort: command({
      summary: 'stop a turn; waiting messages of its session are kept',
      takes: ITS_ID,
      run: prints('abortTurn', ({ aborted }, _terminal, { id }) =>
        aborted ? `${id} is being stopped` : `${id} had already ended`,
      ),
    }),
    request: command({
      summary: 'print the model request of a call, part by part',
      takes: {
        id: ['<id>', 'the id of the turn'],
        n: ['<n>', 'the number of the call, counted from 1', wholeNumber(1, CALL_NO_MAX)],
      },
      run: prints('getModelRequest', (request, terminal) => {
        printParts(request.parts, terminal.print, terminal);
        terminal.note(`${shaText(request)}; --json prints the body`);
      }),
    }),
    watch: command({
      summary: 'follow a turn until it ends; exit 7 or 8 if it does not succeed',
      takes: ITS_ID,
      run: watchTurn,
    }),
  },
};

const listAll = lists('listTurns', (terminal) => [
  { title: 'TURN', value: (row) => row.id },
  { title: 'STATUS', value: (row) => row.status, style: (row) => TURN_STATUS_STYLES[row.status] },
  { title: 'WHAT', value: (row) => row.title, isProse: true },
  {
    title: 'ANSWER',
    value: (row) => lineOf(row.error?.message ?? row.why?.text ?? row.reply),
    isProse: true,
    dropOrder: 7,
  },
  { title: 'SESSION', value: (row) => row.sessionTitle, isProse: true },
  { title: 'KIND', value: (row) => row.kind, dropOrder: 3 },
  { title: 'STEPS', value: (row) => row.stepCount, dropOrder: 4 },
  { title: 'TRY', value: (row) => row.attempt, dropOrder: 6 },
  { title: 'TOOK', value: (row) => durationBetween(row.startedAt, row.endedAt), align: 'right', dropOrder: 2 },
  { title: 'STARTED', value: (row) => terminal.time(row.startedAt), dropOrder: 1 },
  { title: 'KEY', value: (row) => row.sessionKey, dropOrder: 5 },
]);

/** The calls of a page of turns that ended so, each with what it was given. */
async function listCalls(input: { callStatus: string; tool: string | undefined }, api: ApiClient, terminal: Terminal) {
  const page = await api.call('listTurns', input);
  const isAsked = ({ name, status }: ToolCallView): boolean =>
    status === input.callStatus && (input.tool === undefined || input.tool === name);
  const rows: (ToolCallView & { command: string; sessionTitle: string; turnId: string })[] = [];
  for (const { id, sessionTitle } of page.items) {
    // A list has the last steps of a turn only.
    const [turn, words] = [await api.getTurn({ id }), await readCallWords(api, id)];
    const calls = turn.steps.flatMap(({ tools }) => tools).filter(isAsked);
    for (const call of calls)
      rows.push({ ...call, command: words.get(call.callId)?.command ?? '', sessionTitle, turnId: id });
  }
  const list = { items: rows, nextCursor: page.nextCursor };
  printTable(
    list,
    [
      { title: 'CALLED', value: (row) => terminal.time(row.startedAt) },
      { title: 'TOOL', value: (row) => row.name },
      { title: 'INPUT', value: (row) => row.command, isProse: true },
      { title: 'SESSION', value: (row) => row.sessionTitle, dropOrder: 1, isProse: true },
      { title: 'TURN', value: (row) => row.turnId },
    ],
    terminal,
  );
  noteNextPage(list, terminal);
}

/** A turn for a person: its facts, its steps, its end. */
function printTurn(turn: TurnView, calls: ReadonlyMap<string, CallWords>, terminal: Terminal): void {
  const style = TURN_STATUS_STYLES[turn.status];
  printFields(terminal, {
    turn: turn.id,
    what: turn.title,
    status: style === undefined ? turn.status : terminal.paint(style, turn.status),
    session: turn.sessionTitle === turn.sessionKey ? turn.sessionKey : `${turn.sessionTitle} (${turn.sessionKey})`,
    kind: `${turn.kind} (lane ${turn.lane})`,
    model: turn.askedModel === null ? turn.model : `${turn.model} instead of ${turn.askedModel}`,
    provider: turn.provider,
    worker: `${turn.workerTitle ?? turn.worker ?? 'a process'}, attempt ${turn.attempt}, epoch ${turn.epoch}`,
    waited: durationBetween(turn.queuedAt, turn.firstClaimedAt),
    took: turn.endedAt === null ? null : durationBetween(turn.startedAt, turn.endedAt),
    tokens: usageText(turn.usage),
    unknown: turn.unknownCalls === 0 ? null : `the outcome of ${turn.unknownCalls} of its tool calls`,
    error: errorText(turn.error),
    waits: turn.why ? whyText(turn.why, terminal) : null,
    next: turn.nextStep,
  });
  if (turn.steps.length > 0) terminal.print('');
  for (const line of stepLines(turn, calls)) terminal.print(line);
  if (terminal.isTty) drawTurn(turn, terminal);
  if (turn.reply !== null) {
    terminal.print('');
    terminal.print(turn.reply);
  }
}

function drawTurn(turn: TurnView, { width, paint, print }: Terminal): void {
  print('');
  const canvas = { width, rowsMax: Number.POSITIVE_INFINITY, nowMs: Date.now(), paint };
  for (const line of waterfallLines(turn, canvas)) print(line);
}

/** Why it waits, in one line. */
function whyText({ code, text, since, until }: Why, terminal: Terminal): string {
  const end = until === null ? '' : `, until ${terminal.time(until)} at the latest`;
  return `${code} since ${terminal.time(since)}${end}: ${text}`;
}

function shaText({ requestSha256, matches }: Schemas['ModelRequest']): string {
  if (requestSha256 === null) return 'nothing was sent';
  const verdict = matches === null ? 'cannot be compared with' : matches ? 'has' : 'does not have';
  return `this body ${verdict} the hash of what was sent, ${requestSha256.slice(0, 16)}`;
}

/** Follows a turn; one that has ended is shown as a whole. */
async function watchTurn({ id }: { id: string }, api: ApiClient, terminal: Terminal): Promise<ExitCode> {
  const turn = await api.getTurn({ id });
  const ended = END_EXITS[turn.status];
  if (ended !== null) {
    if (terminal.isJson) terminal.jsonLine(turn);
    else printTurn(turn, await readCallWords(api, turn.id), terminal);
    return ended;
  }
  const isDrawn = terminal.isTty && !terminal.isJson;
  const isLeft = isDrawn
    ? (await draw(api, id, terminal)) === EXIT.interrupted
    : await printEvents(api, turn, terminal);
  if (isLeft) {
    terminal.note(`the turn continues: holdfast turns watch ${id}`);
    return EXIT.interrupted;
  }
  const last = await api.getTurn({ id });
  if (!terminal.isJson && last.reply !== null) terminal.print(`\n${last.reply}`);
  return END_EXITS[last.status] ?? EXIT.waitEnded;
}

/**
 * With `--json` each event, otherwise a line for each event that concerns a person. True when
 * Ctrl-C has ended it.
 */
async function printEvents(api: ApiClient, { id, startedAt }: TurnView, terminal: Terminal): Promise<boolean> {
  const signal = interruption();
  for await (const event of watchEvents((hooks) => api.turnEvents({ id, ...hooks }), { signal })) {
    if (terminal.isJson) terminal.jsonLine(event);
    else {
      const line = eventLine(event, startedAt);
      if (line !== null) terminal.print(line);
    }
    if (event.type === 'turn.ended') break;
  }
  return signal.aborted;
}

/** Draws the turn over and over until it has ended. */
function draw(api: ApiClient, id: string, terminal: Terminal): Promise<ExitCode> {
  const { width, height, paint } = terminal;
  return pollUntilEnd({ read: () => api.getTurn({ id }), everyMs: POLL_MS }, (turn) => {
    const canvas = { width, rowsMax: height - FREE_LINES, nowMs: Date.now(), paint };
    const status = paint('bold', `${turn.status}  ${usageText(turn.usage)}`);
    const below = turn.why === null ? errorText(turn.error) : whyText(turn.why, terminal);
    // A line that the terminal wraps would be two.
    terminal.redraw([...waterfallLines(turn, canvas), status, ...(below === null ? [] : [below.slice(0, width - 1)])]);
    return END_EXITS[turn.status];
  });
}
