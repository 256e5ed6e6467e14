// The submissions of requests to the provider: each is a row of `provider_batches`, leased to one
// process while it works on it.
//
//   open ──▶ submitting ──200──▶ submitted ──▶ ended ──▶ read
//              │  └─4xx──▶ failed: its requests are queued again, in halves or later
//              └─timeout, 5xx, crash──▶ unknown ──found──▶ submitted (adopted) │ not found──▶ lost: its requests are queued again
//
// A unique index allows one row of an account to be open, submitting or unknown, so at most one
// outcome is unknown.
import type { SubmissionStatus } from '../rules/submission.ts';
import { insertServiceEventsSql } from '../../../kernel/events/events.ts';
import { keyedSql, type KeyedRequest } from '../../../database/idempotency.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { LASTING_RETRY_MS } from '../../../database/passing-faults.ts';

/** A submission as the process works on it that holds its lease. */
export interface ProviderSubmission {
  id: string;
  status: SubmissionStatus;
  requestCount: number;
  providerId: string | null;
  isProved: boolean;
  polls: number;
  incompleteReads: number;
  /** Milliseconds since the epoch, by the database's clock. */
  startedAtMs: number;
  submittedAtMs: number | null;
  nowMs: number;
  /**
   * How long no poll has shown it: no candidate in the list, or a 404; null: the last poll did, or
   * there was none.
   */
  absentMs: number | null;
  /** Requests that wait for it. */
  assigned: number;
}

const SUBMISSION_SQL = `b.id, b.status, b.request_count as "requestCount", b.provider_id as "providerId",
  b.is_proved as "isProved", b.looks as polls, b.incomplete_reads as "incompleteReads",
  (extract(epoch from b.submit_started_at) * 1000)::float8 as "startedAtMs",
  (extract(epoch from b.submitted_at) * 1000)::float8 as "submittedAtMs",
  (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs",
  (extract(epoch from clock_timestamp() - b.absent_since) * 1000)::float8 as "absentMs",
  (select count(*)::int from holdfast.provider_requests r where r.provider_batch_id = b.id and r.status = 'assigned') as assigned`;

interface Leased {
  owner: string;
  leaseMs: number;
}

const RELEASED = 'owner = null, lease_expires_at = null';
const RETURNED = `status = 'queued', provider_batch_id = null, request_no = null, assigned_at = null, returns = r.returns + 1`;

/**
 * Opens a submission with that id; resolves with the number of its requests, 0 when there is
 * nothing to submit now.
 */
export const openSubmission = literalQuery({
  name: 'open-submission',
  purpose:
    'Group queued requests into a new submission when there are enough of them, the oldest has waited for long, or no other turn can join. Answers how many.',
  locking: 'The requests, skipping those that are locked, then the rounds of batches in order.',
  text: `with blocked as materialized (
  select from holdfast.provider_batches b where b.account = $2 and b.status in ('open', 'submitting', 'unknown')
  union all select from holdfast.provider_batches b where b.account = $2 and b.status = 'failed' and b.due_at > clock_timestamp()
),
-- Requests of a paused batch wait until it runs again. What they cost is reserved: a batch without room for more may still send them, and
-- has room again when they cost less.
held as materialized (
  select b.id from holdfast.batches b where b.status = 'paused' and b.pause_reason not in ('budget', 'cost_cap')
),
oldest as materialized (
  select r.split from holdfast.provider_requests r
  where r.status = 'queued' and (r.batch_id is null or r.batch_id not in (select id from held)) order by r.queued_at limit 1
),
candidates as materialized (
  select q.*, row_number() over w as n, sum(q.params_bytes) over w as bytes from (
    select r.turn_id, r.call_no, r.params_bytes, r.queued_at, r.batch_id from holdfast.provider_requests r join oldest on r.split is not distinct from oldest.split
    where r.status = 'queued' and not exists (select from blocked) and (r.batch_id is null or r.batch_id not in (select id from held))
    order by r.queued_at limit $5
  ) as q window w as (order by q.queued_at, q.turn_id)
),
-- Turns that may still join: those of single messages, and items of a batch that are to be fed or whose turns are not waiting.
joining as materialized (
  select from (select distinct c.batch_id from candidates c) as q left join holdfast.batches b on b.id = q.batch_id
  where q.batch_id is null or b.in_flight > (
      select count(*) from holdfast.provider_requests r where r.batch_id = b.id and r.status in ('queued', 'assigned'))
    or b.status = 'running' and b.in_flight < b.concurrency and exists (select from holdfast.batch_items i
      where i.batch_id = b.id and i.status = 'pending' and i.is_ready and (least(b.pilot, b.probe_to) is null or i.n <= least(b.pilot, b.probe_to)))
),
ready as materialized (
  select from candidates having count(*) >= $5 or max(bytes) >= $6 or min(queued_at) <= clock_timestamp() - $7 * interval '1 millisecond'
    or exists (select from oldest where split is not null) or not exists (select from joining)
),
picked as materialized (
  select r.turn_id, r.call_no, r.params_bytes, r.batch_id, r.hop, r.reason, r.returns, c.n from candidates c
  join holdfast.provider_requests r on r.turn_id = c.turn_id and r.call_no = c.call_no
  where r.status = 'queued' and (c.bytes <= $6 or c.n = 1) and exists (select from ready)
    and not exists (select from holdfast.turns t where t.id = r.turn_id and t.ended_at is not null)
  for update of r skip locked
),
hops as materialized (
  select batch_id, hop as n, count(*)::int as requests, count(*) filter (where returns = 0)::int as news, max(reason) as reason
  from picked where batch_id is not null and hop is not null group by 1, 2
),
opened as (
  insert into holdfast.provider_batches (id, account, status, request_count, body_bytes, body_sha256, owner, lease_expires_at, hops)
  select $1, $2, 'open', count(*), sum(params_bytes), '', $3, clock_timestamp() + $4 * interval '1 millisecond',
    (select json_agg(json_build_object('batchId', batch_id, 'n', n, 'requests', requests)) from hops)
  from picked having count(*) > 0
  on conflict do nothing
  returning id
),
begun_hops as (
  insert into holdfast.batch_hops as h (batch_id, n, via, reason, requests, submitted_at)
  select batch_id, n, 'provider-batch', coalesce(reason, ''), news, clock_timestamp() from hops cross join opened order by batch_id, n
  on conflict (batch_id, n, via) do update set requests = h.requests + excluded.requests, reason = excluded.reason, ended_at = null
),
assigned as (
  update holdfast.provider_requests r set status = 'assigned', provider_batch_id = opened.id, request_no = picked.n - 1, assigned_at = clock_timestamp(),
    split = null
  from picked cross join opened where r.turn_id = picked.turn_id and r.call_no = picked.call_no
  returning r.turn_id
)
select count(*)::int as requests from assigned`,
  retryMs: LASTING_RETRY_MS,
  values: (
    { id, account, owner, leaseMs }: Leased & { id: string; account: string },
    bounds: { requestsMax: number; bytesMax: number; windowMs: number },
  ) => [id, account, owner, leaseMs, bounds.requestsMax, bounds.bytesMax, bounds.windowMs],
  answer: ([row]: { requests: number }[]) => row?.requests ?? 0,
});

