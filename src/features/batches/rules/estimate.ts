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
  /** The cost of the ended items; null: not known. */
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
  // A batch that is live altogether counts nothing apart.
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

/**
 * The ways to ask: live, through batches of the provider by the cache hit rate, and the same when
 * nothing is found in the cache and, if `cache` is `auto`, nothing is put there.
 */
const ESTIMATED = ['live', 'at100', 'at90', 'at50', 'cold'] as const;
type EstimatedWay = (typeof ESTIMATED)[number];

/** Costs in micro-dollars; null: a model of the batch has no price. */
export interface BatchEstimate {
  items: number;
  inputTokens: number;
  outputTokens: number;
  micros: Record<EstimatedWay, number | null>;
}

/** An estimate of no items. */
export function emptyEstimate(): BatchEstimate {
  return { items: 0, inputTokens: 0, outputTokens: 0, micros: { live: 0, at100: 0, at90: 0, at50: 0, cold: 0 } };
}

/** The estimate with one more item, of one call. */
export function withItem(estimate: BatchEstimate, item: ItemPrompt, cache: CacheSetting): BatchEstimate {
  const { price, promptTokens, prefixTokens, isFirst } = item;
  const isCached = promptTokens >= cacheTokensMinOf(item.model);
  const kept = cache === 'auto' ? '5m' : cache;
  const ways: Record<EstimatedWay, { tier: PriceTier; markers: CacheMarkers; hitRate: number }> = {
    live: { tier: 'standard', markers: '5m', hitRate: isFirst ? 0 : 1 },
    at100: { tier: 'batch', markers: kept, hitRate: 1 },
    at90: { tier: 'batch', markers: kept, hitRate: 0.9 },
    at50: { tier: 'batch', markers: kept, hitRate: 0.5 },
    cold: { tier: 'batch', markers: cache === 'auto' ? 'off' : cache, hitRate: 0 },
  };
  const micros = { ...estimate.micros };
  for (const way of ESTIMATED) {
    const { tier, markers, hitRate } = ways[way];
    const call = { promptTokens, prefixTokens, readTokens: prefixTokens * hitRate, outputTokens: OUTPUT_TOKENS };
    const sum = micros[way];
    micros[way] =
      sum === null || price === null
        ? null
        : sum + cachedCallMicros(price, call, { tier, markers: isCached ? markers : 'off' });
  }
  return {
    items: estimate.items + 1,
    inputTokens: estimate.inputTokens + promptTokens,
    outputTokens: estimate.outputTokens + OUTPUT_TOKENS,
    micros,
  };
}

/** The cheaper way. */
export function recommendedWay({ micros: { live, cold } }: BatchEstimate): Way {
  return live !== null && cold !== null && cold < live ? 'provider-batch' : 'live';
}
