// The outbox: replies on their way out, in order per session. Only the oldest open delivery of a
// session can be claimed, so a later one never overtakes it; a claim is a lease, so a delivery that
// a crashed process was sending can be claimed again.
//
//   pending ──claim──▶ sending ──2xx──▶ sent
//      ▲                 │  ├─ may pass ──▶ pending (due later)       until it expires: expired + dead letter
//      │                 │  └─ will not  ──▶ failed + dead letter
//      └── lease expired ┘  (the receiver knows it by its dedupe key)
//
// Deliveries to chats are claimed and settled by parts.ts, in the order of their chat.
import { cutHead, storableText } from '../../../core/text.ts';
import type { Committed, DeliveryRing } from '../../../kernel/queue/after-commit.ts';
import type { DeliveryId, SessionId } from '../../../core/ids.ts';
import type { TracedOrigin } from '../../../core/telemetry.ts';
import { newId } from '../../../ids.ts';
import { insertEventsSql } from '../../../kernel/events/events.ts';
import { NEW_ID_SQL } from '../../../database/page.ts';
import { buildChange } from '../../../kernel/queue/rings.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { GATED_HEADS_SQL, headsOfChatsSql } from './chat-heads.ts';

/** A delivery that this process has claimed until its lease expires. */
export interface ClaimedDelivery {
  id: DeliveryId;
  sessionId: SessionId;
  turnId: string | null;
  channel: string;
  target: unknown;
  payload: unknown;
  /** Counts this attempt. */
  attempts: number;
  /** The first input of its turn, which decides its trace; null: it is of no turn. */
  origin: TracedOrigin | null;
}

/** SQL of the first input of the turn of a delivery `d`. */
export const ORIGIN_SQL = `(select json_build_object('id', i.id, 'seq', i.seq, 'traceparent', i.traceparent)
    from holdfast.inbox i where i.turn_id = d.turn_id and i.status <> 'dropped' order by i.seq limit 1)`;

export const claimDelivery = literalQuery({
  name: 'claim-delivery',
  purpose: 'Claim the oldest open webhook of a session, if it is due and no relay is sending it.',
  locking: 'The delivery, unless it is locked.',
  // Sent again, it would find the delivery being sent.
  retryMs: 0,
  text: `with oldest as materialized (
  select d.id from holdfast.deliveries d
  where d.session_id = $sessionId and d.channel = 'webhook' and d.status in ('pending', 'sending') order by d.seq limit 1
),
locked as materialized (
  select d.id from holdfast.deliveries d join oldest on oldest.id = d.id
  where d.expires_at > clock_timestamp() and ((d.status = 'pending' and d.due_at <= clock_timestamp())
    or (d.status = 'sending' and d.lease_expires_at <= clock_timestamp()))
  for update of d skip locked
)
update holdfast.deliveries d
set status = 'sending', owner = $owner, attempts = d.attempts + 1,
  lease_expires_at = clock_timestamp() + $leaseMs * interval '1 millisecond'
from locked where d.id = locked.id
returning d.id, d.session_id as "sessionId", d.turn_id as "turnId", d.channel, d.target, d.payload, d.attempts,
  ${ORIGIN_SQL} as origin`,
  values: (claim: { sessionId: SessionId; owner: string; leaseMs: number }) => claim,
  answer: ([delivery]: ClaimedDelivery[]) => delivery ?? null,
});

export interface DeliverySettlement {
  delivery: ClaimedDelivery;
  owner: string;
  status: 'sent' | 'pending' | 'failed';
  /** The HTTP status that the receiver answered, if it did. */
  lastStatus: number | null;
  lastError: string | null;
  /** For `pending`: not before this many milliseconds have passed. */
  delayMs: number;
}

/** It has no effect when another relay has claimed the delivery. */
export const settleDelivery = literalQuery({
  name: 'settle-delivery',
  purpose: 'Store the result of an attempt, with its event, and a dead letter when it has failed permanently.',
  locking: 'The delivery.',
  // The relay sends it again itself, for as long as its lease.
  retryMs: 0,
  text: `with settled as (
  update holdfast.deliveries d
  set status = $3, owner = null, lease_expires_at = null, last_status = $4, last_error = $5,
    due_at = clock_timestamp() + $6 * interval '1 millisecond',
    settled_at = case when $3 <> 'pending' then clock_timestamp() end
  where d.id = $1 and d.owner = $2 and d.status = 'sending'
  returning d.id, d.session_id, d.turn_id, d.attempts
),
inserted_dead_letters as (
  insert into holdfast.dead_letters (id, kind, session_id, turn_id, delivery_id, code, reason)
  select $7, 'delivery', session_id, turn_id, id, 'delivery_failed', coalesce($5, 'refused') from settled where $3 = 'failed'
),
inserted_events as (
  ${insertEventsSql(`select session_id, turn_id, case when $3 = 'sent' then 'delivery.sent' else 'delivery.failed' end as type,
    json_build_object('deliveryId', id, 'attempt', attempts, 'status', $3::text, 'httpStatus', $4::int) as data, 1 as n from settled`)}
)
select 1`,
  values: ({ delivery, owner, status, lastStatus, lastError, delayMs }: DeliverySettlement) => [
    delivery.id,
    owner,
    status,
    lastStatus,
    lastError === null ? null : cutHead(storableText(lastError), 1000),
    Math.ceil(delayMs),
    newId<string>(),
  ],
  answer: (_rows: object[], { delivery }): Committed<object> => ({ after: buildChange(delivery.sessionId) }),
});