const isDueSql = (
  account: string,
  owner: string,
): string => `b.account = ${account} and b.due_at <= statement_timestamp() and (
      b.status in ('open', 'submitting', 'unknown', 'submitted', 'canceling', 'ended')
      -- Its batch may appear in the list late: then its cost is known.
      or b.status = 'lost' and b.submit_started_at > statement_timestamp() - interval '1 day')
    and (b.owner is null or b.owner = ${owner} or b.lease_expires_at <= statement_timestamp())`;

/** SQL of whether requests wait to be submitted or must leave the lane, or a submission is due. */
export const HAS_LANE_WORK_SQL = `exists (select from holdfast.provider_requests r where r.status = 'queued')
or exists (select from holdfast.provider_requests r where r.status in ('queued', 'assigned') and r.leave_at <= statement_timestamp())
or exists (select from holdfast.provider_batches b where ${isDueSql('$account', '$owner')})`;

export const claimSubmission = literalQuery({
  name: 'claim-submission',
  purpose:
    'Take over a submission of the account that is due and that no process works on. A submission whose process has crashed is unknown now.',
  locking: 'The submission.',
  text: `with due as materialized (
  select b.id, b.status from holdfast.provider_batches b
  where ${isDueSql('$1', '$2')}
  order by b.due_at limit 1 for no key update of b skip locked
)
update holdfast.provider_batches b
set owner = $2, lease_expires_at = clock_timestamp() + $3 * interval '1 millisecond', status = case b.status when 'submitting' then 'unknown' else b.status end
from due where b.id = due.id
returning ${SUBMISSION_SQL}`,
  retryMs: LASTING_RETRY_MS,
  values: ({ account, owner, leaseMs }: Leased & { account: string }) => [account, owner, leaseMs],
  answer: ([row]: ProviderSubmission[]) => row ?? null,
});

export const renewSubmission = literalQuery({
  name: 'renew-submission',
  purpose: 'Renew the lease of a submission. Answers a row when it is still held.',
  locking: 'The submission.',
  text: `update holdfast.provider_batches b set lease_expires_at = clock_timestamp() + $3 * interval '1 millisecond'
where b.id = $1 and b.owner = $2 returning b.id`,
  retryMs: LASTING_RETRY_MS,
  values: ({ id, owner, leaseMs }: Leased & { id: string }) => [id, owner, leaseMs],
  answer: (rows) => rows.length > 0,
});

export const readParams = literalQuery({
  name: 'read-params',
  purpose: 'Read the bodies of the requests of a submission.',
  text: `select r.request_no as "requestNo", r.params from holdfast.provider_requests r
where r.provider_batch_id = $1 and r.status = 'assigned' order by r.request_no`,
  retryMs: LASTING_RETRY_MS,
  values: (id: string) => [id],
  answer: (rows: { requestNo: number; params: Buffer }[]) => rows,
});

