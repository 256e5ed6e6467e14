// Decides from counts alone whether an open batch ends, and whether a guard pauses it.
import { toDollars } from '../../../core/prices.ts';
import { moneyText } from '../../../core/words.ts';
import type { MessageVia } from '../../../core/inbound.ts';
import type { BatchOutcome, PauseReason } from './batch.ts';

/** How many items ended in which way. */
export interface EndCounts {
  answered: number;
  silent: number;
  failed: number;
  cancelled: number;
  expired: number;
}

export interface BatchState extends EndCounts {
  status: 'running' | 'paused' | 'cancelling';
  itemCount: number;
  inFlight: number;
  /** What its items have started and has not ended. */
  followUps: number;
  /** The first items that run alone; null: no pilot, or it is over. */
  pilot: number | null;
  maxFailurePercent: number;
  /** The last ends, one character each: `x` for a failure. */
  recent: string;
  costMicros: number | null;
  maxCostMicros: number | null;
  /** True when a call was refused because the cap has no room for it. */
  isCapReached: boolean;
  /**
   * True when it was refused, and would have room now: the calls in flight have cost less than they
   * had reserved.
   */
  isCapFreed: boolean;
  pauseReason: PauseReason | null;
  /** The budget that has no room for its calls now; null: none. */
  budget: string | null;
  via: MessageVia;
  /** With `via: auto`: items up to this number go through the provider first; null: none do. */
  probeTo: number | null;
  /** How long ago that was decided, in milliseconds; null: it was not. */
  probeMs: number | null;
  /** True when the way of the others is chosen. */
  isWayChosen: boolean;
}

/**
 * With `via: auto`, this part of the items goes through the provider first, within these bounds;
 * the others wait for them no longer than this.
 */
const PROBE_PERCENT = 2;
const PROBE_ITEMS_MIN = 20;
const PROBE_ITEMS_MAX = 200;
const PROBE_MS_MAX = 3_600_000;

/**
 * The window of the failure rate: this many items must have ended before it can pause a batch, and
 * only the last of them count.
 */
export const FAILURE_WINDOW = 50;

export type BatchVerdict =
  | { kind: 'continue' }
  | { kind: 'pilot_passed' }
  | { kind: 'probe'; probeTo: number }
  | { kind: 'choose_way' }
  | { kind: 'resume' }
  | { kind: 'pause'; reason: PauseReason; detail: string }
  | { kind: 'end'; outcome: BatchOutcome };

/** The items that have ended. */
export function countEnded({ answered, silent, failed, cancelled, expired }: EndCounts): number {
  return answered + silent + failed + cancelled + expired;
}

/** The verdict on the present counts. */
export function judgeBatch(batch: BatchState): BatchVerdict {
  const haveItemsEnded = countEnded(batch) >= batch.itemCount;
  if (haveItemsEnded && batch.followUps === 0) return { kind: 'end', outcome: judgeOutcome(batch) };
  if (batch.pauseReason === 'budget' && batch.budget === null) return { kind: 'resume' };
  if (batch.pauseReason === 'cost_cap' && batch.isCapFreed && !isOverCap(batch)) return { kind: 'resume' };
  if (batch.status !== 'running') return { kind: 'continue' };
  if (batch.isCapReached) {
    const detail = `The next call would exceed the cost limit of ${moneyText(toDollars(batch.maxCostMicros ?? 0))}.`;
    return { kind: 'pause', reason: 'cost_cap', detail };
  }
  if (batch.budget !== null) {
    return { kind: 'pause', reason: 'budget', detail: `The next call would exceed the budget "${batch.budget}".` };
  }
  if (isOverCap(batch)) {
    const detail = `The ended items cost ${moneyText(toDollars(batch.costMicros ?? 0))} of at most ${moneyText(toDollars(batch.maxCostMicros ?? 0))}.`;
    return { kind: 'pause', reason: 'cost_cap', detail };
  }
  if (haveItemsEnded) return { kind: 'continue' };
  if (batch.pilot !== null && countEnded(batch) >= batch.pilot) return judgePilot(batch, batch.pilot);
  const failures = batch.recent.split('x').length - 1;
  if (batch.recent.length >= FAILURE_WINDOW && isOverRate(failures, FAILURE_WINDOW, batch.maxFailurePercent)) {
    const detail = `${failures} of the last ${FAILURE_WINDOW} items failed; at most ${batch.maxFailurePercent} % may.`;
    return { kind: 'pause', reason: 'failure_rate', detail };
  }
  return batch.via === 'auto' && batch.pilot === null && !batch.isWayChosen ? judgeProbe(batch) : { kind: 'continue' };
}

/** Items are fed in their order, so the first ones are a number. */
function judgeProbe(batch: BatchState): BatchVerdict {
  const { itemCount, inFlight, probeTo, probeMs } = batch;
  const fed = inFlight + countEnded(batch);
  if (probeMs === null) {
    const part = Math.ceil(((itemCount - fed) * PROBE_PERCENT) / 100);
    const items = Math.min(PROBE_ITEMS_MAX, Math.max(PROBE_ITEMS_MIN, part));
    return { kind: 'probe', probeTo: Math.min(itemCount, fed + items) };
  }
  // An older version has ended the wait without a choice where the number is missing.
  const haveAllEnded = inFlight === 0 && (probeTo === null || probeTo <= fed);
  return haveAllEnded || probeMs >= PROBE_MS_MAX ? { kind: 'choose_way' } : { kind: 'continue' };
}

/** True when the ended items have reached the cost cap of the batch. */
export function isOverCap({ costMicros, maxCostMicros }: Pick<BatchState, 'costMicros' | 'maxCostMicros'>): boolean {
  return maxCostMicros !== null && (costMicros ?? 0) >= maxCostMicros;
}

function judgePilot(batch: BatchState, pilot: number): BatchVerdict {
  const failures = batch.failed + batch.expired;
  if (!isOverRate(failures, pilot, batch.maxFailurePercent)) return { kind: 'pilot_passed' };
  const detail = `${failures} of the ${pilot} items of the pilot failed; at most ${batch.maxFailurePercent} % may.`;
  return { kind: 'pause', reason: 'pilot_done', detail };
}

function isOverRate(failures: number, of: number, maxPercent: number): boolean {
  return failures * 100 > of * maxPercent;
}

function judgeOutcome(batch: BatchState): BatchOutcome {
  const good = batch.answered + batch.silent;
  if (good === batch.itemCount) return 'completed';
  if (batch.status === 'cancelling') return 'cancelled';
  if (good > 0) return 'partly';
  return batch.cancelled === batch.itemCount ? 'cancelled' : 'failed';
}
