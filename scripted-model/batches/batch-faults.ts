// What goes wrong with message batches, as tests set it (`PUT /batches/faults`, or
// `ScriptedModel.batches.setFaults`). Counts go down as they are used.
import { invalidRequest } from '../provider-error.ts';
import { isRecord } from '../wire.ts';

export interface BatchFaults {
  /** This many creations make their batch, and the connection breaks before the answer ends. */
  cutAnswers: number;
  /** After this many bytes of the answer. */
  cutAfterBytes: number;
  /** This many creations are refused with `refuseStatus`, and create no batch. */
  refusals: number;
  refuseStatus: number;
  /** Seconds in the `retry-after` header of a refusal; null: none. */
  retryAfter: number | null;
  /** Batches are listed only when they are so old, in milliseconds. */
  listingLagMs: number;
  /**
   * With each batch, another program creates this many with as many requests in the same minute.
   */
  foreignBatches: number;
  /** This many readings of results break in the middle. */
  brokenResults: number;
  /** This many batches end without a line for their last request. */
  missingResults: number;
  /** True: results are deleted, as they are after 29 days. */
  areResultsGone: boolean;
  /** How far the server's clock is ahead, in milliseconds. */
  clockAheadMs: number;
}

export const NO_FAULTS: BatchFaults = {
  cutAnswers: 0,
  cutAfterBytes: 0,
  refusals: 0,
  refuseStatus: 429,
  retryAfter: null,
  listingLagMs: 0,
  foreignBatches: 0,
  brokenResults: 0,
  missingResults: 0,
  areResultsGone: false,
  clockAheadMs: 0,
};

/**
 * The faults that a body requests; faults that it does not name are off. Throws `ProviderError`.
 */
export function readFaults(body: unknown): BatchFaults {
  if (!isRecord(body)) throw invalidRequest('The faults are not an object.');
  const known: Record<string, unknown> = { ...NO_FAULTS };
  for (const [name, value] of Object.entries(body)) {
    const isRight =
      name === 'areResultsGone'
        ? typeof value === 'boolean'
        : typeof value === 'number' || (name === 'retryAfter' && value === null);
    if (!(name in known) || !isRight)
      throw invalidRequest(`${name}: expected one of ${Object.keys(known).join(', ')} with a number.`);
    known[name] = value;
  }
  // Each name and type was just checked.
  return known as unknown as BatchFaults;
}
