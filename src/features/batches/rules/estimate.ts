// What a batch will cost: before it starts, estimated from the prompts of its items; while it runs,
// expected from the items that have ended, from 20 on, which is a usual pilot.
import type { Way } from '../../../core/inbound.ts';
import {
  cachedCallMicros,
  cacheTokensMinOf,
  type CacheMarkers,
  type CacheSetting,
} from '../../../core/cache-markers.ts';
import type { PriceTier } from '../../../core/prices.ts';
import type { PriceRow } from '../../../core/price-row.ts';

export interface SpentBatch {
  /** The way of the items that are left. */
  way: Way;
  total: number;
  ended: number;
  /** Of the ended items; null: not known. */
  costMicros: number | null;
  /**
   * Of the ended items, those that were asked live although others are not (a pilot, for example),
   * and their cost.
   */
  live: { items: number; costMicros: number };
  /**
   * What batches of the provider have cost lately for each micro-dollar of the same answers in live
   * calls; null: not known.
   */
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

// The estimated cost of a batch before it starts: from the prompts of its items, without asking a
// provider. The actual cost replaces it.

const OUTPUT_TOKENS = 300;

/** The prompt of an item. Tokens are estimates. */
export interface ItemPrompt {
  promptTokens: number;
  /** Its beginning, which items like it share. */
  prefixTokens: number;
  /** True: no item before it has put that into the provider's cache. */
  isFirst: boolean;
  model: string;
  /** Null: its model has none. */
  price: PriceRow | null;
}

/** Costs in micro-dollars; null: a model of the batch has no price. */
export interface BatchEstimate {
  items: number;
  inputTokens: number;
  outputTokens: number;
  liveMicros: number | null;
  /** Through batches of the provider, by the cache hit rate. */
  batchMicros: { at100: number | null; at90: number | null; at50: number | null };
  /**
   * The same when nothing is found in the cache and, if `cache` is `auto`, nothing is put there.
   */
  coldBatchMicros: number | null;
}

/** An estimate of no items. */
export function emptyEstimate(): BatchEstimate {
  return {
    items: 0,
    inputTokens: 0,
    outputTokens: 0,
    liveMicros: 0,
    batchMicros: { at100: 0, at90: 0, at50: 0 },
    coldBatchMicros: 0,
  };
}

/** The estimate with one more item, of one call. */
export function withItem(estimate: BatchEstimate, item: ItemPrompt, cache: CacheSetting): BatchEstimate {
  const { price, promptTokens, prefixTokens, isFirst } = item;
  const isCached = promptTokens >= cacheTokensMinOf(item.model);
  const plus = (sum: number | null, tier: PriceTier, markers: CacheMarkers, hitRate: number): number | null => {
    if (sum === null || price === null) return null;
    const call = { promptTokens, prefixTokens, readTokens: prefixTokens * hitRate, outputTokens: OUTPUT_TOKENS };
    return sum + cachedCallMicros(price, call, { tier, markers: isCached ? markers : 'off' });
  };
  const kept = cache === 'auto' ? '5m' : cache;
  const { at100, at90, at50 } = estimate.batchMicros;
  return {
    items: estimate.items + 1,
    inputTokens: estimate.inputTokens + promptTokens,
    outputTokens: estimate.outputTokens + OUTPUT_TOKENS,
    liveMicros: plus(estimate.liveMicros, 'standard', '5m', isFirst ? 0 : 1),
    batchMicros: {
      at100: plus(at100, 'batch', kept, 1),
      at90: plus(at90, 'batch', kept, 0.9),
      at50: plus(at50, 'batch', kept, 0.5),
    },
    coldBatchMicros: plus(estimate.coldBatchMicros, 'batch', cache === 'auto' ? 'off' : cache, 0),
  };
}

/** The cheaper way. */
export function recommendedWay({ liveMicros, coldBatchMicros }: BatchEstimate): Way {
  return liveMicros !== null && coldBatchMicros !== null && coldBatchMicros < liveMicros ? 'provider-batch' : 'live';
}
