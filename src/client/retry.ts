// When a request is sent again, and after how long.
import type { HoldfastError } from './holdfast-error.ts';

/** A longer wait is left to the caller. */
const RETRY_AFTER_MS_MAX = 30_000;
const FIRST_MS = 250;
const MS_MAX = 5_000;

/** Answers of a service, or of a proxy before it, that does not work now. */
const AWAY = [502, 503, 504];

/**
 * How long to wait before the next attempt; null: the error is final. Only call it for requests
 * that may be repeated: a GET, or a POST with its idempotency key. `attempt` counts from 1,
 * `random` is from 0 to 1.
 */
export function retryDelayMs(error: HoldfastError, attempt: number, random: number): number | null {
  const { status, code, retryAfterMs } = error;
  const isAway = code === 'connection_failed' || (status !== null && AWAY.includes(status));
  const isLimited = status === 429 && retryAfterMs !== null;
  if (!isAway && !isLimited) return null;
  if ((retryAfterMs ?? 0) > RETRY_AFTER_MS_MAX) return null;
  // Full jitter: clients that failed together do not return together.
  return (retryAfterMs ?? 0) + random * Math.min(MS_MAX, FIRST_MS * 2 ** attempt);
}

const FIRST_RECONNECT_MS = 1_000;
const RECONNECT_MS_MAX = 30_000;

/** 1, 2, 4 ... 30 s, less up to half of it. `attempt` counts from 1, `random` is from 0 to 1. */
export function reconnectDelayMs(attempt: number, random: number): number {
  return Math.min(RECONNECT_MS_MAX, FIRST_RECONNECT_MS * 2 ** (attempt - 1)) * (1 - random / 2);
}

/** Resolves after the time. Rejects with the reason of the signal when that aborts. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', leave);
      resolve();
    }, ms);
    if (signal?.aborted === true) leave();
    else signal?.addEventListener('abort', leave, { once: true });
  });
}
