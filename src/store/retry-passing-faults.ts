// Tries a statement again that failed for a passing reason: a restart, a broken connection, a deadlock. Only for statements that are
// idempotent, because the one that failed may have been committed.
import { setTimeout as delay } from 'node:timers/promises';
import { isPassingFault } from './database.ts';

/** How long the statements of a turn are retried, in milliseconds; then the turn gets the error. */
export const TURN_RETRY_MS = 10_000;

const RETRY_DELAY_MS = 50;
const RETRY_DELAY_MS_MAX = 500;

export interface RetryOptions {
  /** How long passing faults are tried again, in milliseconds. */
  retryMs: number;
}

/** What `run` resolves with; rejects with its error when that will not pass, or has not passed in time. */
export async function retryPassingFaults<Result>(run: () => Promise<Result>, options: RetryOptions): Promise<Result> {
  const startedAt = performance.now();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      if (!isPassingFault(error) || performance.now() - startedAt > options.retryMs) throw error;
      await delay(Math.min(RETRY_DELAY_MS * attempt, RETRY_DELAY_MS_MAX));
    }
  }
}
