// The price table: its rows, and which of them applies to a call.
import { matchesPattern } from '../text-filter.ts';
import { LISTED_PRICES } from '../catalogue/catalogue.ts';
import builtIn from './anthropic.json' with { type: 'json' };
import { toPriceRow, type PriceRow, type WrittenPriceRow } from './price-row.ts';
import { callCostMicros, type PriceTier, type ReportedTokens } from './call-cost.ts';

/** The rows that hold first, first. */
export type PriceTable = readonly PriceRow[];

const BUILT_IN: readonly PriceRow[] = [...builtIn, ...LISTED_PRICES].map((row) => toPriceRow(row, 'built in'));

/** A dated snapshot of a model has the price of the model: `claude-haiku-4-5-20251001`. */
const SNAPSHOT_DATE = /-\d{8}$/;

/**
 * The table of a configuration. Its own rows hold before the built-in ones; one with the model and the first day of a built-in row replaces
 * that row. Among the rest, the longer pattern holds first, then the later first day.
 */
export function priceTable(configured: readonly WrittenPriceRow[]): PriceTable {
  const own = configured.map((row) => toPriceRow(row, 'models.prices'));
  const replaced = new Set(own.map(identityOf));
  const kept = BUILT_IN.filter((row) => !replaced.has(identityOf(row)));
  return [...own.toSorted(bySpecificity), ...kept.toSorted(bySpecificity)];
}

/** The row by which a call of this model on this day (YYYY-MM-DD in UTC) is priced; null: the model has no price then. */
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
  /** Of the rows, as JSON. */
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
