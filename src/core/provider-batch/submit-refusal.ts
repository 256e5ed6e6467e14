// The consequences of a submission that the provider refused. A refusal is definite: no batch was created.

/**
 * `split`: one of its requests is the reason, or all together are too large. `wait`: the same submission is made again later. `isRejected`: the
 * provider refuses the key or the account, so its batches pause.
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
