// What happens to a submission after its outcome is known, or is given up: it is polled, read,
// ended, and its requests go back.
import type { SubmissionStatus } from '../rules/submission.ts';
import { insertServiceEventsSql } from '../../../kernel/events/events.ts';
import { keyedSql, type KeyedRequest } from '../../../database/idempotency.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { LASTING_RETRY_MS } from '../../../database/passing-faults.ts';

/**
 * SQL of the part of the prompt tokens that was read from the provider's cache, weighted by tokens,
 * because calls differ in length; null without tokens.
 */
export const HIT_RATE_SQL = `cache_read_tokens::float8 / nullif(input_tokens + cache_read_tokens + cache_write_tokens, 0)`;

interface Held {
  id: string;
  owner: string;
}

/** What a poll has shown. */
export interface PollNote {
  /** Absent: as before. */
  status?: 'submitted' | 'canceling' | 'ended';
  dueInMs: number;
  counts?: Record<string, number>;
  expiresAt?: string | null;
  isProved?: boolean;
  /**
   * True when the provider has not shown it: no candidate in the list, or 404 when it is polled.
   */
  isAbsent?: boolean;
  disprovedIds?: readonly string[];
  error?: string;
}

export const notePoll = literalQuery({
  name: 'note-look',
  purpose: 'Note what a poll of a submission has shown, and when the next one is due.',
  locking: 'The submission.',
  text: `update holdfast.provider_batches b set status = coalesce($status, b.status), looks = b.looks + 1, due_at = clock_timestamp() + $dueInMs * interval '1 millisecond',
  counts = coalesce($counts::json, b.counts), expires_at = coalesce($expiresAt::timestamptz, b.expires_at), is_proved = b.is_proved or coalesce($isProved::boolean, false),
  ended_at = case when $status = 'ended' then coalesce(b.ended_at, clock_timestamp()) else b.ended_at end,
  absent_since = case when $isAbsent::boolean then coalesce(b.absent_since, clock_timestamp()) end, disproved_ids = b.disproved_ids || coalesce($disprovedIds::text[], '{}'),
  error = case when $error::text is null then b.error else json_build_object('message', $error::text) end, owner = null, lease_expires_at = null
where b.id = $id and b.owner = $owner`,
  retryMs: LASTING_RETRY_MS,
  values: (held: Held, note: PollNote) => ({ ...held, ...note }),
});

export const readKnownBatches = literalQuery({
  name: 'known-batches',
  purpose: 'Which batches of the provider are known not to be this submission.',
  text: `select b.provider_id as id from holdfast.provider_batches b where b.provider_id = any ($2::text[]) and b.id <> $1
union select unnest(b.disproved_ids) from holdfast.provider_batches b where b.id = $1`,
  retryMs: LASTING_RETRY_MS,
  values: (id: string, listed: readonly string[]) => [id, listed],
  answer: (rows: { id: string }[]) => new Set(rows.map((row) => row.id)),
});

/**
 * Ends a submission without answers. `failed`: it was refused; `lost`: it was not made; `read`: its
 * results were deleted.
 */
export const returnRequests = literalQuery({
  name: 'return-requests',
  purpose:
    'Queue the requests that still wait for a submission again, and end it. With a split, each half is submitted alone.',
  locking: 'The submission, then its requests.',
  text: `with ended as (
  update holdfast.provider_batches b set status = $status, error = json_build_object('message', $message::text), ended_at = coalesce(b.ended_at, clock_timestamp()),
    read_at = case when $status = 'read' then clock_timestamp() end, owner = null, lease_expires_at = null,
    due_at = clock_timestamp() + coalesce($blockedMs, 0) * interval '1 millisecond'
  where b.id = $id and b.owner = $owner and b.status not in ('read', 'lost', 'failed')
  returning b.id, b.request_count
)
update holdfast.provider_requests r
set status = 'queued', provider_batch_id = null, request_no = null, assigned_at = null, returns = r.returns + 1,
  split = case when $isSplit::boolean then ended.id || case when r.request_no < ended.request_count / 2 then 'a' else 'b' end end
from ended where r.provider_batch_id = ended.id and r.status = 'assigned'
returning r.turn_id`,
  retryMs: LASTING_RETRY_MS,
  values: (
    held: Held,
    end: { status: 'failed' | 'lost' | 'read'; message: string; isSplit?: boolean; blockedMs?: number },
  ) => ({ ...held, ...end }),
  answer: (rows) => rows.length,
});

