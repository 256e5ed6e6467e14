// Waits out what is not the turn's fault (G33): while a model is away, or asks to wait longer than a worker should, the turn is parked. It
// holds no lock and no slot, and gives up when it has waited for `models.outage.giveUpAfter`, or when all of its messages have expired.
import type { AfterCommit } from '../../after-commit.ts';
import { BUDGET_REACHED } from '../../core/budget/budget.ts';
import type { Config } from '../../config.ts';
import { outageOf } from '../../core/failure.ts';
import { blockMsOf, waitForBlockMs, pauseAfterFailureMs } from '../../core/model-outage.ts';
import type { NamedModel } from '../../core/model-ref.ts';
import { lastExpiry } from '../../core/message-expiry.ts';
import type { ModelError } from '../../model/model.ts';
import type { ParkReason } from '../../store/journal/park-turn.ts';
import type { NewEvent } from '../../store/events.ts';
import type { TurnContext } from '../context.ts';
import { CALLER } from './plan-calls.ts';
import { modelBlocked, modelEnded, modelStarted } from '../model-events.ts';
import type { Pass } from './model-gate.ts';
import { laneOf, type OpenedTurn } from '../opened-turn.ts';
import { reportCalls } from '../turn-log.ts';
import { NO_ROWS } from '../turn-write.ts';
import { TurnFailed, TurnStopped, type ParkWish } from '../turn-end.ts';
import { given } from '../../core/given.ts';

/** The code of a turn that waits for a batch of the provider. */
export const PROVIDER_BATCH = 'provider_batch';

/** A wait longer than this is not spent in a worker: the turn is parked and its slot is free, in milliseconds. */
export const WAIT_IN_SLOT_MS_MAX = 5_000;

/** Throws `TurnFailed` when the turn has reached its maximum wait. */
export function assertPatience(context: TurnContext, turn: OpenedTurn): void {
  if (patienceMs(context, turn) <= 0)
    throw givenUp(context, turn, turn.journal.at.park ?? { code: 'expired', text: '' });
}

/** How often a turn may retry a call of this provider. */
export function retriesMaxOf({ models: { providers } }: Config, provider: string): number {
  const own = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  return own?.maxRetries ?? providers.anthropic.maxRetries;
}

/** The number of short interruptions of a provider during which a turn keeps its slot; then it is parked. */
const RETRIES_IN_SLOT_MAX = 2;

/** How a turn reacts to an outage that one of its calls has met. */
interface OutageDecision {
  /** True: it may ask again from its slot, after a short wait. */
  mayStay: boolean;
  /** True: its model is blocked until then. The gate holds the next call back, which costs nothing of the retry budget. */
  isBlocked: boolean;
  /** How it is parked otherwise. */
  wish: ParkWish;
}

/** A call that has failed, and how many calls in a row a block has held back, with this one. */
interface FailedAttempt {
  fault: ModelError;
  pass: Pass;
  model: NamedModel;
  blocksInARow: number;
}

/** Notes the failure of a call with its provider; null: the provider is not to blame, and `pass` is ended. */
export async function noteOutage(
  context: TurnContext,
  turn: OpenedTurn,
  attempt: FailedAttempt,
): Promise<OutageDecision | null> {
  const { fault, pass } = attempt;
  const code = outageOf(fault);
  if (code === null) {
    // An error with a status shows that the provider answers; a stream that broke off or fell silent shows nothing.
    if (fault.status === null) pass.left();
    else pass.answered();
    return null;
  }
  const blockMs = blockMsOf(fault);
  if (blockMs !== null) return await block(context, turn, { ...attempt, code, blockMs });
  const retriesMax = retriesMaxOf(context.config, pass.provider);
  const { probeMs } = context.config.models.outage;
  const retryAfterMs = Math.max(0, fault.retryAfterMs ?? 0);
  const gate = pass.failed(retryAfterMs, fault.message);
  const atLeastMs = Math.max(retryAfterMs, gate.waitMs);
  const { park, progress } = turn.journal.at;
  const delayMs = pauseAfterFailureMs({ pauses: park?.parks ?? 0, random: context.random(), atLeastMs }, probeMs);
  return {
    isBlocked: false,
    mayStay: park === null && !gate.isAway && progress.retries < Math.min(RETRIES_IN_SLOT_MAX, retriesMax),
    wish: {
      reason: { code, text: fault.message, by: pass.provider },
      hasCalled: true,
      isBlocked: gate.isNews,
      delayMs,
      notBeforeMs: retryAfterMs,
    },
  };
}

