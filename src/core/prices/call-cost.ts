// What a call costs, and what calls cost together. All in whole numbers: prices are nano-dollars per token, a cost is rounded half up to
// micro-dollars once, for the whole call, and sums of costs are exact.
// The steps and groups of usage queries are here, too.
import type { PriceRow, TokenPrices } from './price-row.ts';
import type { TokenCounts } from '../model-request.ts';

export const PRICE_TIERS = ['standard', 'batch'] as const;

/** `batch`: answered in a batch of the provider. */
export type PriceTier = (typeof PRICE_TIERS)[number];

/** The tokens of a call as its provider reported them. The kinds exclude each other; `cacheWriteTokens` are those of both durations. */
export interface ReportedTokens extends TokenCounts {
  /** The part of `cacheWriteTokens` that is kept for an hour; absent: none. */
  cacheWrite1hTokens?: number | undefined;
}

const WHOLE_PERCENT = 100n;
const NANO_PER_MICRO = 1000n;

export function callCostMicros(row: PriceRow, tokens: ReportedTokens, tier: PriceTier): number {
  const { input, output, cacheRead, cacheWrite5m, cacheWrite1h } = pricesFor(row, tokens);
  const { cacheWrite1hTokens = 0 } = tokens;
  // One call may report more tokens than a product of two JavaScript numbers counts exactly.
  const nano =
    BigInt(tokens.inputTokens) * BigInt(input) +
    BigInt(tokens.outputTokens) * BigInt(output) +
    BigInt(tokens.cacheReadTokens) * BigInt(cacheRead) +
    BigInt(tokens.cacheWriteTokens - cacheWrite1hTokens) * BigInt(cacheWrite5m) +
    BigInt(cacheWrite1hTokens) * BigInt(cacheWrite1h);
  const percent = tier === 'batch' ? BigInt(row.batchPercent) : WHOLE_PERCENT;
  const unit = NANO_PER_MICRO * WHOLE_PERCENT;
  return Number((nano * percent + unit / 2n) / unit);
}

/** The prices by the length of the prompt: everything but the answer counts, and all tokens of the call cost the same. */
function pricesFor({ prices, longPrompt }: PriceRow, tokens: ReportedTokens): TokenPrices {
  const promptTokens = tokens.inputTokens + tokens.cacheReadTokens + tokens.cacheWriteTokens;
  return longPrompt !== null && promptTokens > longPrompt.overTokens ? longPrompt.prices : prices;
}

/** What calls cost together. */
export interface CostTotal {
  /** Of the calls whose cost is known; null: there are calls, and the cost of none is known. */
  costMicros: number | null;
  /** Calls whose cost is not known. */
  unpricedCalls: number;
  /** True when a call was answered by the scripted model. */
  isSimulated: boolean;
}

/** The total with one more call; `costMicros` null: its cost is not known. */
export function withCallCost(
  total: CostTotal,
  { costMicros, isSimulated }: { costMicros: number | null; isSimulated: boolean },
): CostTotal {
  return {
    costMicros: addCost(total.costMicros, costMicros),
    unpricedCalls: total.unpricedCalls + (costMicros === null ? 1 : 0),
    isSimulated: total.isSimulated || isSimulated,
  };
}

/** A total of 0 together with an unknown cost is unknown, too. */
function addCost(total: number | null, costMicros: number | null): number | null {
  if (costMicros === null) return total === 0 ? null : total;
  return (total ?? 0) + costMicros;
}

const MICRO_PER_DOLLAR = 1_000_000;

/** Micro-dollars as dollars, for people and for JSON; null stays null. */
export function toDollars(micros: number | null): number | null {
  return micros === null ? null : micros / MICRO_PER_DOLLAR;
}

/** An amount in a sentence. */
export function dollarsText(micros: number): string {
  return `$${(micros / MICRO_PER_DOLLAR).toFixed(4)}`;
}

/** Dollars as whole micro-dollars. */
export function toMicros(dollars: number): number {
  return Math.round(dollars * MICRO_PER_DOLLAR);
}

// The permitted steps and groups of usage queries.

export const USAGE_STEPS = ['minute', 'hour', 'day'] as const;
export type UsageStep = (typeof USAGE_STEPS)[number];

export const USAGE_GROUPS = ['agent', 'model', 'lane', 'tier', 'kind'] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];