/** False: another process works on it, and nothing may be sent. */
export const beginSubmission = literalQuery({
  name: 'begin-submission',
  purpose: 'Note that an open submission is sent now. Answers a row when this process still holds it.',
  locking: 'The submission.',
  text: `update holdfast.provider_batches b set status = 'submitting', request_count = $requestCount, submit_started_at = clock_timestamp()
where b.id = $id and b.owner = $owner and b.status = 'open' and b.lease_expires_at > clock_timestamp() returning b.id`,
  retryMs: LASTING_RETRY_MS,
  values: (sent: { id: string; owner: string; requestCount: number }) => sent,
  answer: (rows) => rows.length > 0,
});

interface SubmittedBatch {
  id: string;
  providerId: string;
  expiresAt: string | null;
  counts: Record<string, number> | null;
  isAdopted: boolean;
  isProved: boolean;
  dueInMs: number;
}

// The provider's answer is true whichever process holds the row by now. One that was given up as
// lost in the meantime is polled until its end, so that its cost is known; no request waits for it.
/** False: another submission has that batch, or this one has another. */
export const noteSubmitted = literalQuery({
  name: 'note-submitted',
  purpose: 'Note the batch of the provider that a submission became.',
  locking: 'The submission, then its rounds of batches in order.',
  text: `with noted as (
  update holdfast.provider_batches b set status = 'submitted', provider_id = $providerId, submitted_at = clock_timestamp(), expires_at = $expiresAt::timestamptz,
  counts = $counts::json, is_adopted = $isAdopted, is_proved = $isProved, due_at = clock_timestamp() + $dueInMs * interval '1 millisecond', looks = 0, absent_since = null,
  ${RELEASED}
where b.id = $id and b.provider_id is null and b.status in ('submitting', 'unknown', 'lost')
  and not exists (select from holdfast.provider_batches other where other.provider_id = $providerId) returning b.id, b.hops
),
locked_hops as materialized (
  select h.batch_id, h.n from noted, json_to_recordset(noted.hops) as r ("batchId" uuid, n int)
  join holdfast.batch_hops h on h.batch_id = r."batchId" and h.n = r.n and h.via = 'provider-batch'
  order by h.batch_id, h.n for update of h
),
named_hops as (
  update holdfast.batch_hops h set provider_batch_ids = h.provider_batch_ids || $providerId::text
  from locked_hops l where h.batch_id = l.batch_id and h.n = l.n and h.via = 'provider-batch'
)
select id from noted`,
  retryMs: LASTING_RETRY_MS,
  values: (submitted: SubmittedBatch) => submitted,
  answer: (rows) => rows.length > 0,
});

/** False: another submission of the account is in flight, so this one keeps its state for now. */
export const noteUnknown = literalQuery({
  name: 'note-unknown',
  purpose:
    'Note that it is not known what became of a submission, or that the batch that was found is not it. The search of the list begins anew.',
  locking: 'The submission.',
  text: `update holdfast.provider_batches b set status = 'unknown', ${RELEASED}, looks = 0, absent_since = null,
  due_at = clock_timestamp(), error = json_build_object('message', $3::text), is_adopted = false, is_proved = false, submitted_at = null,
  provider_id = null, expires_at = null, counts = null,
  disproved_ids = case when b.provider_id is null then b.disproved_ids else b.disproved_ids || b.provider_id end
where b.id = $1 and b.owner = $2 and b.status in ('submitting', 'unknown', 'submitted', 'canceling', 'ended') and (
  b.status in ('submitting', 'unknown') or not exists (
    select from holdfast.provider_batches other where other.account = b.account and other.status in ('open', 'submitting', 'unknown')))
returning b.id`,
  retryMs: LASTING_RETRY_MS,
  values: ({ id, owner, message }: { id: string; owner: string; message: string }) => [id, owner, message],
  answer: (rows) => rows.length > 0,
});

// What happens to a submission after its outcome is known, or is given up.

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
  error = case when $error::text is null then b.error else json_build_object('message', $error::text) end, ${RELEASED}
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
    read_at = case when $status = 'read' then clock_timestamp() end, ${RELEASED},
    due_at = clock_timestamp() + coalesce($blockedMs, 0) * interval '1 millisecond'
  where b.id = $id and b.owner = $owner and b.status not in ('read', 'lost', 'failed')
  returning b.id, b.request_count
)
update holdfast.provider_requests r
set ${RETURNED},
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
    wasted_micros = $wastedMicros::bigint, due_at = clock_timestamp() + $againInMs * interval '1 millisecond', ${RELEASED}
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
given_up as (
  update holdfast.provider_batches b
  set status = 'failed', error = json_build_object('message', 'A person gave it up.'), ended_at = coalesce(b.ended_at, clock_timestamp()),
    ${RELEASED}, due_at = clock_timestamp()
  from held where b.id = held.id and b.status <> 'failed'
  returning b.id
),
returned as (
  update holdfast.provider_requests r
  set ${RETURNED}
  from given_up where r.provider_batch_id = given_up.id and r.status = 'assigned'
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
