// A submission to the provider: its states (drawn in
// src/features/provider-batches/store/submissions.ts), how often it is polled, and what follows
// from one that was refused, or whose outcome is not known. The provider has no idempotency key, so
// the list of its batches decides then (docs/decisions/0049).

export const SUBMISSION_STATUSES = [
  'open',
  'submitting',
  'unknown',
  'submitted',
  'canceling',
  'ended',
  'read',
  'lost',
  'failed',
] as const;

export type SubmissionStatus = (typeof SUBMISSION_STATUSES)[number];

/** Between two rounds of the provider lane. */
const ROUND_MS_MAX = 1_000;
const ROUND_MS_MIN = 100;

/**
 * How long until the next poll of a batch that has not ended, in milliseconds: each is half as long
 * again, with jitter of a tenth.
 */
export function pollAgainMs(
  { polls, random }: { polls: number; random: number },
  { min, max }: { min: number; max: number },
): number {
  const plain = Math.min(max, min * 1.5 ** Math.min(polls, 50));
  return plain * (0.9 + 0.2 * random);
}

/**
 * The pause between two rounds of the provider lane, in milliseconds: a second. It is shorter where
 * the configuration lets requests wait less, or has batches polled more often; a pause of a second
 * would make these settings ineffective.
 */
export function laneRoundMs({ windowMs, pollMs }: { windowMs: number; pollMs: { min: number } }): number {
  return Math.min(ROUND_MS_MAX, Math.max(ROUND_MS_MIN, Math.min(windowMs, pollMs.min)));
}

/**
 * `split`: one of its requests is the reason, or all together are too large. `wait`: the same
 * submission is made again later. `isRejected`: the provider refuses the key or the account, so its
 * batches pause.
 */
export type RefusalVerdict = { kind: 'split' } | { kind: 'wait'; ms: number; isRejected: boolean };

/** After a refusal of the key: a person has to change something. */
const FORBIDDEN_MS = 60_000;
const RATE_LIMITED_MS = 30_000;

/** True when nothing can have been made. Of a 5xx or a broken connection, that is not known. */
export function isDefinite(status: number | null): boolean {
  return status !== null && status >= 400 && status < 500 && status !== 408 && status !== 409;
}

/** `waitMsMax`: the provider may not ask for a longer wait. */
export function decideRefusal(
  { status, retryAfterMs }: { status: number; retryAfterMs: number | null },
  waitMsMax: number,
): RefusalVerdict {
  if (status === 401 || status === 402 || status === 403) return { kind: 'wait', ms: FORBIDDEN_MS, isRejected: true };
  if (status === 404) return { kind: 'wait', ms: FORBIDDEN_MS, isRejected: false };
  if (status === 429)
    return { kind: 'wait', ms: Math.min(retryAfterMs ?? RATE_LIMITED_MS, waitMsMax), isRejected: false };
  return { kind: 'split' };
}

/**
 * A batch as the provider lists it. Times are milliseconds since the epoch by the provider's clock.
 */
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
  /**
   * Batches of the provider that are known not to be this one: those of other submissions, and
   * those that were disproved.
   */
  knownIds: ReadonlySet<string>;
}

/**
 * How far the two ends of the window lie around the submission, beyond the time that it may take.
 */
const MARGIN_MS = 60_000;

/** A list is read back so far before the submission began. */
export const LIST_BACK_MS = 5 * 60_000;

/**
 * The listed batches that may be the submission. `skewMs`: how far the provider's clock is ahead of
 * the database's.
 */
export function findCandidates(
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
 * `prove`: these have ended, so the first line of their results says whose they are. `adopt`: it is
 * taken for the submission until its end proves or disproves it. `wait`: search again later.
 * `lost`: nothing was made; the requests are submitted again.
 */
export type SearchVerdict =
  | { kind: 'prove'; ids: string[] }
  | { kind: 'adopt'; id: string; isProved: boolean }
  | { kind: 'wait' }
  | { kind: 'lost' };

/**
 * The consequence of reading the list. `absentMs`: how long no reading has shown a candidate, this
 * one included.
 */
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

/**
 * How long until the next reading, in milliseconds: 1, 2, 4 ... s, and no longer than a quarter of
 * `settleMs`.
 */
export function searchAgainMs(polls: number, { settleMs }: { settleMs: number }): number {
  return Math.min(1000 * 2 ** Math.min(polls, 20), Math.max(1, settleMs / 4));
}
