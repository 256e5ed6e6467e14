// What a turn does about a model call that has failed: it asks again, makes the prompt smaller, waits for the model, or ends. The next call
// is charged in the commit that stores the failed one.
import { classifyFailure, isTooLong, REFUSED_ORIGIN, retryDelayMs } from '../../../core/failure.ts';
import { mayAnotherAnswer } from '../../../core/model-ref.ts';
import { IDLE_TIMEOUTS_IN_A_ROW_MAX } from '../../../model/stream/stop-reasons.ts';
import type { ModelError } from '../../../model/model.ts';
import type { NewEvent } from '../../events/events.ts';
import type { ModelCallRow } from '../journal/journal.ts';
import { storeStep } from '../store-step.ts';
import { canCompact, compactAfterOverflow, STILL_TOO_LONG, tooLongFailure } from '../compact/compact-when-full.ts';
import type { TurnContext } from '../context.ts';
import type { Pass } from '../gate/gate.ts';
import { parkedStop } from '../gate/store-park.ts';
import { mayStay, retriesMaxOf } from '../gate/stay-in-slot.ts';
import { retryWait } from '../../rules/why.ts';
import { WAIT_IN_SLOT_MS_MAX } from '../wait-reasons.ts';
import { modelBlocked, modelEnded, modelStarted } from '../model-events.ts';
import { leaveOutOrigins } from '../open/asked-model.ts';
import { pickLogIds, type OpenedTurn } from '../opened-turn.ts';
import { TurnFailed } from '../turn-stop.ts';
import { NO_ROWS } from '../turn-write.ts';
import { rewriteRequest, type Rewriting } from './rewrite-request.ts';
import { namingSmallWindows, stepBack, stepDown } from './step-down.ts';

export interface FailedCall {
  fault: ModelError;
  /** Its row, which is not in the journal yet. */
  row: ModelCallRow;
  pass: Pass;
  /** Calls in a row that ended in silence, with this one. */
  silences: number;
  /** Calls in a row that the provider has held back (429 or 529 with Retry-After), with this one. */
  blocks: number;
  /** How requests were written in another way since the model has answered. */
  rewritten: Set<Rewriting>;
}

/**
 * Ends a failed call: the next one is charged, and may ask for its pass. Throws `TurnFailed` when there is no next call, `TurnStopped` (parked) when
 * there is none for now.
 */
export async function afterFailedCall(context: TurnContext, turn: OpenedTurn, failed: FailedCall): Promise<void> {
  const { fault, row, pass, silences, blocks, rewritten } = failed;
  const { message: text } = fault;
  turn.journal.note({ unstoredCall: row });
  const { request: model } = turn.journal.attempt;
  const setback = await pass.failed(fault);
  const { retries: earlier } = turn.journal.at.progress;
  const retries = earlier + 1;
  const delayMs = retryDelayMs({ attempt: retries, random: context.random(), retryAfterMs: fault.retryAfterMs });
  const next = { retries, delayMs };
  /** Asks the next model of the turn: the failed call, the step down and its events are one commit. False: no model is left. */
  const asksAnother = async (why: { code: string; isRefused: boolean }): Promise<boolean> => {
    const events = stepDown(context, turn, { ...why, text });
    if (events !== null) await chargeNext(context, turn, { events, retries: earlier, delayMs: 0 });
    return events !== null;
  };
  if (setback !== null) {
    const { kind, wait } = setback;
    const stays = mayStay(context, turn, { setback, model, blocksInARow: blocks });
    if (stays && (kind === 'blocked' || kind === 'key')) {
      // The gate holds the call back until then, which costs nothing of the retry budget.
      const events = wait.isNews === true ? [modelBlocked(wait.reason)] : [];
      return await chargeNext(context, turn, { events, retries: earlier, delayMs: 0 });
    }
    if (stays && delayMs <= WAIT_IN_SLOT_MS_MAX) return await chargeNext(context, turn, next);
    if (await asksAnother({ code: wait.reason.code, isRefused: false })) return;
    const named = namingSmallWindows(context, turn, wait);
    stepBack(context, turn);
    throw parkedStop(context, turn, named);
  }
  const { code } = classifyFailure(fault);
  if (mayAnotherAnswer(code) && (await asksAnother({ code, isRefused: true }))) return;
  // It can be of another key or of an earlier state of the provider: without it the conversation continues.
  if (fault.type === REFUSED_ORIGIN && retries <= retriesMaxOf(context.config, model) && leaveOutOrigins(turn)) {
    context.logger.warn(
      { ...pickLogIds(context, turn), text },
      'Provider refuses the reasoning of earlier answers; it is left out from now on',
    );
    return await chargeNext(context, turn, { ...next, delayMs: 0 });
  }
  const rewriting = rewriteRequest(context, turn, { fault, taken: rewritten });
  if (rewriting !== null) {
    rewritten.add(rewriting);
    context.logger.warn(
      { ...pickLogIds(context, turn), rewriting, text },
      'Provider refuses a request; the next is another one',
    );
    await chargeNext(context, turn, { retries: earlier, delayMs: 0 });
    // It makes the call that was charged.
    if (rewriting === 'transcript') await compactAfterOverflow(context, turn, fault);
    return;
  }
  if (silences >= IDLE_TIMEOUTS_IN_A_ROW_MAX) {
    const message = `The turn ended after ${silences} model calls in a row timed out without output: ${text}`;
    throw new TurnFailed(code, message, fault);
  }
  if (isTooLong(fault)) throw tooLongFailure(fault, rewritten.has('transcript') ? STILL_TOO_LONG : undefined);
  assertRetryable(context, turn, fault);
  if (delayMs <= WAIT_IN_SLOT_MS_MAX) return await chargeNext(context, turn, next);
  const notBeforeMs = fault.retryAfterMs ?? 0;
  const wait = { reason: retryWait(model, text), hasCalled: true, retries, forMs: delayMs, notBeforeMs };
  throw parkedStop(context, turn, wait);
}

/** Throws `TurnFailed` when another call cannot help, or when it would repeat this one and the turn has used up its retry budget. */
export function assertRetryable({ config }: TurnContext, turn: OpenedTurn, fault: ModelError): void {
  const { kind, code } = classifyFailure(fault);
  const { message } = fault;
  if (kind === 'fatal') throw new TurnFailed(code, message, fault);
  if (kind === 'overflow') {
    if (canCompact(turn)) return;
    throw tooLongFailure(fault);
  }
  const { calls, retries } = turn.journal.at.progress;
  if (retries + 1 > retriesMaxOf(config, turn.journal.attempt.request))
    throw new TurnFailed(code, `The turn ended after ${calls} model calls: ${message}`, fault);
}

/** Stores the failed call and charges the next one, in one write, and pauses before it. `events`: further ones. */
export async function chargeNext(
  context: TurnContext,
  turn: OpenedTurn,
  { events = [], retries, delayMs }: { events?: readonly NewEvent[]; retries: number; delayMs: number },
): Promise<void> {
  const row = turn.journal.attempt.unstoredCall;
  const calls = turn.journal.at.progress.calls + 1;
  await context.deltas.take({ sessionId: turn.session.id, epoch: turn.held.epoch, turnId: turn.id });
  await storeStep(context, turn, {
    ...NO_ROWS,
    totals: { calls, retries },
    modelCalls: row === null ? [] : [row],
    events: [...(row === null ? [] : [modelEnded(turn, row, delayMs)]), ...events, modelStarted(turn.id, calls)],
  });
  if (delayMs > 0) await turn.held.pause(delayMs);
}
