// What a turn does about a model call that has failed: it asks again, writes the request in another
// way, makes the prompt smaller, continues with another model, waits, or ends. The next call is
// charged in the commit that stores the failed one.
import {
  classifyFailure,
  isTooLong,
  REFUSED_ORIGIN,
  retryDelayMs,
  MISSING_REASONING,
  REFUSED_FORCING,
} from '../../../core/failure.ts';
import { mayAnotherAnswer, modelOfRef, providerOf, refOfModel, findNamedWindow } from '../../../core/models.ts';
import { IDLE_TIMEOUTS_IN_A_ROW_MAX } from '../../../model/stream/stop-reasons.ts';
import type { ModelError } from '../../../model/model.ts';
import type { NewEvent } from '../../events/events.ts';
import type { ModelCallRow } from '../journal/journal.ts';
import { storeStep } from '../store-step.ts';
import { canCompact, compactAfterOverflow, STILL_TOO_LONG, tooLongFailure } from '../compact/compact-when-full.ts';
import type { TurnContext } from '../context.ts';
import { type Pass, parkedStop, mayStay, retriesMaxOf, isOpen } from '../gate/gate.ts';
import { retryWait } from '../../rules/why.ts';
import { WAIT_IN_SLOT_MS_MAX, TurnFailed } from '../turn-stop.ts';
import { modelBlocked, modelEnded, modelStarted, modelFallback } from '../turn-log.ts';
import {
  leaveOutOrigins,
  askInstead,
  fallbacksLeft,
  type NextModel,
  leaveOutImages,
  learnTrait,
} from '../open/asked-model.ts';
import { pickLogIds, type OpenedTurn, estimateNextRequest, fitToWindow, isFull } from '../opened-turn.ts';
import { NO_ROWS } from '../position.ts';
import { factsOfModel } from '../../../config.ts';
import { thresholdTokens } from '../../../compaction/plan-compaction.ts';
import { cutHead } from '../../../core/text.ts';
import type { Wait } from '../gate-check.ts';

export interface FailedCall {
  fault: ModelError;
  /** Its row, which is not in the journal yet. */
  row: ModelCallRow;
  pass: Pass;
  /** Calls in a row that ended in silence, with this one. */
  silences: number;
  /**
   * Calls in a row that the provider has held back (429 or 529 with Retry-After), with this one.
   */
  blocks: number;
  /** How requests were written in another way since the model has answered. */
  rewritten: Set<Rewriting>;
}

/**
 * Ends a failed call: the next one is charged, and may ask for its pass. Throws `TurnFailed` when
 * there is no next call, `TurnStopped` (parked) when there is none for now.
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
  /**
   * Asks the next model of the turn: the failed call, the step down and its events are one commit.
   * False: no model is left.
   */
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
  // It can be of another key or of an earlier state of the provider: without it the conversation
  // continues.
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

/**
 * Throws `TurnFailed` when another call cannot help, or when it would repeat this one and the turn
 * has used up its retry budget.
 */
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

/**
 * Stores the failed call and charges the next one, in one write, and pauses before it. `events`:
 * further ones.
 */
export async function chargeNext(
  context: TurnContext,
  turn: OpenedTurn,
  { events = [], retries, delayMs }: { events?: readonly NewEvent[]; retries: number; delayMs: number },
): Promise<void> {
  const row = turn.journal.attempt.unstoredCall;
  const calls = turn.journal.at.progress.calls + 1;
  await context.store.deltas.take({ sessionId: turn.session.id, epoch: turn.held.epoch, turnId: turn.id });
  await storeStep(context, turn, {
    ...NO_ROWS,
    totals: { calls, retries },
    modelCalls: row === null ? [] : [row],
    events: [...(row === null ? [] : [modelEnded(turn, row, delayMs)]), ...events, modelStarted(turn.id, calls)],
  });
  if (delayMs > 0) await turn.held.pause(delayMs);
}

// Which model a turn asks when the one that it asks does not answer (G35): the next of its chain
// whose calls are let through, and whose window has room for the request. When there is none, the
// turn waits, and begins with the first model again.

/** Why a model is left. */
interface Cause {
  code: string;
  text: string;
}

/** The most characters of what a provider has said. */
const CAUSE_CHARS_MAX = 500;

/** The next model of a turn whose calls would be let through, and that has room for the request. */
function openFallback(context: TurnContext, turn: OpenedTurn): string | undefined {
  return fallbacksLeft(turn).find(
    (ref) => isOpen(context, modelOfRef(ref)) && findTooSmall(context, turn, ref) === null,
  );
}

/**
 * Steps down after a failed call; returns the events of it, to be committed with the call. Null:
 * there is no model left that could be asked now. `isRefused`: the model that was asked will not
 * answer later either, so the turn steps down to one that is away, and waits for it, or to one
 * whose window is too small, and makes the prompt smaller.
 */
export function stepDown(
  context: TurnContext,
  turn: OpenedTurn,
  { isRefused, ...cause }: Cause & { isRefused: boolean },
): NewEvent[] | null {
  const { request } = turn.journal.attempt;
  const left = isRefused ? fallbacksLeft(turn) : [];
  const model = openFallback(context, turn) ?? left.find((ref) => findTooSmall(context, turn, ref) === null) ?? left[0];
  if (model === undefined) return null;
  context.logger.warn(
    { ...pickLogIds(context, turn), code: cause.code, fallback: model },
    'Turn falls back to another model',
  );
  const from = refOfModel(request);
  const reason = reasonFor(context, turn, { model, cause });
  stepTo(context, turn, { model, reason });
  const blocked = { model: from, provider: providerOf(request), ...cause, fallback: model };
  return [{ type: 'model.blocked', data: blocked }, modelFallback({ from, to: model, reason })];
}

