// What a turn does about a model call that has failed: it asks again, makes the prompt smaller, waits for the model, or ends. The next call
// is charged in the commit that stores the failed one.
import { classifyFailure, retryDelayMs } from '../../core/failure.ts';
import { IDLE_TIMEOUTS_IN_A_ROW_MAX } from '../../core/stream/idle-timeout.ts';
import { mayAnotherAnswer } from '../../core/model-ref.ts';
import type { ModelError } from '../../model/model.ts';
import type { NewEvent } from '../../store/events.ts';
import type { ModelCallRow } from '../../store/journal.ts';
import { noteOutage, parkedStop, retriesMaxOf, WAIT_IN_SLOT_MS_MAX } from './await-model.ts';
import { enterGate, type CallPass } from './enter-gate.ts';
import { commitStep } from '../commit-step.ts';
import { contextFullFailure, canCompact, compactAfterOverflow } from '../compact/compact-when-full.ts';
import type { TurnContext } from '../context.ts';
import { modelBlocked, modelEnded, modelStarted } from '../model-events.ts';
import { stepBack, stepDown } from './step-down.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import { TurnFailed, type ParkWish } from '../turn-end.ts';
import { NO_ROWS } from '../turn-write.ts';
import { reserveCost } from './reserve-cost.ts';

export interface FailedCall {
  fault: ModelError;
  /** Its row, which is not in the journal yet. */
  row: ModelCallRow;
  pass: CallPass;
  /** Calls in a row that ended in silence, with this one. */
  silences: number;
  /** Calls in a row that the provider has held back (429 or 529 with Retry-After), with this one. */
  blocks: number;
}

/**
 * Charges the next call, waits as long as it must, and resolves with the right to make it. Throws `TurnFailed` when there is no next call,
 * `TurnStopped` (parked) when there is none for now.
 */
export async function afterFailedCall(context: TurnContext, turn: OpenedTurn, failed: FailedCall): Promise<CallPass> {
  const { fault, row, pass, silences, blocks } = failed;
  const { message: text } = fault;
  turn.journal.note({ unstoredCall: row });
  const { request: model } = turn.journal.attempt;
  const outage = await noteOutage(context, turn, { fault, pass, model, blocksInARow: blocks });
  const attempt = turn.journal.at.progress.retries + 1;
  const delayMs = retryDelayMs({ attempt, random: context.random(), retryAfterMs: fault.retryAfterMs });
  if (outage !== null) {
    if (outage.isBlocked && outage.mayStay) return await askAgainAfterBlock(context, turn, outage.wish);
    if (outage.mayStay && delayMs <= WAIT_IN_SLOT_MS_MAX) {
      return await askAgain(context, turn, { retries: attempt, delayMs });
    }
    const next = await askAnother(context, turn, { code: outage.wish.reason.code, text, isRefused: false });
    if (next !== null) return next;
    stepBack(context, turn);
    throw parkedStop(context, turn, outage.wish);
  }
  const verdict = classifyFailure(fault);
  if (verdict.kind === 'fatal') {
    const { code } = verdict;
    const next = mayAnotherAnswer(code) ? await askAnother(context, turn, { code, text, isRefused: true }) : null;
    if (next !== null) return next;
    throw new TurnFailed(verdict.code, text, fault);
  }
  const isTooLong = verdict.kind === 'overflow';
  if (isTooLong && !canCompact(turn)) throw contextFullFailure(fault);
  if (silences >= IDLE_TIMEOUTS_IN_A_ROW_MAX) {
    const message = `The turn ended after ${silences} model calls in a row timed out without output: ${text}`;
    throw new TurnFailed(verdict.code, message, fault);
  }
  if (attempt > retriesMaxOf(context.config, pass.provider)) {
    const message = `The turn ended after ${turn.journal.at.progress.calls} model calls: ${text}`;
    throw new TurnFailed(verdict.code, message, fault);
  }
  if (isTooLong) {
    await chargeNext(context, turn, { retries: attempt, delayMs: 0 });
    await compactAfterOverflow(context, turn, fault);
    // The call that was charged was that of the compaction.
    await reserveCost(context, turn, { callNo: turn.journal.at.progress.calls });
    return await enterGate(context, turn);
  }
  if (delayMs > WAIT_IN_SLOT_MS_MAX) {
    const reason = { code: 'retry_wait', text: `The model call is retried later: ${text}`, by: pass.provider };
    const notBeforeMs = fault.retryAfterMs ?? 0;
    throw parkedStop(context, turn, { reason, hasCalled: true, retries: attempt, delayMs, notBeforeMs });
  }
  return await askAgain(context, turn, { retries: attempt, delayMs });
}

/** The gate waits until the block is over. That costs nothing of the retry budget. */
async function askAgainAfterBlock(context: TurnContext, turn: OpenedTurn, wish: ParkWish): Promise<CallPass> {
  const event = wish.isBlocked === true ? { event: modelBlocked(wish.reason) } : {};
  return await askAgain(context, turn, { ...event, retries: turn.journal.at.progress.retries, delayMs: 0 });
}

/** Asks the next model of the turn: the failed call, the step down and its event are one commit. Null: no model is left. */
async function askAnother(
  context: TurnContext,
  turn: OpenedTurn,
  why: { code: string; text: string; isRefused: boolean },
): Promise<CallPass | null> {
  const event = stepDown(context, turn, why);
  if (event === null) return null;
  return await askAgain(context, turn, { event, retries: turn.journal.at.progress.retries, delayMs: 0 });
}

interface NextCall {
  /** A further event; absent: none. */
  event?: NewEvent;
  retries: number;
  delayMs: number;
}

async function askAgain(context: TurnContext, turn: OpenedTurn, next: NextCall): Promise<CallPass> {
  await chargeNext(context, turn, next);
  await turn.held.pause(next.delayMs);
  return await enterGate(context, turn);
}

/** Stores the failed call and charges the next one, in one write. */
export async function chargeNext(
  context: TurnContext,
  turn: OpenedTurn,
  { event, retries, delayMs }: NextCall,
): Promise<void> {
  const row = turn.journal.attempt.unstoredCall;
  const calls = turn.journal.at.progress.calls + 1;
  await reserveCost(context, turn, { callNo: calls, retries });
  await context.deltas.take({ sessionId: turn.session.id, epoch: turn.held.epoch, turnId: turn.id });
  await commitStep(context, turn, {
    ...NO_ROWS,
    totals: { calls, retries },
    modelCalls: row === null ? [] : [row],
    events: [
      ...(row === null ? [] : [modelEnded(turn, row, delayMs)]),
      ...(event === undefined ? [] : [event]),
      modelStarted(turn.id, calls),
    ],
  });
}
