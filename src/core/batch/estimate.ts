// The estimated cost of a batch before it starts: from the prompts of its items, without asking a provider. The actual cost replaces it.
import { cacheTokensMinOf, type CacheSetting } from '../provider-batch/cache-markers.ts';
import { costOfCalls, type MeasuredCache, type NextCalls, type Way } from '../provider-batch/choose-way.ts';
import type { PriceRow } from '../prices/price-row.ts';

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
  /** The last measurement of batches of the provider; null: there is none. */
  measured: Pick<MeasuredCache, 'hitRate'> | null;
}

/** Costs in micro-dollars; null: a model of the batch has no price. */
export interface BatchEstimate {
  items: number;
  inputTokens: number;
  outputTokens: number;
  liveMicros: number | null;
  /** Through batches of the provider, by the cache hit rate. */
  batchMicros: { at100: number | null; at90: number | null; at50: number | null };
  /** The same at the measured rate; without the cache while nothing is measured. */
  expectedBatchMicros: number | null;
}

/** An estimate of no items. */
export function emptyEstimate(): BatchEstimate {
  return {
    items: 0,
    inputTokens: 0,
    outputTokens: 0,
    liveMicros: 0,
    batchMicros: { at100: 0, at90: 0, at50: 0 },
    expectedBatchMicros: 0,
  };
}

/** The estimate with one more item, of one call. */
export function withItem(estimate: BatchEstimate, item: ItemPrompt, cache: CacheSetting): BatchEstimate {
  const { price, measured, promptTokens, prefixTokens, isFirst } = item;
  const isCached = promptTokens >= cacheTokensMinOf(item.model);
  const calls: NextCalls = {
    promptTokens,
    prefixTokens: Math.min(prefixTokens, promptTokens),
    previousTokens: 0,
    previousWay: null,
    addedTokens: 0,
    outputTokens: OUTPUT_TOKENS,
    callsLeft: 1,
  };
  const plus = (sum: number | null, costOf: (price: PriceRow) => number): number | null =>
    sum === null || price === null ? null : sum + costOf(price);
  const live = (row: PriceRow): number =>
    costOfCalls(calls, { price: row, tier: 'standard', markers: isCached ? '5m' : 'off', hitRate: isFirst ? 0 : 1 });
  const batchAt = (hitRate: number | null) => (row: PriceRow) =>
    batchCost(calls, { price: row, hitRate, cache: isCached ? cache : 'off' });
  const { at100, at90, at50 } = estimate.batchMicros;
  return {
    items: estimate.items + 1,
    inputTokens: estimate.inputTokens + promptTokens,
    outputTokens: estimate.outputTokens + OUTPUT_TOKENS,
    liveMicros: plus(estimate.liveMicros, live),
    batchMicros: { at100: plus(at100, batchAt(1)), at90: plus(at90, batchAt(0.9)), at50: plus(at50, batchAt(0.5)) },
    expectedBatchMicros: plus(estimate.expectedBatchMicros, batchAt(measured?.hitRate ?? null)),
  };
}

/** The cost through a batch of the provider; `hitRate` null: its cache is not known, so nothing is put there. */
function batchCost(
  calls: NextCalls,
  { price, hitRate, cache }: { price: PriceRow; hitRate: number | null; cache: CacheSetting },
): number {
  const lane = { price, tier: 'batch' as const, hitRate: hitRate ?? 0 };
  if (cache !== 'auto') return costOfCalls(calls, { ...lane, markers: cache });
  const plain = costOfCalls(calls, { ...lane, markers: 'off' });
  return hitRate === null ? plain : Math.min(plain, costOfCalls(calls, { ...lane, markers: '5m' }));
}

/** The cheaper way. */
export function recommendedWay({ liveMicros, expectedBatchMicros }: BatchEstimate): Way {
  return liveMicros !== null && expectedBatchMicros !== null && expectedBatchMicros < liveMicros
    ? 'provider-batch'
    : 'live';
}
