// Not `putInputs`: a portion of 32 items in 32 sessions took 24.4 ms in a transaction and 17.0 ms
// in this statement (median of 290 pairs on a busy machine). Feeding: items become inputs of their
// sessions. Any number of schedulers may feed: one holds the batch at a time, an item is fed only
// while it is pending, and the cause of its input is unique, so that feeding it twice has no
// effect.
//
// Locking: the batch (skipped when it is locked), its items, then the session rows in the order of
// their ids. No statement locks a batch after a session.
import type { Committed } from '../../../kernel/queue/after-commit.ts';
import type { FedBatch } from '../rules/batch.ts';
import type { FeedingBatch } from '../rules/share-room.ts';
import type { MessageId, SessionId } from '../../../core/ids.ts';
import type { InboundMessage } from '../../../core/inbound.ts';
import { insertEventsSql } from '../../../kernel/events/events.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { buildAfter, mergeAll, type RungColumns, ringSql } from '../../../kernel/queue/rings.ts';

/** A batch that may be fed. */
export interface HungryBatch extends FedBatch, FeedingBatch {
  agentId: string;
  /** With `via: auto`: the items up to this number go first; null: they have ended. */
  probeTo: number | null;
  /** The root of its items' own sessions, when it was made by a key with a scope; null: it was not. */
  owner: string | null;
}

/**
 * At most this many items of a live batch wait for a worker although few run. With fewer, workers
 * with many slots would wait for the feeder.
 */
const WAITING_MIN = 32;

export const readHungryBatches = literalQuery({
  name: 'hungry-batches',
  purpose: 'Read the batches that run, have room and have items that may be fed.',
  text: `select b.id, b.agent_id as "agentId", b.weight, fed.room, b.defaults, b.pilot, b.via, b.fallback, b.cache,
  b.probe_to as "probeTo", b.choice, b.created_by as "createdBy", b.owner,
  (extract(epoch from b.deadline_at) * 1000)::float8 as "deadlineMs"
from holdfast.batches b
-- Items that have been fed stand in the lane before those of every batch that comes later. So of a live batch no more wait for a worker than twice
-- as many as run, or $1; the items of the others are parked while they wait.
cross join lateral (
  select least(b.concurrency - b.in_flight, case when b.via = 'live' then
    greatest($1, 2 * count(*) filter (where x.status = 'claimed')) - count(*) filter (where x.status = 'waiting') end)::int as room
  from holdfast.batch_items i join holdfast.inbox x on x.id = i.message_id
  where b.via = 'live' and i.batch_id = b.id and i.status = 'fed'
) fed
where fed.room > 0 and b.status <> 'ended' and b.status = 'running' and b.in_flight < b.concurrency
  -- With its pilot, its first items, or the way of the others.
  and (b.via <> 'auto' or b.pilot is not null or b.probe_to is not null or b.choice is not null)
  -- One at its cost cap is about to be paused.
  and (b.max_cost_micros is null or coalesce(b.cost_micros, 0) < b.max_cost_micros)
  and exists (select from holdfast.batch_items i where i.batch_id = b.id and i.status = 'pending' and i.is_ready
    and (least(b.pilot, b.probe_to) is null or i.n <= least(b.pilot, b.probe_to)))
order by b.id`,
  values: () => [WAITING_MIN],
  answer: (rows: HungryBatch[]) => rows,
});

/** An item that may be fed. */
export interface ReadyItem {
  n: number;
  attempt: number;
  sessionKey: string;
  isOwnSession: boolean;
  body: InboundMessage;
}

export const readReadyItems = literalQuery({
  name: 'ready-items',
  purpose: 'Read the first items of a batch that may be fed.',
  text: `select i.n, i.attempt, i.session_key as "sessionKey", i.is_own_session as "isOwnSession", i.body
from holdfast.batch_items i
where i.batch_id = $1 and i.status = 'pending' and i.is_ready and ($2::int is null or i.n <= $2) order by i.n limit $3`,
  values: ({ id, pilot, probeTo }: HungryBatch, limit: number) => [id, pilot ?? probeTo, limit],
  answer: (rows: ReadyItem[]) => rows,
});

