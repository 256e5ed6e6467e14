// The cache markers in the requests of a batch, and what a call costs whose prompt is kept in the
// provider's cache.
import type { ModelRequest } from './model-request.ts';
import { callCostMicros, type PriceTier } from './prices.ts';
import type { PriceRow } from './price-row.ts';

/**
 * The setting of a batch; `auto`: for five minutes, or not at all where the batch has chosen that.
 */
export type CacheSetting = 'auto' | CacheMarkers;

/** How prompts are kept: for an hour, for five minutes, or not at all. */
export const CACHE_MARKERS = ['1h', '5m', 'off'] as const;

export type CacheMarkers = (typeof CACHE_MARKERS)[number];

/** The minimum tokens of a cached prompt for these models; a marker below that has no effect. */
const TOKENS_MIN = 1_024;
const TOKENS_MIN_LARGE = 4_096;
const LARGE_MODELS = /haiku|opus-4-[5-9]/;

/** The least tokens of a prompt that the provider keeps in its cache. */
export function cacheTokensMinOf(model: string): number {
  return LARGE_MODELS.test(model) ? TOKENS_MIN_LARGE : TOKENS_MIN;
}

/**
 * A request with other markers. `1h`: its system prompt is kept for an hour, and the messages for
 * five minutes.
 */
export function withMarkers<Request extends Pick<ModelRequest, 'system'>>(
  request: Request,
  markers: CacheMarkers,
): Request & { isOneOff?: true } {
  if (markers === '5m') return request;
  const system = request.system.map(({ cache_control: marker, ...block }) =>
    marker === undefined || markers === 'off' ? block : { ...block, cache_control: { ...marker, ttl: '1h' as const } },
  );
  return { ...request, system, ...(markers === 'off' ? { isOneOff: true as const } : {}) };
}

/**
 * In micro-dollars. `readTokens` of the prompt are in the cache already, and the rest is written;
 * `off`: neither.
 */
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
