// Reads from the headers of an answer what is left of the provider's rate limits.
import type { Amounts, RateUnit } from '../core/rate-limit.ts';

const HEADERS: readonly (readonly [RateUnit, string])[] = [
  ['requests', 'anthropic-ratelimit-requests-remaining'],
  ['inputTokens', 'anthropic-ratelimit-input-tokens-remaining'],
  ['outputTokens', 'anthropic-ratelimit-output-tokens-remaining'],
];

/** What is left of each limit that the headers name. Values that are not whole numbers are ignored. */
export function readRemaining(headers: { get(name: string): string | null }): Amounts {
  return Object.fromEntries(
    HEADERS.flatMap(([unit, name]) => {
      const text = headers.get(name);
      return text !== null && /^\d{1,15}$/.test(text) ? [[unit, Number(text)]] : [];
    }),
  );
}
