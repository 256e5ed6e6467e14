// Which turns ask their model in batches of the provider; and the settings of the batch of an item. A turn goes the way that its first input asks
// for: messages that join it later change nothing.
import { CACHE_MARKERS, type CacheMarkers } from './cache-markers.ts';

interface Input {
  body: unknown;
}

export type Way = 'live' | 'provider-batch';

/** How the model of a turn is asked. A message with `auto` goes through the provider: only items of a batch have others to be compared with. */
export function readVia(inputs: readonly Input[]): Way {
  const { via } = (inputs[0]?.body ?? {}) as { via?: unknown };
  return via === 'provider-batch' || via === 'auto' ? 'provider-batch' : 'live';
}

/** The batch's settings for the requests of its item; a single message has no batch, and is asked live near its deadline. */
export function readBatchSettings(inputs: readonly Input[]): {
  batchId: string | null;
  fallback: 'live' | 'fail';
  cache: CacheMarkers;
  /** Why its batch has chosen its way; null: there was no choice. */
  viaReason: string | null;
} {
  const { batchId, fallback, cache, viaReason } = (inputs[0]?.body ?? {}) as Record<string, unknown>;
  return {
    batchId: typeof batchId === 'string' ? batchId : null,
    fallback: fallback === 'fail' ? 'fail' : 'live',
    cache: CACHE_MARKERS.find((markers) => markers === cache) ?? '5m',
    viaReason: typeof viaReason === 'string' ? viaReason : null,
  };
}
