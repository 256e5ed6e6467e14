// The price table of a process with the name of its version, and the price of a call by it.
import { callCostMicros, type PriceTier, type ReportedTokens } from './call-cost.ts';
import { priceAt, type PriceTable } from './price-table.ts';

export interface PriceBook {
  /** The beginning of the hash: equal tables have equal versions, in every process. */
  version: string;
  /** Of the rows, as JSON. */
  sha256: string;
  table: PriceTable;
}

/** A call as it is priced. */
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
