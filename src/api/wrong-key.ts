// The answers to requests without a key, and with a wrong one.
import type { Attempts } from './attempts.ts';
import { Problem } from './problem.ts';

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
