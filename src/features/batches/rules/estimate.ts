// The estimated cost of a batch before it starts: from the prompts of its items, without asking a provider. The actual cost replaces it.
import {
  cacheTokensMinOf,
  type CacheMarkers,
  type CacheSetting,
  cachedCallMicros,
} from '../../../core/cache-markers.ts';
import type { Way } from '../../provider-batches/rules/choose-way.ts';
import type { PriceTier } from '../../../core/prices/call-cost.ts';
import type { PriceRow } from '../../../core/prices/price-row.ts';

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
  /** The same when nothing is found in the cache and, if `cache` is `auto`, nothing is put there. */
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
