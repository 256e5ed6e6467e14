// When a turn leaves the provider lane.
import { readBatchSettings } from '../../../core/inbound.ts';

interface Input {
  body: unknown;
  /** Milliseconds since the epoch. */
  receivedAt: number;
}

/**
 * The shortest time before its deadline at which a turn leaves the provider lane, in milliseconds:
 * live calls can still finish it.
 */
const LEAVE_MS_MIN = 15 * 60_000;
/** The longest: the default deadline of 26 hours then leaves the provider its day. */
const LEAVE_MS_MAX = 2 * 3_600_000;

/** The durations of fewer submissions say too little. */
const TOOK_MIN = 20;

/**
 * How long before its deadline a turn leaves the provider lane, in milliseconds: the 95th
 * percentile of how long recent submissions took (`tookMs`, in milliseconds). With less time left,
 * the provider probably does not answer.
 */
export function leaveMsBeforeDeadline(tookMs: readonly number[]): number {
  const usualMs = tookMs.length < TOOK_MIN ? 0 : (quantile(tookMs, 0.95) ?? 0);
  return Math.min(LEAVE_MS_MAX, Math.max(LEAVE_MS_MIN, usualMs));
}

/**
 * When a turn leaves the provider lane, in milliseconds since the epoch: `leaveMs` before its
 * deadline. Of a short deadline, half is left for live calls; a turn that then fails leaves at its
 * deadline, because an answer until then is still used.
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

/**
 * The smallest value that at least this share (over 0, at most 1) of the values does not exceed;
 * undefined: there are none.
 */
function quantile(values: readonly number[], share: number): number | undefined {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1];
}
