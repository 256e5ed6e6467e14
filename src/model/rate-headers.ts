// Reads what a provider says is left of its rate limits, from the headers of its answer.
import type { Amounts, RateUnit } from '../core/governor/rate-limit.ts';

const HEADERS: readonly (readonly [RateUnit, string])[] = [
  ['requests', 'anthropic-ratelimit-requests-remaining'],
  ['inputTokens', 'anthropic-ratelimit-input-tokens-remaining'],
  ['outputTokens', 'anthropic-ratelimit-output-tokens-remaining'],
];

/** What is left of each limit that the headers name. What is not a whole number is left out. */
export function remainingOf(headers: { get(name: string): string | null }): Amounts {
  return Object.fromEntries(
    HEADERS.flatMap(([unit, name]) => {
      const text = headers.get(name);
      return text !== null && /^\d{1,15}$/.test(text) ? [[unit, Number(text)]] : [];
    }),
  );
}
