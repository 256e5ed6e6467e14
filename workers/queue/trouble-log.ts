// Says once that the queue is in trouble, not a hundred times a second: connections are retried by several parts at once, and
// each of them reports.
import type { Logger } from '../../src/logger.ts';

const INTERVAL_MS = 5_000;

/**
 * Makes the function that logs errors of one queue backend. An error that comes a moment after another is not logged; how many
 * were not is said with the next.
 */
export function createTroubleLog(logger: Pick<Logger, 'warn'>): (error: Error) => void {
  let loggedAtMs = Number.NEGATIVE_INFINITY;
  let unlogged = 0;
  return (error) => {
    const nowMs = performance.now();
    if (nowMs - loggedAtMs < INTERVAL_MS) {
      unlogged += 1;
      return;
    }
    logger.warn({ err: error, unlogged }, 'the queue is in trouble; it is tried again');
    loggedAtMs = nowMs;
    unlogged = 0;
  };
}
