// The estimated cost of a batch before it starts: from the length of its texts, without asking a provider. The actual cost replaces it.
import { callCostMicros, type PriceTier } from '../prices/call-cost.ts';
import type { PriceRow } from '../prices/price-row.ts';
import { estimateTextTokens } from '../token-estimate.ts';

/** Tokens of the system prompt and the tools of an item, which later items read from the cache, and of an answer. */
const PREFIX_TOKENS = 1_500;
const OUTPUT_TOKENS = 300;

/** Costs in micro-dollars; null: a model of the batch has no price. */
export interface BatchEstimate {
  items: number;
  inputTokens: number;
  outputTokens: number;
  liveMicros: number | null;
  /** Through batches of the provider, by the cache hit rate. */
  batchMicros: { at100: number | null; at90: number | null; at50: number | null };
}

/** An estimate of no items. */
export function emptyEstimate(): BatchEstimate {
  return {
    items: 0,
    inputTokens: 0,
    outputTokens: 0,
    liveMicros: 0,
    batchMicros: { at100: 0, at90: 0, at50: 0 },
  };
}

/** The estimate with one more item; `price` null: its model has none. */
export function withItem(estimate: BatchEstimate, text: string, price: PriceRow | null): BatchEstimate {
  const textTokens = estimateTextTokens(text);
  const costAt = (sum: number | null, tier: PriceTier, hitRate: number): number | null => {
    if (sum === null || price === null) return null;
    const cached = Math.round(PREFIX_TOKENS * hitRate);
    const tokens = {
      inputTokens: textTokens + PREFIX_TOKENS - cached,
      outputTokens: OUTPUT_TOKENS,
      cacheReadTokens: cached,
      cacheWriteTokens: 0,
    };
    return sum + callCostMicros(price, tokens, tier);
  };
  const { batchMicros } = estimate;
  return {
    items: estimate.items + 1,
    inputTokens: estimate.inputTokens + textTokens + PREFIX_TOKENS,
    outputTokens: estimate.outputTokens + OUTPUT_TOKENS,
    liveMicros: costAt(estimate.liveMicros, 'standard', 1),
    batchMicros: {
      at100: costAt(batchMicros.at100, 'batch', 1),
      at90: costAt(batchMicros.at90, 'batch', 0.9),
      at50: costAt(batchMicros.at50, 'batch', 0.5),
    },
  };
}

/** The cheaper way, when every second prompt of a provider's batch is read from the cache. */
export function recommendedWay({ liveMicros, batchMicros: { at50 } }: BatchEstimate): 'live' | 'provider-batch' {
  return liveMicros !== null && at50 !== null && at50 < liveMicros ? 'provider-batch' : 'live';
}
