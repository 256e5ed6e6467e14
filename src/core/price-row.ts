// One row of the price table: what a model costs while the row is in effect. Prices are written in
// dollars per million tokens, as providers publish them, and held as whole nano-dollars per token:
// 1 dollar per million tokens is 1,000 nano-dollars per token.
/** The price of a token, by its kind, in one unit for all five. */
export interface TokenPrices {
  input: number;
  output: number;
  cacheRead: number;
  /** Written into the provider's cache for five minutes. */
  cacheWrite5m: number;
  /** Written into it for an hour. */
  cacheWrite1h: number;
}

/** A row as it is used; prices are whole nano-dollars per token. */
export interface PriceRow {
  /** `provider/model`, in which `*` matches any text. */
  model: string;
  /**
   * The first and the last day on which it is in effect, as YYYY-MM-DD in UTC; null: without an end
   * on that side.
   */
  from: string | null;
  to: string | null;
  prices: TokenPrices;
  /**
   * The prices of every token of a call whose prompt is longer than `overTokens`; null: the length
   * changes nothing.
   */
  longPrompt: { overTokens: number; prices: TokenPrices } | null;
  /** The cost of a call in a provider batch, in percent of the prices. */
  batchPercent: number;
  /** Where the prices are from. */
  source: string;
  /** The day on which they were compared with the source last, as YYYY-MM-DD; null: not known. */
  checkedAt: string | null;
}

/**
 * Prices as they are written, in dollars per million tokens. Prices of the cache that are absent
 * are those of the input.
 */
export interface WrittenPrices {
  inputPerMTok: number;
  outputPerMTok: number;
  cacheReadPerMTok?: number | undefined;
  cacheWrite5mPerMTok?: number | undefined;
  cacheWrite1hPerMTok?: number | undefined;
}

/** A row as it is written: in the built-in table and in `models.prices` of the configuration. */
export interface WrittenPriceRow extends WrittenPrices {
  model: string;
  from?: string | undefined;
  to?: string | undefined;
  longPrompt?: ({ overTokens: number } & WrittenPrices) | undefined;
  batchPercent?: number | undefined;
  source?: string | undefined;
  checkedAt?: string | undefined;
}

const NANO_PER_TOKEN = 1000;

/** Parsing a decimal may be off by this much: 1.1 dollars become 1100.0000000000002. */
const ROUNDING_ERROR_MAX = 1e-6;

const BATCH_PERCENT_DEFAULT = 50;

/**
 * True when a price in dollars per million tokens is a whole number of nano-dollars per token: it
 * has at most three decimals.
 */
export function isWholePrice(perMTok: number): boolean {
  const nano = perMTok * NANO_PER_TOKEN;
  return Math.abs(nano - Math.round(nano)) <= ROUNDING_ERROR_MAX;
}

/** A written row as it is used. `source`: where its prices are from when it does not say. */
export function toPriceRow(written: WrittenPriceRow, source: string): PriceRow {
  const { longPrompt } = written;
  return {
    model: written.model,
    from: written.from ?? null,
    to: written.to ?? null,
    prices: toPrices(written),
    longPrompt: longPrompt === undefined ? null : { overTokens: longPrompt.overTokens, prices: toPrices(longPrompt) },
    batchPercent: written.batchPercent ?? BATCH_PERCENT_DEFAULT,
    source: written.source ?? source,
    checkedAt: written.checkedAt ?? null,
  };
}

function toPrices(written: WrittenPrices): TokenPrices {
  const { inputPerMTok: input } = written;
  return {
    input: toNano(input),
    output: toNano(written.outputPerMTok),
    cacheRead: toNano(written.cacheReadPerMTok ?? input),
    cacheWrite5m: toNano(written.cacheWrite5mPerMTok ?? input),
    cacheWrite1h: toNano(written.cacheWrite1hPerMTok ?? input),
  };
}

function toNano(perMTok: number): number {
  return Math.round(perMTok * NANO_PER_TOKEN);
}

/** Prices as providers publish them, in dollars per million tokens. */
export function perMillionTokens(prices: TokenPrices): { [Name in keyof WrittenPrices]-?: number } {
  return {
    inputPerMTok: prices.input / NANO_PER_TOKEN,
    outputPerMTok: prices.output / NANO_PER_TOKEN,
    cacheReadPerMTok: prices.cacheRead / NANO_PER_TOKEN,
    cacheWrite5mPerMTok: prices.cacheWrite5m / NANO_PER_TOKEN,
    cacheWrite1hPerMTok: prices.cacheWrite1h / NANO_PER_TOKEN,
  };
}
