// Ends one message that waits, without a turn: a caller cancels it, or the worker that has claimed
// its session settles it.
import type { Committed } from '../queue/after-commit.ts';
import type { MessageId, SessionId } from '../../core/ids.ts';
import { insertEventsSql } from '../events/events.ts';
import { keyedSql, type KeyedRequest } from '../../database/idempotency.ts';
import { literalQuery } from '../../database/literal-query.ts';

/** `taken`: a worker may be claiming it for a turn. `settled`: it is no longer waiting. */
export type MessageCancellation = { kind: 'done' | 'unknown' | 'taken' } | { kind: 'settled'; status: string };

// The session row is locked, as for every statement that takes waiting messages, so a message is
// either cancelled or part of a turn. A worker that has claimed the session and not opened its turn
// yet has read what waits, and a running turn has read the messages that may join it (up to
// `steer_seq`): those are left alone.
export const cancelMessage = literalQuery({
  name: 'cancel-message',
  purpose: 'Cancel a message that waits. No row: there is no such message. `status`: what it was.',
  locking: 'The session row.',
  // Sent again, it would find the message settled.
  retryMs: 0,
  text: `with found as materialized (
  select i.id, i.session_id from holdfast.inbox i where i.id = $id
),
locked as materialized (
  select s.* from holdfast.sessions s join found on s.id = found.session_id for no key update of s
),
cancelled_waiting as (
  update holdfast.inbox i
  set status = 'cancelled', settled_at = clock_timestamp(), error = json_build_object('code', 'cancelled', 'message', $reason::text)
  from locked where i.id = $id and i.session_id = locked.id and i.status = 'waiting'
    and (locked.owner is null or locked.turn_id is not null and i.seq > locked.steer_seq)
  returning i.id, i.seq, i.session_id
),
-- One that is delivered later is not counted yet.
cancelled_delayed as (
  update holdfast.inbox i
  set status = 'cancelled', settled_at = clock_timestamp(), error = json_build_object('code', 'cancelled', 'message', $reason::text)
  from locked where i.id = $id and i.session_id = locked.id and i.status = 'delayed'
  returning i.id, i.seq, i.session_id
),
cancelled as (
  select * from cancelled_waiting union all select * from cancelled_delayed
),
updated_sessions as (
  update holdfast.sessions s set waiting = s.waiting - (select count(*) from cancelled_waiting)::int, updated_at = clock_timestamp()
  from cancelled where s.id = cancelled.session_id
),
inserted_events as (
  ${insertEventsSql(`select session_id, null::uuid as turn_id, 'message.settled' as type,
    json_build_object('messageId', id, 'status', 'cancelled') as data, seq as n from cancelled`)}
),
${keyedSql(`select json_build_object('messageIds', null) from cancelled`)}
select found.session_id as "sessionId", (select i.status from holdfast.inbox i where i.id = $id) as status,
  exists (select from cancelled) as "isCancelled"
from found`,
  values: ({ id, reason, idempotency }: { id: string; reason: string; idempotency: KeyedRequest | null }) => ({
    id,
    reason,
    ...idempotency,
  }),
  answer([row]: { sessionId: SessionId; status: string; isCancelled: boolean }[]): Committed<MessageCancellation> {
    if (row === undefined) return { kind: 'unknown' };
    const { sessionId, status, isCancelled } = row;
    if (isCancelled) return { kind: 'done', after: { changed: [sessionId], settled: [sessionId], rings: [] } };
    return status === 'waiting' || status === 'delayed' ? { kind: 'taken' } : { kind: 'settled', status };
  },
});

// Settles an input that needs no turn, for the worker that has claimed its session. Fenced like
// every write of a turn: if this worker no longer holds the session, nothing is written.
/** Doing it twice changes nothing. */
export const settleWithoutTurn = literalQuery({
  name: 'settle-without-turn',
  purpose: 'Settle a waiting input as silent, if the session still has the epoch.',
  locking: 'The session row.',
  text: `with locked as materialized (
  select s.id from holdfast.sessions s where s.id = $sessionId and s.epoch = $epoch and s.turn_id is null for no key update
),
settled as (
  update holdfast.inbox i set status = 'silent', settled_at = clock_timestamp()
  from locked where i.id = $messageId and i.session_id = locked.id and i.status = 'waiting'
  returning i.id, i.seq, i.session_id
),
updated_sessions as (
  update holdfast.sessions s set waiting = s.waiting - 1 from settled where s.id = settled.session_id
),
inserted_events as (
  ${insertEventsSql(`select session_id, null::uuid as turn_id, 'message.settled' as type,
    json_build_object('messageId', id, 'status', 'silent') as data, seq as n from settled`)}
)
select id from locked`,
  values: (input: { sessionId: SessionId; epoch: number; messageId: MessageId }) => input,
  answer: (rows: object[], { sessionId }): Committed<{ isHeld: boolean }> =>
    rows.length === 0 ? { isHeld: false } : { isHeld: true, after: { changed: [], settled: [sessionId], rings: [] } },
});
