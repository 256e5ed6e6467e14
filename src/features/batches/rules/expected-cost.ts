// The expected total cost of a batch, from the items that have ended: from 20 on, which is a usual pilot.
import type { Way } from '../../provider-batches/rules/choose-way.ts';

export interface SpentBatch {
  /** The way of the items that are left. */
  way: Way;
  total: number;
  ended: number;
  /** Of the ended items; null: not known. */
  costMicros: number | null;
  /** Of the ended items, those that were asked live although others are not (a pilot, for example), and their cost. */
  live: { items: number; costMicros: number };
  /** What batches of the provider have cost lately for each micro-dollar of the same answers in live calls; null: not known. */
  batchShare: number | null;
}

/** Fewer ends say little about the rest. */
const ENDED_MIN = 20;

/** In micro-dollars; null: not known. */
export function expectedCostMicros({ way, total, ended, costMicros, live, batchShare }: SpentBatch): number | null {
  const left = total - ended;
  if (costMicros === null || left <= 0) return costMicros;
  const others = { items: ended - live.items, costMicros: Math.max(0, costMicros - live.costMicros) };
  // Of a batch that is live altogether, nothing is counted apart.
  const alike = way === 'live' && live.items > 0 ? live : others;
  if (alike.items >= ENDED_MIN) return costMicros + (alike.costMicros / alike.items) * left;
  if (way === 'live' || live.items < ENDED_MIN || batchShare === null) return null;
  return costMicros + (live.costMicros / live.items) * batchShare * left;
}
