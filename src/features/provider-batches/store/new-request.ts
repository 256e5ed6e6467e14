// A model call as the park of its turn stores it.
import type { CacheMarkers } from '../../../core/cache-markers.ts';

/** A model call that goes through a batch of the provider. */
export interface NewProviderRequest {
  callNo: number;
  /** The model as the provider names it. */
  model: string;
  batchId: string | null;
  /** The round of its turn, counted from 1. */
  hop: number;
  /** Why it goes through a batch, for people. */
  reason: string;
  /** How its prompt is kept in the provider's cache. */
  cache: CacheMarkers;
  /** The part of its prompt that a live call would have found in the cache. */
  liveShare: number;
  /** The body of the call, compressed. */
  params: Buffer;
  paramsBytes: number;
  paramsSha256: string;
  /** Until then it may wait. */
  leaveAt: Date;
  /** What happens to it afterwards. */
  fallback: 'live' | 'fail';
}
