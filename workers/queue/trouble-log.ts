// Says once that the queue is in trouble, not a hundred times a second: connections are retried by several parts at once, and
// each of them reports.
import type { Logger } from '../../src/logger.ts';

const INTERVAL_MS = 5_000;

export interface TroubleLog {
  /** Logs the error, unless one was logged a moment ago; how many were not is said with the next. */
  report(error: Error): void;
}

/** Makes the log of one queue backend. */
export function createTroubleLog(logger: Pick<Logger, 'warn'>): TroubleLog {
  let reportedAtMs = Number.NEGATIVE_INFINITY;
  let unreported = 0;
  return {
    report(error) {
      const nowMs = performance.now();
      if (nowMs - reportedAtMs < INTERVAL_MS) {
        unreported += 1;
        return;
      }
      logger.warn({ err: error, unreported }, 'the queue is in trouble; it is tried again');
      reportedAtMs = nowMs;
      unreported = 0;
    },
  };
}
