// How long to wait before trying again something that may pass.

const BASE_MS = 5_000;
const CAP_MS = 6 * 60 * 60 * 1000;
/**
 * A receiver delays an attempt by no more than this: later deliveries of its session wait, too, and
 * may expire meanwhile.
 */
const RETRY_AFTER_MS_MAX = 60 * 60 * 1000;

/**
 * The wait before the next attempt of a delivery, in milliseconds: 5 s, growing fivefold up to 6 h,
 * shortened by up to a fifth (`random` in [0, 1)) so that deliveries that failed together are not
 * retried together; never below the time that the receiver requested, up to an hour.
 */
export function deliveryDelayMs(wait: { attempts: number; random: number; retryAfterMs: number | null }): number {
  const grown = Math.min(CAP_MS, BASE_MS * 5 ** Math.min(Math.max(0, wait.attempts - 1), 10));
  return Math.max(Math.min(wait.retryAfterMs ?? 0, RETRY_AFTER_MS_MAX), Math.round(grown * (1 - 0.2 * wait.random)));
}
