// What model calls cost: the price table, the row of it that applies to a call, the cost of the
// call, and sums of costs. All in whole numbers.
import { LISTED_PRICES } from './models.ts';
import { matchesPattern } from './text.ts';
import builtIn from './prices/anthropic.json' with { type: 'json' };
import type { TokenCounts } from './model-request.ts';
import { type TokenPrices, type PriceRow, type WrittenPriceRow, toPriceRow } from './price-row.ts';

// The price table: its rows, and which of them applies to a call.

/** The rows that hold first, first. */
export type PriceTable = readonly PriceRow[];

const BUILT_IN: readonly PriceRow[] = [...builtIn, ...LISTED_PRICES].map((row) => toPriceRow(row, 'built in'));

/** A dated snapshot of a model has the price of the model: `claude-haiku-4-5-20251001`. */
const SNAPSHOT_DATE = /-\d{8}$/;

/**
 * The table of a configuration. Its own rows hold before the built-in ones; one with the model and
 * the first day of a built-in row replaces that row. Among the rest, the longer pattern holds
 * first, then the later first day.
 */
export function priceTable(configured: readonly WrittenPriceRow[]): PriceTable {
  const own = configured.map((row) => toPriceRow(row, 'models.prices'));
  const replaced = new Set(own.map(identityOf));
  const kept = BUILT_IN.filter((row) => !replaced.has(identityOf(row)));
  return [...own.toSorted(bySpecificity), ...kept.toSorted(bySpecificity)];
}

/**
 * The row by which a call of this model on this day (YYYY-MM-DD in UTC) is priced; null: the model
 * has no price then.
 */
export function priceAt(table: PriceTable, { model, day }: { model: string; day: string }): PriceRow | null {
  const undated = model.replace(SNAPSHOT_DATE, '');
  const row = table.find(
    ({ model: pattern, from, to }) =>
      (from === null || from <= day) &&
      (to === null || day <= to) &&
      (matchesPattern(model, pattern) || matchesPattern(undated, pattern)),
  );
  return row ?? null;
}

function identityOf({ model, from }: PriceRow): string {
  return `${model} ${from ?? ''}`;
}

function bySpecificity(one: PriceRow, other: PriceRow): number {
  const byLength = other.model.length - one.model.length;
  if (byLength !== 0) return byLength;
  return compare(other.from ?? '', one.from ?? '') || compare(one.model, other.model);
}

/** By code unit: the order must not depend on the language of a machine. */
function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

export interface PriceBook {
  /** The beginning of the hash: equal tables have equal versions, in every process. */
  version: string;
  /** The hash of the rows as JSON. */
  sha256: string;
  table: PriceTable;
}

export interface PricedCall {
  /** `provider/model`. */
  model: string;
  tier: PriceTier;
  startedAt: Date;
}

/** Both are null when the model has no price. */
export interface CallPrice {
  costMicros: number | null;
  priceVersion: string | null;
}

/** The cost of a call, by the row of its model on the day in UTC on which it started. */
export function priceCall(book: PriceBook, { model, tier, startedAt }: PricedCall, tokens: ReportedTokens): CallPrice {
  const row = priceAt(book.table, { model, day: startedAt.toISOString().slice(0, 10) });
  if (row === null) return { costMicros: null, priceVersion: null };
  return { costMicros: callCostMicros(row, tokens, tier), priceVersion: book.version };
}

// What a call costs, and what calls cost together. All in whole numbers: prices are nano-dollars
// per token, a cost is rounded half up to micro-dollars once, for the whole call, and sums of costs
// are exact. The steps and groups of usage queries are here, too.

export const PRICE_TIERS = ['standard', 'batch'] as const;

/** `batch`: answered in a batch of the provider. */
export type PriceTier = (typeof PRICE_TIERS)[number];

/**
 * The tokens of a call as its provider reported them. The kinds exclude each other;
 * `cacheWriteTokens` are those of both durations.
 */
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

/**
 * The prices by the length of the prompt: everything but the answer counts, and all tokens of the
 * call cost the same.
 */
function pricesFor({ prices, longPrompt }: PriceRow, tokens: ReportedTokens): TokenPrices {
  const promptTokens = tokens.inputTokens + tokens.cacheReadTokens + tokens.cacheWriteTokens;
  return longPrompt !== null && promptTokens > longPrompt.overTokens ? longPrompt.prices : prices;
}

/** What calls cost together. */
export interface CostTotal {
  /** The sum of the known costs; null: there are calls, and no cost is known. */
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

/** Dollars as whole micro-dollars. */
export function toMicros(dollars: number): number {
  return Math.round(dollars * MICRO_PER_DOLLAR);
}

// The permitted steps and groups of usage queries.

export const USAGE_STEPS = ['minute', 'hour', 'day'] as const;

export type UsageStep = (typeof USAGE_STEPS)[number];

export const USAGE_GROUPS = ['agent', 'model', 'lane', 'tier', 'kind'] as const;

export type UsageGroup = (typeof USAGE_GROUPS)[number];
