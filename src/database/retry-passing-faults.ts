// Tries a statement again that failed for a passing reason: a restart, a broken connection, a deadlock. Only for statements that are
// idempotent, because the one that failed may have been committed.
import { setTimeout as delay } from 'node:timers/promises';
import { isPassingFault } from './database.ts';

// How long a statement is sent again, in milliseconds; then its caller gets the error. These are the only budgets: a statement takes the
// one that says who would have to repeat it.

/** The statements of a turn, of its tools and of commands: the next worker would have to begin again. */
export const TURN_RETRY_MS = 10_000;

/**
 * Reads, requests, and the rounds of schedulers, which their callers repeat themselves. Half the deadline of a request, so that a client
 * still receives the fault.
 */
export const REQUEST_RETRY_MS = 5_000;

/**
 * What no caller repeats: the end of a command that only its worker knows, the wake-up of the turns that wait for a provider, and the traces
 * of a turn.
 */
export const LASTING_RETRY_MS = 60_000;

const RETRY_DELAY_MS = 50;
const RETRY_DELAY_MS_MAX = 500;

/** What `run` resolves with; rejects with its error when that will not pass, or has not passed in time. */
export async function retryPassingFaults<Result>(run: () => Promise<Result>, retryMs: number): Promise<Result> {
  const startedAt = performance.now();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      if (!isPassingFault(error) || performance.now() - startedAt > retryMs) throw error;
      await delay(Math.min(RETRY_DELAY_MS * attempt, RETRY_DELAY_MS_MAX));
    }
  }
}
