// What a call costs whose prompt is kept in the provider's cache.
import { callCostMicros, type PriceTier } from '../prices/call-cost.ts';
import type { PriceRow } from '../prices/price-row.ts';
import type { CacheMarkers } from './cache-markers.ts';

/** In micro-dollars. `readTokens` of the prompt are in the cache already, and the rest is written; `off`: neither. */
export function cachedCallMicros(
  price: PriceRow,
  call: { promptTokens: number; prefixTokens: number; readTokens: number; outputTokens: number },
  { tier, markers }: { tier: PriceTier; markers: CacheMarkers },
): number {
  const { promptTokens, outputTokens } = call;
  const read = markers === 'off' ? 0 : Math.min(promptTokens, Math.round(call.readTokens));
  const written = markers === 'off' ? 0 : promptTokens - read;
  const tokens = {
    inputTokens: promptTokens - read - written,
    outputTokens,
    cacheReadTokens: read,
    cacheWriteTokens: written,
    // The beginning alone is kept for an hour.
    cacheWrite1hTokens: markers === '1h' ? Math.max(0, Math.min(call.prefixTokens, promptTokens) - read) : 0,
  };
  return callCostMicros(price, tokens, tier);
}
