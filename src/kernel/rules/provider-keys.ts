// The keys of a provider that has several: which of them a session uses, and what a failed call
// says about its key.
import { classifyFailure, type ModelFault } from '../../core/failure.ts';

/** The name and the scope of the key of a provider that has one. */
export const DEFAULT_KEY = 'default';

/** What a provider without a key is asked with: servers that need none take any. */
export const NO_KEY = 'none';

/**
 * The keys in the order in which a session uses them: the first one that is let through. Each
 * session has an order of its own (rendezvous hashing), so sessions are spread evenly, a session
 * keeps its key, and a key that is added or removed changes the first key of its own sessions
 * alone. `hash`: any good hash of a text, as hex.
 */
export function orderKeys<Key extends { name: string }>(
  session: string,
  keys: readonly Key[],
  hash: (text: string) => string,
): Key[] {
  const weighed = keys.map((key) => ({ key, weight: hash(`${session}\n${key.name}`) }));
  return weighed.toSorted((one, other) => (one.weight < other.weight ? -1 : 1)).map(({ key }) => key);
}

/** How long a key is not used for a model after a 429 that names no time, in milliseconds. */
const RATE_MS = 30_000;
/** The shortest such time, whatever the provider says. */
const RATE_MS_MIN = 1_000;
/** How long a key without money or quota is not used at all. */
const BILLING_MS = 5 * 3_600_000;
/**
 * How long a key is not used that was refused: until it is changed, which makes it another account.
 */
const REFUSED_MS = 3650 * 86_400_000;

/**
 * What follows from a failed call for its key. `isWhole`: for all models, otherwise for the one
 * that was asked.
 */
export interface Cooling {
  isWhole: boolean;
  forMs: number;
}

const REFUSED: Cooling = { isWhole: true, forMs: REFUSED_MS };
const UNPAID: Cooling = { isWhole: true, forMs: BILLING_MS };
const WHOLE: Readonly<Record<string, Cooling>> = {
  model_billing: UNPAID,
  model_spend_limit: UNPAID,
  model_unauthorized: REFUSED,
  model_forbidden: REFUSED,
};

/** What a failed call says about its key; null: nothing. */
export function coolingOf(fault: ModelFault): Cooling | null {
  const { code } = classifyFailure(fault);
  if (code !== 'model_rate_limited') return WHOLE[code] ?? null;
  return { isWhole: false, forMs: Math.max(RATE_MS_MIN, fault.retryAfterMs ?? RATE_MS) };
}

/** True for a time that only a change of the key ends. */
export function isForGood(leftMs: number): boolean {
  return leftMs > REFUSED_MS / 2;
}