const IS_QUIET_SQL = "g.next_at < statement_timestamp() - interval '1 hour'";

/** The sessions, and the deliveries that expire, of one statement. */
const DUE_MAX = 500;

/** SQL of whether deliveries wait or are being sent, or a chat has been quiet for long. */
export const HAS_OPEN_SQL = `exists (select from holdfast.deliveries d where d.status in ('pending', 'sending'))
or exists (select from holdfast.channel_gates g where ${IS_QUIET_SQL})`;

export const readDueDeliveries = literalQuery({
  name: 'due-deliveries',
  purpose:
    'Mark deliveries that are too old as expired, with their dead letters. Answers those, and the sessions whose oldest open webhook is due, or which are next in a chat. Deletes the gates of chats that are quiet.',
  locking: 'The deliveries that expire, and old gates, skipping those that are locked.',
  // Sent again, it would not answer what it has marked as expired.
  retryMs: 0,
  text: `with expired as (
  update holdfast.deliveries d set status = 'expired', settled_at = clock_timestamp(), owner = null, lease_expires_at = null
  where d.id = any (array(
    select e.id from holdfast.deliveries e
    where e.status in ('pending', 'sending') and e.expires_at <= clock_timestamp()
      and (e.status = 'pending' or e.lease_expires_at <= clock_timestamp())
    limit ${DUE_MAX} for update skip locked
  ))
  returning d.id, d.session_id, d.turn_id, d.channel, d.attempts, d.last_status, d.last_error
),
inserted_dead_letters as (
  insert into holdfast.dead_letters (id, kind, session_id, turn_id, delivery_id, code, reason)
  select ${NEW_ID_SQL}, 'delivery', session_id, turn_id, id, 'delivery_expired',
    coalesce('It expired; its last attempt: ' || last_error, 'It expired before it could be sent.') from expired
),
inserted_events as (
  ${insertEventsSql(`select session_id, turn_id, 'delivery.failed' as type,
    json_build_object('deliveryId', id, 'attempt', attempts, 'status', 'expired') as data, row_number() over () as n from expired`)}
),
oldest as (
  select distinct on (d.session_id) d.session_id, d.seq * 1000 + d.attempts as ring_no, d.status, d.due_at, d.lease_expires_at
  from holdfast.deliveries d
  where d.channel = 'webhook' and d.status in ('pending', 'sending') and d.expires_at > clock_timestamp() order by d.session_id, d.seq
),
due as (
  select session_id, ring_no from oldest
  where (status = 'pending' and due_at <= clock_timestamp()) or (status = 'sending' and lease_expires_at <= clock_timestamp())
  limit ${DUE_MAX}
),
heads as (
  ${headsOfChatsSql('d.expires_at > clock_timestamp()')}
),
due_heads as (
  select gated.session_id, floor(extract(epoch from gated.chat_free_at) * 1000)::bigint as ring_no from (${GATED_HEADS_SQL}) as gated
  where gated.free_at <= clock_timestamp() limit ${DUE_MAX}
),
quiet_gates as (
  delete from holdfast.channel_gates g where g.place = any (array(
    select g.place from holdfast.channel_gates g where ${IS_QUIET_SQL}
    order by g.next_at limit ${DUE_MAX} for update skip locked
  ))
)
select session_id as "sessionId", ring_no as "ringNo", null::json as expired from due
union all
select session_id, ring_no, null::json from due_heads
union all
select session_id, null, json_build_object('id', id, 'turnId', turn_id, 'channel', channel, 'attempts', attempts, 'lastStatus', last_status)
from expired`,
  answer: (rows: DueRow[]) => ({
    // The number grows with every attempt, so that it names a ring. The job of a relay that died
    // with one part keeps the queue from taking its number again for minutes, and must not do so
    // for the next part: of a chat, the number is the time from which it is free.
    rings: rows.flatMap(({ sessionId, ringNo }): DeliveryRing[] =>
      ringNo === null ? [] : [{ kind: 'deliver', sessionId, ringNo: Number(ringNo) }],
    ),
    expired: rows.flatMap(({ sessionId, expired }): ExpiredDelivery[] =>
      expired === null ? [] : [{ sessionId, ...expired }],
    ),
  }),
});

/** A delivery that has just expired. */
export interface ExpiredDelivery {
  id: DeliveryId;
  sessionId: SessionId;
  turnId: string | null;
  channel: string;
  attempts: number;
  /** The HTTP status of its last attempt, if that had one. */
  lastStatus: number | null;
}

interface DueRow {
  sessionId: SessionId;
  ringNo: string | null;
  expired: Omit<ExpiredDelivery, 'sessionId'> | null;
}
