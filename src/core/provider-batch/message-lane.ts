// Which turns ask their model in batches of the provider, and until when they wait for one. A turn goes the way that its first input asks
// for: messages that join it later change nothing.
import { CACHE_SETTINGS, type CacheSetting } from './cache-markers.ts';
import { MESSAGE_LANES, type MessageLane } from '../inbound.ts';

interface Input {
  body: unknown;
  /** Milliseconds since the epoch. */
  receivedAt: number;
}

/** A turn leaves the lane so long before its deadline, so that live calls can still finish it, in milliseconds. */
const LIVE_MS_BEFORE_DEADLINE = 15 * 60_000;

/** How the model of a turn is asked. */
export function laneOf(inputs: readonly Pick<Input, 'body'>[]): MessageLane {
  const { via } = (inputs[0]?.body ?? {}) as { via?: unknown };
  return MESSAGE_LANES.find((lane) => lane === via) ?? 'live';
}

/**
 * When a turn leaves the lane, in milliseconds since the epoch. Of a short deadline, half is left for live calls; a turn that then fails leaves
 * at its deadline, because an answer until then is still used.
 */
export function leaveAtMs(inputs: readonly Input[], { deadlineSeconds }: { deadlineSeconds: number }): number {
  const [first] = inputs;
  const receivedAt = first?.receivedAt ?? 0;
  const { expiresAt } = (first?.body ?? {}) as { expiresAt?: unknown };
  const untilExpiryMs = typeof expiresAt === 'number' ? expiresAt - receivedAt : Number.POSITIVE_INFINITY;
  const deadlineMs = Math.max(0, Math.min(deadlineSeconds * 1000, untilExpiryMs));
  const liveMs = itemLaneOf(inputs).fallback === 'fail' ? 0 : Math.min(LIVE_MS_BEFORE_DEADLINE, deadlineMs / 2);
  return receivedAt + deadlineMs - liveMs;
}

/** The batch's settings for the requests of its item; a single message has no batch, and is asked live near its deadline. */
export function itemLaneOf(inputs: readonly Pick<Input, 'body'>[]): {
  batchId: string | null;
  fallback: 'live' | 'fail';
  cache: CacheSetting;
  /** Its way is not the cheaper one, but measures the cache for the others. */
  isProbe: boolean;
} {
  const { batchId, fallback, cache, isProbe } = (inputs[0]?.body ?? {}) as Record<string, unknown>;
  return {
    batchId: typeof batchId === 'string' ? batchId : null,
    fallback: fallback === 'fail' ? 'fail' : 'live',
    cache: CACHE_SETTINGS.find((setting) => setting === cache) ?? 'auto',
    isProbe: isProbe === true,
  };
}
