// Tries a statement again that failed for a passing reason: a restart, a broken connection, a deadlock. Only for statements that are
// idempotent, because the one that failed may have been committed.
import { setTimeout as delay } from 'node:timers/promises';
import { isPassingFault } from './database.ts';

const RETRY_DELAY_MS = 50;
const RETRY_DELAY_MS_MAX = 500;

export interface RetryOptions {
  /** How long passing faults are tried again, in milliseconds. */
  retryMs: number;
  /** Called before each retry. */
  onRetry?: ((error: Error) => void) | undefined;
}

/** What `run` resolves with; rejects with its error when that will not pass, or has not passed in time. */
export async function retryPassingFaults<Result>(run: () => Promise<Result>, options: RetryOptions): Promise<Result> {
  const startedAt = performance.now();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      if (!isPassingFault(error) || performance.now() - startedAt > options.retryMs) throw error;
      options.onRetry?.(error as Error);
      await delay(Math.min(RETRY_DELAY_MS * attempt, RETRY_DELAY_MS_MAX));
    }
  }
}