/** An item with the input that it becomes. */
export interface FedItem {
  n: number;
  attempt: number;
  sessionId: SessionId;
  messageId: MessageId;
  /** JSON text. */
  body: string;
  route: string;
}

/**
 * Feeds items; those that another process has fed, and those over the concurrency of the batch, are
 * left out.
 */
export const feedBatch = literalQuery({
  name: 'feed-batch',
  purpose: 'Make inputs of the items that may still be fed. Answers a row for each session that got one.',
  locking: 'The batch, unless it is locked, its items, then the session rows in the order of their ids.',
  text: `with held as materialized (
  select b.id, b.concurrency - b.in_flight as room from holdfast.batches b where b.id = $1 and b.status = 'running'
  for no key update skip locked
),
input as materialized (
  select * from unnest($2::int[], $3::int[], $4::uuid[], $5::uuid[], $6::text[], $7::text[])
    as input (n, attempt, session_id, message_id, body, route)
),
picked as materialized (
  select i.batch_id, i.n, i.attempt, input.session_id, input.message_id, input.body, input.route
  from held join holdfast.batch_items i on i.batch_id = held.id join input on input.n = i.n and input.attempt = i.attempt
  where i.status = 'pending' and i.is_ready
  order by i.n limit (select greatest(0, room) from held)
  for no key update of i
),
locked as materialized (
  select s.* from holdfast.sessions s where s.id in (select session_id from picked) order by s.id for no key update
),
numbered as materialized (
  select picked.*, s.inbox_seq + row_number() over (partition by picked.session_id order by picked.n) as seq
  from picked join locked s on s.id = picked.session_id
),
stored as (
  insert into holdfast.inbox (id, session_id, seq, kind, body, route, mode, cause_key)
  select message_id, session_id, seq, 'batch', body::json, route, 'followup', 'batch:' || batch_id || ':' || n || ':' || attempt
  from numbered
  on conflict do nothing
  returning id, session_id, seq, kind
),
fed as (
  update holdfast.batch_items i set status = 'fed', session_id = numbered.session_id, message_id = numbered.message_id
  from numbered join stored on stored.id = numbered.message_id
  where i.batch_id = numbered.batch_id and i.n = numbered.n
  returning i.n
),
counted_batch as (
  update holdfast.batches b set in_flight = b.in_flight + (select count(*) from fed)::int
  from held where b.id = held.id and exists (select from stored)
),
counted as materialized (
  select session_id, max(seq) as last_seq, count(*)::int as arrived from stored group by session_id
),
updated_sessions as (
  update holdfast.sessions s
  set inbox_seq = counted.last_seq, waiting = s.waiting + counted.arrived, updated_at = clock_timestamp()
  from counted where s.id = counted.session_id
  returning s.*
),
rung_doorbells as (
  ${ringSql('updated_sessions', { lane: "'batch'" })}
),
inserted_events as (
  ${insertEventsSql(`select session_id, null::uuid as turn_id, 'message.accepted' as type,
      json_build_object('messageId', id, 'seq', seq, 'kind', kind, 'disposition', 'queued') as data, seq as n from stored`)}
)
select counted.session_id, counted.arrived, rung_doorbells.lane, rung_doorbells.rings
from counted left join rung_doorbells on rung_doorbells.session_id = counted.session_id`,
  values: (batchId: string, items: readonly FedItem[]) => [
    batchId,
    ...(['n', 'attempt', 'sessionId', 'messageId', 'body', 'route'] as const).map((field) =>
      items.map((item) => item[field]),
    ),
  ],
  answer: (rows: ({ session_id: SessionId; arrived: number } & RungColumns)[]): Committed<{ fed: number }> => ({
    fed: rows.reduce((sum, { arrived }) => sum + arrived, 0),
    after: mergeAll(rows.map((row) => ({ after: buildAfter('inbound', row.session_id, row) }))),
  }),
});
