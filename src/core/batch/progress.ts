// How fast a batch is and when it will end, as far as the last interval says.

/** The end is expected between these, because the rate varies by this much. */
const RATE_SPREAD = 0.25;
const MS_PER_MINUTE = 60_000;

/** Epoch milliseconds. */
export interface ExpectedEnd {
  fromMs: number;
  toMs: number;
}

/** When the remaining items will have ended; null when it cannot be estimated. */
export function etaOf(left: number, ratePerMinute: number | null, nowMs: number): ExpectedEnd | null {
  if (left <= 0 || ratePerMinute === null || ratePerMinute <= 0) return null;
  const at = (rate: number): number => nowMs + (left / rate) * MS_PER_MINUTE;
  return { fromMs: at(ratePerMinute * (1 + RATE_SPREAD)), toMs: at(ratePerMinute * (1 - RATE_SPREAD)) };
}