/** Blocks the model of a failed call for every worker, as its provider asks. */
async function block(
  context: TurnContext,
  turn: OpenedTurn,
  { fault, pass, model, blocksInARow, code, blockMs }: FailedAttempt & { code: string; blockMs: number },
): Promise<OutageDecision> {
  // What holds the calls back is the block, not the breaker.
  pass.left();
  if (code === 'rate_limited') context.governor.refused({ model, lane: laneOf(turn) });
  const isNews = await context.blocks.add(model, blockMs, fault.message);
  const { park } = turn.journal.at;
  return {
    isBlocked: true,
    mayStay: park === null && blockMs <= WAIT_IN_SLOT_MS_MAX && blocksInARow <= RETRIES_IN_SLOT_MAX,
    wish: {
      reason: { code: code === 'model_away' ? 'model_blocked' : code, text: fault.message, by: pass.provider },
      hasCalled: true,
      isBlocked: isNews,
      delayMs: waitForBlockMs(blockMs, context.random()),
      notBeforeMs: blockMs,
    },
  };
}

/** The stop with which a turn is parked, to be thrown. Throws `TurnFailed` when it has reached its maximum wait. */
export function parkedStop(context: TurnContext, turn: OpenedTurn, wish: ParkWish): TurnStopped {
  const leftMs = patienceMs(context, turn);
  if (leftMs <= 0) throw givenUp(context, turn, wish.reason);
  const delayMs = Math.min(wish.delayMs ?? Number.POSITIVE_INFINITY, leftMs);
  return new TurnStopped({ kind: 'parked', message: wish.reason.text, park: { ...wish, delayMs } });
}

/** False for a wait that is bounded otherwise: a batch of the provider and a client by their deadlines, a budget by its window. */
function isOutage({ code }: Pick<ParkReason, 'code'>): boolean {
  return code !== PROVIDER_BATCH && code !== BUDGET_REACHED && code !== CALLER;
}

/** How much longer a turn may wait, in milliseconds. */
function patienceMs(context: TurnContext, turn: OpenedTurn): number {
  const { giveUpAfter } = context.config.models.outage;
  const { inputs, progress, park } = turn.journal.at;
  const expiresAt = lastExpiry(inputs);
  const untilExpiryMs = expiresAt === null ? Number.POSITIVE_INFINITY : expiresAt - context.clock.now().getTime();
  // A turn that has begun to answer does not fail because of its message's expiry alone.
  const isBegun = progress.steps > 0 && park === null;
  const waitedMs = park !== null && isOutage(park) ? park.waitedMs : 0;
  return Math.min(giveUpAfter - waitedMs, isBegun ? Number.POSITIVE_INFINITY : untilExpiryMs);
}

function givenUp(
  context: TurnContext,
  turn: OpenedTurn,
  { code, text }: Pick<ParkReason, 'code' | 'text'>,
): TurnFailed {
  const why = text === '' ? '' : ` Last: ${text}`;
  const expiresAt = lastExpiry(turn.journal.at.inputs);
  if (expiresAt !== null && expiresAt <= context.clock.now().getTime()) {
    const at = new Date(expiresAt).toISOString();
    return new TurnFailed('expired', `The turn waited until its messages expired at ${at} (expiresAt).${why}`);
  }
  const hours = Math.round(context.config.models.outage.giveUpAfter / 36_000) / 100;
  return new TurnFailed(code, `The turn ended after waiting for ${hours} h (models.outage.giveUpAfter).${why}`);
}

/**
 * Parks a turn, with the failed call that is the reason for it, if there is one. Resolves with the rings that this needs. Throws
 * `TurnStopped` when another worker holds the session.
 */
export async function parkTurn(context: TurnContext, turn: OpenedTurn, wish: ParkWish): Promise<AfterCommit> {
  const { journal, session } = turn;
  const { park } = journal.at;
  const failed = journal.attempt.unstoredCall;
  const { reason, delayMs, retries, request } = wish;
  const events: NewEvent[] = failed === null ? [] : [modelEnded(turn, failed, delayMs ?? undefined)];
  // A turn that was woken and not let through continues to wait: that is no new event.
  if (park?.code !== reason.code || wish.hasCalled) {
    events.push({
      type: 'turn.parked',
      data: { ...reason, ...wish.facts, dueInMs: delayMs === null ? null : Math.ceil(delayMs) },
    });
  }
  if (wish.isBlocked === true) {
    events.push(modelBlocked(reason));
  }
  await context.deltas.take({ sessionId: session.id, epoch: turn.held.epoch, turnId: turn.id });
  const modelCalls = failed === null ? [] : [failed];
  if (request !== undefined && request.callNo > journal.at.progress.calls)
    events.push(modelStarted(turn.id, request.callNo));
  const totals = given({ retries, calls: request?.callNo });
  const write = { ...NO_ROWS, modelCalls, events, totals };
  // The wait counts from the model's last answer, whatever the current reason is: alternating reasons must not extend it.
  // After a wait that has another bound, the next one starts a new count.
  const isFirst = park === null || (!isOutage(park) && park.code !== reason.code);
  const parks = isFirst ? 1 : park.parks + (wish.hasCalled ? 1 : 0);
  const { after } = await journal.store(write, (rows) => context.store.parkTurn({ ...rows, ...wish, parks }));
  reportCalls(context, turn, modelCalls);
  context.transcripts.keep(session.id, turn.transcript);
  if (!wish.hasCalled && reason.code === 'model_away') context.gate.waitsBehindProbe(journal.attempt.request);
  return after;
}
