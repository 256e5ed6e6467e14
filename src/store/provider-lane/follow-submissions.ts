// What happens to a submission after its outcome is known, or is given up: it is polled, read, ended, and its requests go back.
import type { Database } from '../database.ts';
import { insertEventsSql } from '../events.ts';
import { LASTING_RETRY_MS } from '../retry-passing-faults.ts';
import { sendQuery } from '../send-query.ts';
import { HIT_RATE_SQL } from './hit-rate-sql.ts';
import { literal, type Statement } from '../statement.ts';

interface Held {
  id: string;
  owner: string;
}

export const NOTE_LOOK = literal({
  name: 'note-look',
  purpose: 'Note what a poll of a submission has shown, and when the next one is due.',
  locking: 'The submission.',
  text: `update holdfast.provider_batches b set status = coalesce($3, b.status), looks = b.looks + 1, due_at = clock_timestamp() + $4 * interval '1 millisecond',
  counts = coalesce($5::json, b.counts), expires_at = coalesce($6::timestamptz, b.expires_at), is_proved = b.is_proved or $7,
  ended_at = case when $3 = 'ended' then coalesce(b.ended_at, clock_timestamp()) else b.ended_at end,
  absent_since = case when $8 then coalesce(b.absent_since, clock_timestamp()) end, disproved_ids = b.disproved_ids || $9::text[],
  error = case when $10::text is null then b.error else json_build_object('message', $10::text) end, owner = null, lease_expires_at = null
where b.id = $1 and b.owner = $2`,
});

export async function noteLook(
  database: Database,
  { id, owner }: Held,
  look: {
    /** Absent: as before. */
    status?: 'submitted' | 'canceling' | 'ended';
    dueInMs: number;
    counts?: Record<string, number>;
    expiresAt?: string | null;
    isProved?: boolean;
    /** True when the provider has not shown it: no candidate in the list, or 404 when it is polled. */
    isAbsent?: boolean;
    disprovedIds?: readonly string[];
    error?: string;
  },
): Promise<void> {
  const { status, dueInMs, counts, expiresAt, isProved = false, isAbsent = false, disprovedIds = [], error } = look;
  const countsJson = counts === undefined ? null : JSON.stringify(counts);
  const values = [
    id,
    owner,
    status ?? null,
    dueInMs,
    countsJson,
    expiresAt ?? null,
    isProved,
    isAbsent,
    disprovedIds,
    error ?? null,
  ];
  await send(database, NOTE_LOOK, values);
}

export const KNOWN_BATCHES = literal({
  name: 'known-batches',
  purpose: 'Which batches of the provider are known not to be this submission.',
  text: `select b.provider_id as id from holdfast.provider_batches b where b.provider_id = any ($2::text[]) and b.id <> $1
union select unnest(b.disproved_ids) from holdfast.provider_batches b where b.id = $1`,
});

/** Those of these batches that belong to other submissions, and those that were disproved. */
export async function readKnownBatches(
  database: Database,
  id: string,
  listed: readonly string[],
): Promise<Set<string>> {
  const rows = await send<{ id: string }>(database, KNOWN_BATCHES, [id, listed]);
  return new Set(rows.map((row) => row.id));
}

export const RETURN_REQUESTS = literal({
  name: 'return-requests',
  purpose:
    'Queue the requests that still wait for a submission again, and end it. With a split, each half is submitted alone.',
  locking: 'The submission, then its requests.',
  text: `with ended as (
  update holdfast.provider_batches b set status = $3, error = json_build_object('message', $4::text), ended_at = coalesce(b.ended_at, clock_timestamp()),
    read_at = case when $3 = 'read' then clock_timestamp() end, owner = null, lease_expires_at = null,
    due_at = clock_timestamp() + $6 * interval '1 millisecond'
  where b.id = $1 and b.owner = $2 and b.status not in ('read', 'lost', 'failed')
  returning b.id, b.request_count
)
update holdfast.provider_requests r
set status = 'queued', provider_batch_id = null, request_no = null, assigned_at = null, returns = r.returns + 1,
  split = case when $5 then ended.id || case when r.request_no < ended.request_count / 2 then 'a' else 'b' end end
from ended where r.provider_batch_id = ended.id and r.status = 'assigned'
returning r.turn_id`,
});

