// Counts the recent wrong API keys of each address. A right key is always accepted, so clients that
// share an address cannot lock each other out. Nothing is slowed down: keys are too long to be
// guessed at any rate. The count shows a client with a wrong key that it should stop.
import { LRUCache } from 'lru-cache';
import { type Bucket, type Rate, takeOne } from '../core/token-bucket.ts';
import { Problem } from './problem.ts';

/** The wrong keys that are answered 401; the next one is, when one is forgiven. */
const WRONG_KEYS: Rate = { size: 10, refillMs: 6_000 };
/**
 * The buckets that are remembered; the one without requests for the longest time is removed first.
 */
const BUCKETS_MAX = 10_000;

/**
 * Takes one from the bucket of this name. Returns the milliseconds after which there is one; 0:
 * there was.
 */
export type TakeOne = (name: string, rate: Rate) => number;

/** Makes the buckets of a process. `nowMs` is monotonic. */
export function createBuckets(nowMs: () => number = () => performance.now()): TakeOne {
  const buckets = new LRUCache<string, Bucket>({ max: BUCKETS_MAX });
  return (name, rate) => {
    const { bucket, waitMs } = takeOne(buckets.get(name), rate, nowMs());
    buckets.set(name, bucket);
    return waitMs;
  };
}

/** The answer to a request without a key. */
export function unauthorized(): Problem {
  return new Problem('unauthorized', 'Send Authorization: Bearer <key> with a key of this service.');
}

/**
 * The answer to a token that is not valid. It does not count as a wrong key: a signature cannot be
 * guessed, and one address may have many pages whose tokens expire.
 */
export function invalidToken(): Problem {
  return new Problem(
    'unauthorized',
    'The token is not valid: it has expired, or its key was revoked. Get another one from the server that makes them.',
  );
}

/** Counts a wrong key or code of an address, and makes the answer. */
export function wrongKey(attempts: TakeOne, address: string, wrong: Problem = unauthorized()): Problem {
  const retryAfterMs = attempts(address, WRONG_KEYS);
  if (retryAfterMs === 0) return wrong;
  return new Problem(
    'too_many_attempts',
    'Too many requests with a wrong API key came from this address. Wait, then send a valid key.',
    { retryAfterMs },
  );
}
