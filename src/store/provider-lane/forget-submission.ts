// Gives up a submission on an operator's request: it is no longer polled, and its requests are queued again. Its cost, if any, is unknown.
import type { SubmissionStatus } from '../../core/provider-batch/submission-status.ts';
import type { Database } from '../database.ts';
import { keyedPart, keyValues, type KeyedRequest } from '../idempotency.ts';
import { sendQuery } from '../send-query.ts';
import { literal } from '../statement.ts';

const FORGOTTEN = 'A person gave it up.';

// A submission that is being sent is left: its process does not know its id yet.
export const FORGET_SUBMISSION = literal({
  name: 'forget-submission',
  purpose: 'Stop to follow a submission, and queue its requests again. Answers its state before.',
  locking: 'The submission, then its requests.',
  text: `with found as materialized (
  select b.id, b.status from holdfast.provider_batches b where b.id = $1 for no key update
),
held as materialized (select id from found where status not in ('open', 'submitting', 'read')),
forgotten as (
  update holdfast.provider_batches b
  set status = 'failed', error = json_build_object('message', '${FORGOTTEN}'), ended_at = coalesce(b.ended_at, clock_timestamp()),
    owner = null, lease_expires_at = null, due_at = clock_timestamp()
  from held where b.id = held.id and b.status <> 'failed'
  returning b.id
),
returned as (
  update holdfast.provider_requests r
  set status = 'queued', provider_batch_id = null, request_no = null, assigned_at = null, returns = r.returns + 1
  from forgotten where r.provider_batch_id = forgotten.id and r.status = 'assigned'
),
${keyedPart(2, `select json_build_object('id', id) from held`)}
select found.status, exists (select from held) as "isAllowed" from found`,
});

/** `done`: also when it was given up before. `refused`: its state does not allow it. */
export type Forgetting = { kind: 'done' } | { kind: 'unknown' } | { kind: 'refused'; status: SubmissionStatus };

/** Gives it up. Rejects with a violated primary key when another request has stored the key. */
export async function forgetSubmission(
  database: Database,
  { id, idempotency }: { id: string; idempotency: KeyedRequest | null },
): Promise<Forgetting> {
  const query = FORGET_SUBMISSION.prepared([id, ...keyValues(idempotency)]);
  const [row] = await sendQuery<{ status: SubmissionStatus; isAllowed: boolean }>(database.views, query);
  if (row === undefined) return { kind: 'unknown' };
  return row.isAllowed ? { kind: 'done' } : { kind: 'refused', status: row.status };
}
