// Counts the recent wrong API keys of each address. A right key is always accepted, so clients that
// share an address cannot lock each other out. Nothing is slowed down: keys are too long to be
// guessed at any rate. The count shows a client with a wrong key that it should stop.
import { LRUCache } from 'lru-cache';
import { Problem } from './problem.ts';

/** This many wrong keys are answered 401 immediately. */
const WRONG_KEYS_MAX = 10;
/** One wrong key is forgiven every so often, in milliseconds. */
const FORGIVEN_EVERY_MS = 6_000;
/**
 * The addresses that are remembered; the one without requests for the longest time is removed
 * first.
 */
const ADDRESSES_MAX = 10_000;

export interface Attempts {
  /**
   * Counts a wrong key. 0: it is answered immediately; otherwise the milliseconds after which the
   * address can try again.
   */
  countWrongKey(address: string): number;
}

/** Makes the counter of a process. `nowMs` is monotonic. */
export function createAttempts(nowMs: () => number = () => performance.now()): Attempts {
  const seen = new LRUCache<string, { wrong: number; atMs: number }>({ max: ADDRESSES_MAX });
  return {
    countWrongKey(address) {
      const atMs = nowMs();
      const before = seen.get(address) ?? { wrong: 0, atMs };
      const wrong = Math.max(0, before.wrong - (atMs - before.atMs) / FORGIVEN_EVERY_MS) + 1;
      seen.set(address, { wrong: Math.min(wrong, WRONG_KEYS_MAX), atMs });
      return wrong > WRONG_KEYS_MAX ? FORGIVEN_EVERY_MS : 0;
    },
  };
}

/** The answer to a request without a key. */
export function unauthorized(): Problem {
  return new Problem('unauthorized', 'Send Authorization: Bearer <key> with a key of this service.');
}

/** Counts a wrong key or code of an address, and makes the answer. */
export function wrongKey(attempts: Attempts, address: string, wrong: Problem = unauthorized()): Problem {
  const retryAfterMs = attempts.countWrongKey(address);
  if (retryAfterMs === 0) return wrong;
  return new Problem(
    'too_many_attempts',
    'Too many requests with a wrong API key came from this address. Wait, then send a valid key.',
    { retryAfterMs },
  );
}