/** Ends a submission without answers. `failed`: it was refused; `lost`: it was not made; `read`: its results were deleted. */
export async function returnRequests(
  database: Database,
  { id, owner }: Held,
  end: { status: 'failed' | 'lost' | 'read'; message: string; isSplit?: boolean; blockedMs?: number },
): Promise<number> {
  const values = [id, owner, end.status, end.message, end.isSplit ?? false, end.blockedMs ?? 0];
  return (await send(database, RETURN_REQUESTS, values)).length;
}

export const END_READING = literal({
  name: 'end-reading',
  purpose: 'Note that the results of a submission were read to their end. Answers which requests still have no result.',
  locking: 'The submission, then its rounds of batches in order.',
  text: `with waiting as materialized (
  select r.request_no from holdfast.provider_requests r where r.provider_batch_id = $1 and r.status = 'assigned'
),
ended as (
  update holdfast.provider_batches b
  set status = case when exists (select from waiting) then b.status else 'read' end, incomplete_reads = b.incomplete_reads + exists (select from waiting)::int,
    read_at = case when exists (select from waiting) then b.read_at else clock_timestamp() end, wasted = $3::json,
    wasted_micros = $5::bigint, due_at = clock_timestamp() + $4 * interval '1 millisecond', owner = null, lease_expires_at = null
  where b.id = $1 and b.owner = $2
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
  set wasted_micros = h.wasted_micros + round(coalesce($5::bigint, 0) * l.part),
    ended_at = case when not exists (select from holdfast.provider_requests r where r.batch_id = h.batch_id and r.hop = h.n
      and r.status in ('queued', 'assigned')) then clock_timestamp() end
  from locked_hops l where h.batch_id = l.batch_id and h.n = l.n and h.via = 'provider-batch'
  returning h.*
),
inserted_events as (
  ${insertEventsSql(`select null::uuid as session_id, null::uuid as turn_id, 'batch.hop' as type,
      json_build_object('batchId', batch_id, 'n', n, 'via', via, 'requests', requests, 'cacheHitRate', ${HIT_RATE_SQL},
        'costMicros', cost_micros, 'liveMicros', live_micros) as data, n from read_hops where ended_at is not null`)}
)
select coalesce(json_agg(request_no), '[]') as numbers from waiting`,
});

/** Ends a reading; resolves with the requests that have no result. */
export async function endReading(
  database: Database,
  { id, owner }: Held,
  reading: { wasted: object | null; wastedMicros: number | null; againInMs: number },
): Promise<number[]> {
  const wasted = reading.wasted === null ? null : JSON.stringify(reading.wasted);
  const [row] = await send<{ numbers: number[] }>(database, END_READING, [
    id,
    owner,
    wasted,
    reading.againInMs,
    reading.wastedMicros,
  ]);
  return row?.numbers ?? [];
}

export const USED_RESULTS = literal({
  name: 'used-results',
  purpose: 'Which requests of a submission were answered by it.',
  text: `select r.request_no from holdfast.provider_requests r where r.provider_batch_id = $1 and r.status in ('answered', 'errored')`,
});

export async function readUsedResults(database: Database, id: string): Promise<Set<number>> {
  const rows = await send<{ request_no: number }>(database, USED_RESULTS, [id]);
  return new Set(rows.map((row) => row.request_no));
}

async function send<Row extends object>(
  database: Database,
  statement: Statement<unknown[]>,
  values: unknown[],
): Promise<Row[]> {
  return await sendQuery<Row>(database.hot, statement.prepared(values), LASTING_RETRY_MS);
}