/**
 * Steps down without a failed call, because the model is not to be called; the event is stored with
 * the first call of the next. False: there is none.
 */
export function stepAround(context: TurnContext, turn: OpenedTurn, cause: Cause): boolean {
  const model = openFallback(context, turn);
  if (model === undefined) return false;
  const { request, unstoredEvents } = turn.journal.attempt;
  const reason = reasonFor(context, turn, { model, cause });
  const event = modelFallback({ from: refOfModel(request), to: model, reason });
  askInstead(context, turn, { model, reason });
  turn.journal.note({ unstoredEvents: [...unstoredEvents, event] });
  return true;
}

/** Before a turn is parked: it begins with its first model again when it is resumed. */
export function stepBack(context: TurnContext, turn: OpenedTurn): void {
  const [model] = turn.chain;
  if (turn.journal.attempt.fallback !== null && model !== undefined) stepTo(context, turn, { model, reason: null });
}

/**
 * A wait for a model, with the fallbacks that would be asked instead if their windows were larger.
 */
export function namingSmallWindows(context: TurnContext, turn: OpenedTurn, wait: Wait): Wait {
  const small = turn.chain.slice(1).flatMap((ref) => findTooSmall(context, turn, ref) ?? []);
  if (small.length === 0) return wait;
  return { ...wait, reason: { ...wait.reason, text: `${wait.reason.text} Skipped: ${small.join('; ')}.` } };
}

/**
 * After a failed call: its row says which model is asked next, so that a worker that resumes the
 * turn asks the same.
 */
function stepTo(context: TurnContext, turn: OpenedTurn, next: NextModel): void {
  const { journal } = turn;
  askInstead(context, turn, next);
  const { unstoredCall } = journal.attempt;
  if (unstoredCall === null) return;
  const { model: fallback, reason: fallbackReason } = next;
  journal.note({ unstoredCall: { ...unstoredCall, error: { ...unstoredCall.error, fallback, fallbackReason } } });
}

/**
 * Says that the window of a model is too small for the next request; null: it has room for it, as
 * far as is known.
 */
function findTooSmall({ config }: TurnContext, turn: OpenedTurn, ref: string): string | null {
  const contextTokens = factsOfModel(config, ref)?.contextTokens ?? null;
  const tokens = estimateNextRequest(turn);
  if (contextTokens === null || tokens <= thresholdTokens({ ...turn.agent.compaction, contextTokens })) return null;
  return `${ref}, whose window of ${contextTokens} tokens is too small for a request of about ${tokens}`;
}

function reasonFor(
  context: TurnContext,
  turn: OpenedTurn,
  { model, cause: { code, text } }: { model: string; cause: Cause },
): string {
  const left = fallbacksLeft(turn);
  const skipped = left
    .slice(0, left.indexOf(model))
    .map((ref) => findTooSmall(context, turn, ref) ?? `${ref}, which is not called now`);
  const what = `${code}: ${cutHead(text, CAUSE_CHARS_MAX)}`;
  return skipped.length === 0 ? what : `${what} Skipped: ${skipped.join('; ')}.`;
}

// How a turn writes its next request after a refusal that another request would not get: each way
// once until the model has answered. It is another request, so none of it is a retry (G16); when no
// way is left, the refusal ends the turn.
//
//   unforced     a model that thinks on its own cannot be forced to call the tool of a structured
//                answer: it is only offered
//   reasoning    a server that wants reasoning with each answer of the history gets an empty one,
//                where there is none
//   images       of a request that is too large for the server (413), the images are left out
//   answer       where the server names a window that is smaller than what was known, and the
//                prompt fits into it, a shorter answer is asked for
//   transcript   the transcript of a request that is too long is compacted

export type Rewriting = 'unforced' | 'reasoning' | 'images' | 'answer' | 'transcript';

interface Refusal {
  fault: ModelError;
  /** The ways that were taken since the model has answered. */
  taken: ReadonlySet<Rewriting>;
}

/**
 * How the next request is written, which is noted; a compaction is left to the caller. Null: it
 * would be the same one.
 */
export function rewriteRequest(context: TurnContext, turn: OpenedTurn, refusal: Refusal): Rewriting | null {
  const { fault } = refusal;
  if (fault.type === REFUSED_FORCING) return learnTrait(turn, { isUnforced: true }) ? 'unforced' : null;
  if (fault.type === MISSING_REASONING) return learnTrait(turn, { wantsReasoning: true }) ? 'reasoning' : null;
  return isTooLong(fault) ? shortenRequest(context, turn, refusal) : null;
}

function shortenRequest({ config }: TurnContext, turn: OpenedTurn, { fault, taken }: Refusal): Rewriting | null {
  const isTooLarge = fault.status === 413 || classifyFailure(fault).code === 'model_request_too_large';
  if (isTooLarge && !taken.has('images') && leaveOutImages(turn)) return 'images';
  const { maxTokens } = fitToWindow(config, turn);
  const named = findNamedWindow(fault.message) ?? Infinity;
  const isLower = named < (turn.journal.attempt.traits.contextTokens ?? Infinity);
  if (isLower) learnTrait(turn, { contextTokens: named });
  const isShorter = isLower && !isFull(turn) && fitToWindow(config, turn).maxTokens < maxTokens;
  if (isShorter && !taken.has('answer')) return 'answer';
  return !taken.has('transcript') && canCompact(turn) ? 'transcript' : null;
}
