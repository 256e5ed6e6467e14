// A model that is not to be called for a time, because its provider has asked to wait (Retry-After). Pure.
import type { ModelFault } from '../failure.ts';

/** The answers by which a provider holds back a model for all callers: too many calls (429), or overloaded (529). */
const BLOCKING_STATUSES: ReadonlySet<number> = new Set([429, 529]);

/** After a block its calls resume within this many milliseconds, spread evenly. */
const RESUME_MS = 1_000;

/** How long no worker should call the model after such a fault, in milliseconds; null: the fault does not hold back other calls. */
export function blockMsOf({ status, retryAfterMs }: Pick<ModelFault, 'status' | 'retryAfterMs'>): number | null {
  if (status === null || !BLOCKING_STATUSES.has(status) || retryAfterMs === null || retryAfterMs <= 0) return null;
  return Math.ceil(retryAfterMs);
}

/** How long a call waits for the end of a block and its own place after it, in milliseconds; `random` is in [0, 1). */
export function waitForBlockMs(blockMs: number, random: number): number {
  return Math.ceil(blockMs + random * RESUME_MS);
}
