// `holdfast turns watch`: a turn as it happens, until it ends in any worker. The exit code says how it ended.
import type { TurnStatus } from '../../api/answer-types.ts';
import { connectApi, type ClientFlags } from '../api-client.ts';
import { EXIT, type ExitCode } from '../cli-error.ts';
import { watchEvents } from '../event-stream.ts';
import type { Terminal } from '../terminal.ts';
import { eventLine } from '../turn-timeline.ts';
import { printTurn } from './turns.ts';

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

/** Prints a line for each thing that happens (with `--json` each event); a turn that has ended is shown as a whole. */
export async function runTurnsWatch(id: string, flags: ClientFlags, terminal: Terminal): Promise<ExitCode> {
  const api = connectApi(flags);
  const turn = await api.getTurn({ id });
  const ended = END_EXITS[turn.status];
  if (ended !== null) {
    if (terminal.isJson) terminal.jsonLine(turn);
    else printTurn(turn, terminal);
    return ended;
  }
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  for await (const event of watchEvents((hooks) => api.turnEvents({ id, ...hooks }), { signal: stop.signal })) {
    if (terminal.isJson) terminal.jsonLine(event);
    else printLine(eventLine(event, turn.startedAt), terminal);
    if (event.type === 'turn.ended') break;
  }
  if (stop.signal.aborted) {
    terminal.note(`the turn continues: holdfast turns watch ${id}`);
    return EXIT.interrupted;
  }
  const last = await api.getTurn({ id });
  if (!terminal.isJson && last.reply !== null) terminal.print(`\n${last.reply}`);
  return END_EXITS[last.status] ?? EXIT.waitEnded;
}

function printLine(line: string | null, terminal: Terminal): void {
  if (line !== null) terminal.print(line);
}
