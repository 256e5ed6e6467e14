// `holdfast turns list|show|abort|retry`: lists turns, shows one with the timeline of its steps, aborts and retries it.
import type { ListedTurn as ListedTurnAnswer, TurnView as TurnAnswer } from '../../contract/views.ts';
import type { Why as WhyAnswer } from '../../core/waiting/why.ts';
import { connectApi, fromOptions, type ClientFlags } from '../api-client.ts';
import { EXIT, type ExitCode } from '../cli-error.ts';
import { errorText } from '../error-text.ts';
import type { TurnListOptions } from '../options.ts';
import { printFields, printList } from '../print.ts';
import { pastTime } from '../time-option.ts';
import type { Terminal } from '../terminal.ts';
import { durationBetween, stepLines, TURN_STATUS_STYLES, usageText } from '../turn-timeline.ts';
import { waterfallLines } from '../waterfall.ts';

/** Lists turns, newest first. */
export async function runTurnsList(
  options: TurnListOptions,
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const { since, ...query } = options;
  const from = since === undefined ? undefined : pastTime(since);
  const body = await connectApi(flags).listTurns(fromOptions({ ...query, since: from }));
  printList<ListedTurnAnswer>(
    body,
    [
      { title: 'TURN', value: (row) => row.id },
      { title: 'STATUS', value: (row) => row.status, style: (row) => TURN_STATUS_STYLES[row.status] },
      { title: 'SESSION', value: (row) => row.sessionKey },
      { title: 'KIND', value: (row) => row.kind, dropOrder: 3 },
      { title: 'STEPS', value: (row) => String(row.stepCount), align: 'right', dropOrder: 4 },
      { title: 'TRY', value: (row) => String(row.attempt), align: 'right', dropOrder: 5 },
      { title: 'TOOK', value: (row) => durationBetween(row.startedAt, row.endedAt), align: 'right', dropOrder: 2 },
      { title: 'STARTED', value: (row) => terminal.time(row.startedAt), dropOrder: 1 },
    ],
    terminal,
  );
  return EXIT.ok;
}

/** Shows one turn with its steps. */
export async function runTurnsShow(id: string, flags: ClientFlags, terminal: Terminal): Promise<ExitCode> {
  const turn = await connectApi(flags).getTurn({ id });
  if (terminal.isJson) terminal.json(turn);
  else printTurn(turn, terminal);
  return EXIT.ok;
}

/** Stops a turn, or lets its messages wait again. */
export async function runTurnsAction(
  verb: 'abort' | 'retry',
  id: string,
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const api = connectApi(flags);
  const body = await (verb === 'abort' ? api.abortTurn({ id }) : api.retryTurn({ id }));
  if (terminal.isJson) terminal.json(body);
  else if (!('aborted' in body)) terminal.print(`the messages of ${id} wait again`);
  else terminal.print(body.aborted ? `${id} is being stopped` : `${id} had already ended`);
  return EXIT.ok;
}

/** A turn for a person: its facts, its steps, its end. */
export function printTurn(turn: TurnAnswer, terminal: Terminal): void {
  const style = TURN_STATUS_STYLES[turn.status];
  printFields(terminal, {
    turn: turn.id,
    status: style === undefined ? turn.status : terminal.paint(style, turn.status),
    session: turn.sessionKey,
    kind: `${turn.kind} (lane ${turn.lane})`,
    model: turn.askedModel === null ? turn.model : `${turn.model} instead of ${turn.askedModel}`,
    worker: `${turn.worker}, attempt ${turn.attempt}, epoch ${turn.epoch}`,
    waited: durationBetween(turn.queuedAt, turn.claimedAt),
    took: turn.endedAt === null ? null : durationBetween(turn.startedAt, turn.endedAt),
    tokens: usageText(turn.usage),
    error: errorText(turn.error),
    waits: turn.why ? whyText(turn.why, terminal) : null,
  });
  if (turn.steps.length > 0) terminal.print('');
  for (const line of stepLines(turn)) terminal.print(line);
  if (terminal.isTty) drawTurn(turn, terminal);
  if (turn.reply !== null) {
    terminal.print('');
    terminal.print(turn.reply);
  }
}

function drawTurn(turn: TurnAnswer, { width, paint, print }: Terminal): void {
  print('');
  const canvas = { width, rowsMax: Number.POSITIVE_INFINITY, nowMs: Date.now(), paint };
  for (const line of waterfallLines(turn, canvas)) print(line);
}

/** Why it waits, in one line. */
export function whyText({ code, text, since, until }: WhyAnswer, terminal: Terminal): string {
  const end = until === null ? '' : `, until ${terminal.time(until)} at the latest`;
  return `${code} since ${terminal.time(since)}${end}: ${text}`;
}
