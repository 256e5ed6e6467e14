// The cache markers in the requests of a batch.
import type { ModelRequest } from '../model-request.ts';

/** The setting of a batch; `auto`: for five minutes, or not at all where the batch has chosen that. */
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

/** A request with other markers. `1h`: its system prompt is kept for an hour, and the messages for five minutes. */
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
