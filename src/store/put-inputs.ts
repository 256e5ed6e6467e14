// Parts of statements that insert inputs into the inboxes of sessions that they have locked: the end of a subagent, an answer for
// another agent, the end of a wait. The statement provides `locked` (the current session rows) and `incoming` (the new inputs), and
// updates the session rows itself from `arrived`, because a statement may change a row only once.
import type { AfterCommit } from '../after-commit.ts';
import type { MessageId, SessionId } from '../core/ids.ts';
import { chargedPart } from './charged-inputs.ts';
import { insertedLaterEvents, type NewEvent } from './events.ts';
import { afterOf, allOf, type RungColumns } from './rings.ts';
import { ringSql } from './session-locks.ts';
import { cte, rows, statement } from './statement.ts';
import type { Transaction } from './transaction.ts';

/** SQL of a new UUIDv7, for rows that a statement makes by itself. */
export const NEW_ID_SQL = `encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
    placing substring(int8send(floor(extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6), 52, 1), 53, 1), 'hex')::uuid`;

/**
 * CTEs that store `incoming` (id, session_id, kind, body, route, mode, cause_key, status, disposition, error): `inserted_inputs`, the rows
 * that were stored, `charged`, and `arrived`, what they change in their sessions. A row whose cause is already in an inbox is left out.
 */
export const PUT_PARTS: readonly string[] = [
  `numbered as materialized (
  select incoming.*, l.inbox_seq + row_number() over (partition by incoming.session_id order by incoming.cause_key) as seq
  from incoming join locked l on l.id = incoming.session_id
)`,
  `inserted_inputs as (
  insert into holdfast.inbox (id, session_id, seq, kind, body, route, mode, cause_key, status, disposition, error, settled_at)
  select id, session_id, seq, kind, body, route, mode, cause_key, status, disposition, error,
    case when status <> 'waiting' then clock_timestamp() end
  from numbered
  on conflict do nothing
  returning id, session_id, seq, kind, status, disposition, cause_key, case when status = 'waiting' then body -> 'chargedTo' end as charged_to
)`,
  chargedPart('inserted_inputs'),
  `arrived as materialized (
  select session_id, max(seq) as last_seq, count(*) filter (where status = 'waiting')::int as waiting,
    coalesce(max(seq) filter (where status = 'waiting' and disposition = 'steered'), 0) as steer_seq
  from inserted_inputs group by session_id
)`,
];

/**
 * SQL of the body of an announcement: its facts, and what it takes over from the input that caused it: where the answer is sent, and the
 * options. `origin` is an alias with both as columns. JSON null as `deliver` means nowhere, and no value means the default of the
 * configuration.
 */
export function announcementBodySql(announcement: string, origin: string): string {
  return `(select json_object_agg(field.name, field.value) from (values ('announcement', ${announcement}), ('deliver', ${origin}.deliver),
      ('options', ${origin}.options)) as field (name, value) where field.value is not null)`;
}

/** The assignments by which `arrived`, under that alias, changes a session `s`; nothing changes where it is null. */
export const ARRIVED_SQL = `inbox_seq = greatest(s.inbox_seq, arrived.last_seq),
    steer_seq = greatest(s.steer_seq, arrived.steer_seq),
    last_message_at = case when arrived.waiting > 0 then clock_timestamp() else s.last_message_at end`;

/** A CTE `arrival_doorbells`: doorbells of the sessions of `cte` (rows of sessions after the change) that something has arrived in. */
export function rungForPart(cte: string, condition: string): string {
  return `arrival_doorbells as (
  ${ringSql(cte, { condition })}
)`;
}

/** SQL of the events of `inserted_inputs`, as a source for `insertEventsSql`. */
export const PUT_EVENTS_SQL = `select inserted_inputs.session_id, null::uuid as turn_id, 'message.accepted' as type, json_build_object('messageId', inserted_inputs.id, 'seq', inserted_inputs.seq,
      'kind', inserted_inputs.kind, 'disposition', inserted_inputs.disposition) as data, inserted_inputs.seq * 2 as n from inserted_inputs
    union all
    select inserted_inputs.session_id, null, 'message.settled', json_build_object('messageId', inserted_inputs.id, 'status', inserted_inputs.status), inserted_inputs.seq * 2 + 1
    from inserted_inputs where inserted_inputs.status <> 'waiting'`;

/** An input that a transaction puts into the inbox of a session which it has locked. */
export interface PutInput {
  id: MessageId;
  sessionId: SessionId;
  kind: 'announcement' | 'message';
  /** As JSON text. */
  body: string;
  route: string;
  mode: string | null;
  causeKey: string;
  /** Other than `waiting`: its row is stored as settled. */
  status: 'waiting' | 'silent' | 'cancelled';
  disposition: 'queued' | 'steered';
  error: { code: string; message: string } | null;
}

interface Put {
  inputs: readonly PutInput[];
  /** What has happened before they arrive. */
  events: readonly (NewEvent & { sessionId: SessionId })[];
}

export const PUT_INPUTS = statement<Put>({
  name: 'put-inputs',
  purpose:
    'Put inputs into inboxes, once for each cause. Answers the sessions that something has arrived in, with the rings.',
  locking: 'The session rows in the order of their ids.',
  ctes: [
    rows('incoming', ({ inputs }) => inputs, {
      id: ['uuid', ({ id }) => id],
      session_id: ['uuid', ({ sessionId }) => sessionId],
      kind: ['text', ({ kind }) => kind],
      body: ['json', ({ body }) => body],
      route: ['text', ({ route }) => route],
      mode: ['text', ({ mode }) => mode],
      cause_key: ['text', ({ causeKey }) => causeKey],
      status: ['text', ({ status }) => status],
      disposition: ['text', ({ disposition }) => disposition],
      error: ['json', ({ error }) => (error === null ? null : JSON.stringify(error))],
    }),
    cte(`locked as materialized (
  select s.* from holdfast.sessions s where s.id in (select session_id from incoming) order by s.id for no key update
)`),
    ...PUT_PARTS.map((text) => cte(text)),
    cte(`updated_sessions as (
  update holdfast.sessions s set waiting = s.waiting + arrived.waiting, ${ARRIVED_SQL}, updated_at = clock_timestamp()
  from arrived where s.id = arrived.session_id
  returning s.*, arrived.waiting as has_arrived
)`),
    cte(rungForPart('updated_sessions', 's.has_arrived > 0')),
    rows('new_events', ({ events }) => events, {
      session_id: ['uuid', ({ sessionId }) => sessionId],
      turn_id: ['uuid', () => null],
      type: ['text', ({ type }) => type],
      data: ['json', ({ data }) => JSON.stringify(data)],
      n: ['int', (_, index) => index],
    }),
    cte(`put_events as (\n  ${PUT_EVENTS_SQL}\n)`),
    insertedLaterEvents('new_events', 'put_events'),
  ],
  select: `select arrived.session_id as "sessionId", lane, rings
from arrived left join arrival_doorbells on arrival_doorbells.session_id = arrived.session_id`,
});

/** Puts them in, and writes the events. The last write of its transaction. */
export async function putInputs(tx: Transaction, put: Put): Promise<AfterCommit> {
  if (put.inputs.length === 0 && put.events.length === 0) return allOf([]);
  const arrived = await tx.query<RungColumns & { sessionId: SessionId }>(PUT_INPUTS.prepared(put));
  return allOf(arrived.map((row) => ({ after: afterOf('announce', row.sessionId, row) })));
}