/** Ends a reading; resolves with the requests that have no result. */
export const endReading = literalQuery({
  name: 'end-reading',
  purpose: 'Note that the results of a submission were read to their end. Answers which requests still have no result.',
  locking: 'The submission, then its rounds of batches in order.',
  text: `with waiting as materialized (
  select r.request_no from holdfast.provider_requests r where r.provider_batch_id = $id and r.status = 'assigned'
),
ended as (
  update holdfast.provider_batches b
  set status = case when exists (select from waiting) then b.status else 'read' end, incomplete_reads = b.incomplete_reads + exists (select from waiting)::int,
    read_at = case when exists (select from waiting) then b.read_at else clock_timestamp() end, wasted = $wasted::json,
    wasted_micros = $wastedMicros::bigint, due_at = clock_timestamp() + $againInMs * interval '1 millisecond', owner = null, lease_expires_at = null
  where b.id = $id and b.owner = $owner
  returning b.request_count, b.hops
),
-- Which of them were wasted is known of the submission alone, so each round bears its part.
locked_hops as materialized (
  select h.batch_id, h.n, r.requests::float8 / ended.request_count as part
  from ended, json_to_recordset(ended.hops) as r ("batchId" uuid, n int, requests int)
  join holdfast.batch_hops h on h.batch_id = r."batchId" and h.n = r.n and h.via = 'provider-batch'
  where not exists (select from waiting)
  order by h.batch_id, h.n for update of h
),
read_hops as (
  update holdfast.batch_hops h
  set wasted_micros = h.wasted_micros + round(coalesce($wastedMicros::bigint, 0) * l.part),
    ended_at = case when not exists (select from holdfast.provider_requests r where r.batch_id = h.batch_id and r.hop = h.n
      and r.status in ('queued', 'assigned')) then clock_timestamp() end
  from locked_hops l where h.batch_id = l.batch_id and h.n = l.n and h.via = 'provider-batch'
  returning h.*
),
inserted_events as (
  ${insertServiceEventsSql(
    'read_hops where ended_at is not null',
    'batch.hop',
    `'batchId', batch_id, 'n', n, 'via', via, 'requests', requests, 'cacheHitRate', ${HIT_RATE_SQL}, 'costMicros', cost_micros, 'liveMicros', live_micros`,
    'n',
  )}
)
select coalesce(json_agg(request_no), '[]') as numbers from waiting`,
  retryMs: LASTING_RETRY_MS,
  values: (held: Held, reading: { wasted: object | null; wastedMicros: number | null; againInMs: number }) => ({
    ...held,
    ...reading,
  }),
  answer: ([row]: { numbers: number[] }[]) => row?.numbers ?? [],
});

export const readUsedResults = literalQuery({
  name: 'used-results',
  purpose: 'Which requests of a submission were answered by it.',
  text: `select r.request_no from holdfast.provider_requests r where r.provider_batch_id = $1 and r.status in ('answered', 'errored')`,
  retryMs: LASTING_RETRY_MS,
  values: (id: string) => [id],
  answer: (rows: { request_no: number }[]) => new Set(rows.map((row) => row.request_no)),
});

/** `done`: also when it was given up before. `refused`: its state does not allow it. */
export type Forgetting = { kind: 'done' } | { kind: 'unknown' } | { kind: 'refused'; status: SubmissionStatus };

// A submission that is being sent is left: its process does not know its id yet.
/**
 * Gives it up on the request of an operator: its cost, if any, is unknown. Rejects with a violated
 * primary key when another request has stored the key.
 */
export const forgetSubmission = literalQuery({
  name: 'forget-submission',
  purpose: 'Stop to follow a submission, and queue its requests again. Answers its state before.',
  locking: 'The submission, then its requests.',
  text: `with found as materialized (
  select b.id, b.status from holdfast.provider_batches b where b.id = $id for no key update
),
held as materialized (select id from found where status not in ('open', 'submitting', 'read')),
forgotten as (
  update holdfast.provider_batches b
  set status = 'failed', error = json_build_object('message', 'A person gave it up.'), ended_at = coalesce(b.ended_at, clock_timestamp()),
    owner = null, lease_expires_at = null, due_at = clock_timestamp()
  from held where b.id = held.id and b.status <> 'failed'
  returning b.id
),
returned as (
  update holdfast.provider_requests r
  set status = 'queued', provider_batch_id = null, request_no = null, assigned_at = null, returns = r.returns + 1
  from forgotten where r.provider_batch_id = forgotten.id and r.status = 'assigned'
),
${keyedSql(`select json_build_object('id', id) from held`)}
select found.status, exists (select from held) as "isAllowed" from found`,
  pool: 'views',
  values: ({ id, idempotency }: { id: string; idempotency: KeyedRequest | null }) => ({
    id,
    ...idempotency,
  }),
  answer: ([row]: { status: SubmissionStatus; isAllowed: boolean }[]): Forgetting => {
    if (row === undefined) return { kind: 'unknown' };
    return row.isAllowed ? { kind: 'done' } : { kind: 'refused', status: row.status };
  },
});

/** The newest submissions; of them, those that have ended. */
const SUBMISSIONS_MAX = 100;

export const readTookMs = literalQuery({
  name: 'took-ms',
  purpose: 'Read how long recent submissions took.',
  text: `select (extract(epoch from b.ended_at - b.submit_started_at) * 1000)::float8 as "tookMs" from (
  select p.status, p.submit_started_at, p.ended_at from holdfast.provider_batches p order by p.id desc limit ${SUBMISSIONS_MAX}
) as b where b.status in ('ended', 'read')`,
  answer: (rows: { tookMs: number }[]) => rows.map(({ tookMs }) => tookMs),
});
