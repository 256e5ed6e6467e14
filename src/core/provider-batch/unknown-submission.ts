// What follows from a submission whose outcome is not known: the provider has no idempotency key, so the list of its batches decides. The
// rules are in docs/decisions/0049.

/** A batch as the provider lists it. Times are milliseconds since the epoch by the provider's clock. */
export interface ListedBatch {
  id: string;
  createdAtMs: number;
  /** The number of its requests, in any state. */
  requestCount: number;
  hasEnded: boolean;
}

export interface UnknownSubmission {
  requestCount: number;
  /** By the database's clock. */
  startedAtMs: number;
  /** Batches of the provider that are known not to be this one: those of other submissions, and those that were disproved. */
  knownIds: ReadonlySet<string>;
}

/** How far the two ends of the window lie around the submission, beyond the time that it may take. */
const MARGIN_MS = 60_000;

/** A list is read back so far before the submission began. */
export const LIST_BACK_MS = 5 * 60_000;

/** The listed batches that may be the submission. `skewMs`: how far the provider's clock is ahead of the database's. */
export function candidatesOf(
  submission: UnknownSubmission,
  listed: readonly ListedBatch[],
  { skewMs, timeoutMs }: { skewMs: number; timeoutMs: number },
): ListedBatch[] {
  const startedAtMs = submission.startedAtMs + skewMs;
  return listed.filter(
    ({ id, createdAtMs, requestCount }) =>
      createdAtMs >= startedAtMs - MARGIN_MS &&
      createdAtMs <= startedAtMs + timeoutMs + MARGIN_MS &&
      requestCount === submission.requestCount &&
      !submission.knownIds.has(id),
  );
}

/**
 * `prove`: these have ended, so the first line of their results says whose they are. `adopt`: it is taken for the submission until its end
 * proves or disproves it. `wait`: search again later. `lost`: nothing was made; the requests are submitted again.
 */
export type SearchVerdict =
  | { kind: 'prove'; ids: string[] }
  | { kind: 'adopt'; id: string; isProved: boolean }
  | { kind: 'wait' }
  | { kind: 'lost' };

/** The consequence of reading the list. `absentMs`: how long no reading has shown a candidate, this one included. */
export function decideSearch(
  candidates: readonly ListedBatch[],
  { absentMs, settleMs, isExclusive }: { absentMs: number; settleMs: number; isExclusive: boolean },
): SearchVerdict {
  const [only, ...others] = candidates;
  if (only === undefined) return absentMs >= settleMs ? { kind: 'lost' } : { kind: 'wait' };
  if (others.length === 0 && isExclusive) return { kind: 'adopt', id: only.id, isProved: true };
  const ended = candidates.filter(({ hasEnded }) => hasEnded);
  if (ended.length > 0) return { kind: 'prove', ids: ended.map(({ id }) => id) };
  return others.length === 0 ? { kind: 'adopt', id: only.id, isProved: false } : { kind: 'wait' };
}

/** How long until the next reading, in milliseconds: 1, 2, 4 ... s, and no longer than a quarter of `settleMs`. */
export function searchAgainMs(looks: number, { settleMs }: { settleMs: number }): number {
  return Math.min(1000 * 2 ** Math.min(looks, 20), Math.max(1, settleMs / 4));
}
