// Which turns ask their model in batches of the provider, and until when they wait for one. A turn goes the way that its first input asks
// for: messages that join it later change nothing.
import { CACHE_MARKERS, type CacheMarkers } from './cache-markers.ts';
import type { Way } from '../features/provider-batches/rules/choose-way.ts';
import { quantile } from '../features/overview/rules/quantile.ts';

interface Input {
  body: unknown;
  /** Milliseconds since the epoch. */
  receivedAt: number;
}

/** The shortest time before its deadline at which a turn leaves the provider lane, in milliseconds: live calls can still finish it. */
const LEAVE_MS_MIN = 15 * 60_000;
/** The longest: the default deadline of 26 hours then leaves the provider its day. */
const LEAVE_MS_MAX = 2 * 3_600_000;

/** The durations of fewer submissions say too little. */
const TOOK_MIN = 20;

/** How the model of a turn is asked. A message with `auto` goes through the provider: only items of a batch have others to be compared with. */
export function readVia(inputs: readonly Pick<Input, 'body'>[]): Way {
  const { via } = (inputs[0]?.body ?? {}) as { via?: unknown };
  return via === 'provider-batch' || via === 'auto' ? 'provider-batch' : 'live';
}

/**
 * How long before its deadline a turn leaves the provider lane, in milliseconds: the 95th percentile of how long recent submissions took
 * (`tookMs`, in milliseconds). With less time left, the provider probably does not answer.
 */
export function leaveMsBeforeDeadline(tookMs: readonly number[]): number {
  const usualMs = tookMs.length < TOOK_MIN ? 0 : (quantile(tookMs, 0.95) ?? 0);
  return Math.min(LEAVE_MS_MAX, Math.max(LEAVE_MS_MIN, usualMs));
}

/**
 * When a turn leaves the provider lane, in milliseconds since the epoch: `leaveMs` before its deadline. Of a short deadline, half is left for
 * live calls; a turn that then fails leaves at its deadline, because an answer until then is still used.
 */
export function leaveAtMs(
  inputs: readonly Input[],
  { deadlineSeconds, leaveMs }: { deadlineSeconds: number; leaveMs: number },
): number {
  const [first] = inputs;
  const receivedAt = first?.receivedAt ?? 0;
  const { expiresAt } = (first?.body ?? {}) as { expiresAt?: unknown };
  const untilExpiryMs = typeof expiresAt === 'number' ? expiresAt - receivedAt : Number.POSITIVE_INFINITY;
  const deadlineMs = Math.max(0, Math.min(deadlineSeconds * 1000, untilExpiryMs));
  const liveMs = readBatchSettings(inputs).fallback === 'fail' ? 0 : Math.min(leaveMs, deadlineMs / 2);
  return receivedAt + deadlineMs - liveMs;
}

/** The batch's settings for the requests of its item; a single message has no batch, and is asked live near its deadline. */
export function readBatchSettings(inputs: readonly Pick<Input, 'body'>[]): {
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
