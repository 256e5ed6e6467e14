// `holdfast turns watch`: a turn as it happens, until it ends in any worker. At a terminal it is drawn, and drawn again as it proceeds; in a pipe
// it is a line for each thing that happens. The exit code says how it ended.
import type { TurnView as TurnAnswer, TurnStatus } from '../../contract/views.ts';
import { connectApi, type ApiClient, type ClientFlags } from '../api-client.ts';
import { EXIT, type ExitCode } from '../cli-error.ts';
import { watchEvents } from '../event-stream.ts';
import { interruption, pollUntilEnd } from '../poll-until-end.ts';
import type { Terminal } from '../terminal.ts';
import { errorText } from '../error-text.ts';
import { eventLine, usageText } from '../turn-timeline.ts';
import { waterfallLines } from '../waterfall.ts';
import { printTurn, whyText } from './turns.ts';

const LOOK_MS = 250;
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

/** Follows a turn; one that has ended is shown as a whole. */
export async function runTurnsWatch(id: string, flags: ClientFlags, terminal: Terminal): Promise<ExitCode> {
  const api = connectApi(flags);
  const turn = await api.getTurn({ id });
  const ended = END_EXITS[turn.status];
  if (ended !== null) {
    if (terminal.isJson) terminal.jsonLine(turn);
    else printTurn(turn, terminal);
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

/** With `--json` each event, otherwise a line for each event that concerns a person. True when Ctrl-C has ended it. */
async function printEvents(api: ApiClient, { id, startedAt }: TurnAnswer, terminal: Terminal): Promise<boolean> {
  const signal = interruption();
  for await (const event of watchEvents((hooks) => api.turnEvents({ id, ...hooks }), { signal })) {
    if (terminal.isJson) terminal.jsonLine(event);
    else printLine(eventLine(event, startedAt), terminal);
    if (event.type === 'turn.ended') break;
  }
  return signal.aborted;
}

/** Draws the turn over and over until it has ended. */
function draw(api: ApiClient, id: string, terminal: Terminal): Promise<ExitCode> {
  const { width, height, paint } = terminal;
  return pollUntilEnd({ read: () => api.getTurn({ id }), everyMs: LOOK_MS }, (turn) => {
    const canvas = { width, rowsMax: height - FREE_LINES, nowMs: Date.now(), paint };
    const status = paint('bold', `${turn.status}  ${usageText(turn.usage)}`);
    const below = turn.why === null ? errorText(turn.error) : whyText(turn.why, terminal);
    // A line that the terminal wraps would be two.
    terminal.redraw([...waterfallLines(turn, canvas), status, ...(below === null ? [] : [below.slice(0, width - 1)])]);
    return END_EXITS[turn.status];
  });
}

function printLine(line: string | null, terminal: Terminal): void {
  if (line !== null) terminal.print(line);
}
