// The deliveries that the reconciler rings for, and those that are too old to be sent.
import type { DeliveryId, SessionId } from '../../../core/ids.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { NEW_ID_SQL } from '../../../database/page.ts';
import { insertEventsSql } from '../../../kernel/events/events.ts';
import type { DeliveryRing } from '../../../kernel/queue/after-commit.ts';
import { GATED_HEADS_SQL, headsOfChatsSql, IS_DUE_SQL } from './claims.ts';

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
  select distinct on (d.session_id) d.session_id, d.seq * 1000 + d.attempts as ring_no, ${IS_DUE_SQL} as is_due
  from holdfast.deliveries d
  where d.channel = 'webhook' and d.status in ('pending', 'sending') and d.expires_at > clock_timestamp() order by d.session_id, d.seq
),
due as (
  select session_id, ring_no from oldest where is_due limit ${DUE_MAX}
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
