// Puts inputs into the inboxes of sessions: the end of a subagent, an answer for another agent, the end of a wait, a word to a subagent. The last
// write of a transaction that has locked the sessions.
import type { AfterCommit, TurnRing } from '../queue/after-commit.ts';
import type { MessageId, SessionId } from '../../core/ids.ts';
import { chargedPart } from './charged-inputs.ts';
import { insertedLaterEvents, type NewEvent } from '../events/events.ts';
import { insertedKeys, type KeyedRequest } from '../../database/idempotency.ts';
import { buildAfter, mergeAll, type RungColumns } from '../queue/rings.ts';
import { ringSql } from '../sessions/session-locks.ts';
import { cte, rows, statement } from '../../database/statement.ts';
import type { Transaction } from '../../database/transaction.ts';

/** An input that a transaction puts into the inbox of a session which it has locked. */
export interface PutInput {
  id: MessageId;
  sessionId: SessionId;
  kind: 'announcement' | 'message';
  /** As JSON text. */
  body: string;
  route: string;
  /** Absent: none. */
  mode?: string | null;
  /** Null: it has none. */
  causeKey: string | null;
  /** Its row is stored as settled, with the reason. Absent: it waits. */
  settled?: { status: 'silent' | 'cancelled'; error: { code: string; message: string } } | null;
  /** True: it joins the running turn. */
  steers?: boolean;
}

interface Put {
  inputs: readonly PutInput[];
  /** What has happened before they arrive. */
  events?: readonly (NewEvent & { sessionId: SessionId })[];
  /** The key of the request for the input, and what it made. */
  keyed?: { request: KeyedRequest | null; result: object };
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
      mode: ['text', ({ mode = null }) => mode],
      cause_key: ['text', ({ causeKey }) => causeKey],
      status: ['text', ({ settled }) => settled?.status ?? 'waiting'],
      disposition: ['text', ({ steers = false }) => (steers ? 'steered' : 'queued')],
      error: ['json', ({ settled }) => (settled ? JSON.stringify(settled.error) : null)],
    }),
    cte(`numbered as materialized (
  select incoming.*, s.inbox_seq + row_number() over (partition by s.id order by incoming.cause_key) as seq
  from incoming join (select * from holdfast.sessions s where s.id in (select session_id from incoming) order by s.id for no key update) as s
    on s.id = incoming.session_id
)`),
    cte(`inserted_inputs as (
  insert into holdfast.inbox (id, session_id, seq, kind, body, route, mode, cause_key, status, disposition, error, settled_at)
  select id, session_id, seq, kind, body, route, mode, cause_key, status, disposition, error,
    case when status <> 'waiting' then clock_timestamp() end
  from numbered
  on conflict do nothing
  returning id, session_id, seq, kind, status, disposition, case when status = 'waiting' then body -> 'chargedTo' end as charged_to
)`),
    cte(chargedPart('inserted_inputs')),
    cte(`arrived as materialized (
  select session_id, max(seq) as last_seq, count(*) filter (where status = 'waiting')::int as waiting,
    coalesce(max(seq) filter (where status = 'waiting' and disposition = 'steered'), 0) as steer_seq
  from inserted_inputs group by session_id
)`),
    cte(`updated_sessions as (
  update holdfast.sessions s
  set waiting = s.waiting + arrived.waiting, inbox_seq = greatest(s.inbox_seq, arrived.last_seq), steer_seq = greatest(s.steer_seq, arrived.steer_seq),
    last_message_at = case when arrived.waiting > 0 then clock_timestamp() else s.last_message_at end, updated_at = clock_timestamp()
  from arrived where s.id = arrived.session_id
  returning s.*, arrived.waiting as has_arrived
)`),
    cte(`rung_doorbells as (
  ${ringSql('updated_sessions', { condition: 's.has_arrived > 0' })}
)`),
    insertedKeys('select $result::json where exists (select from inserted_inputs)', ({ keyed }) => keyed?.request),
    rows('new_events', ({ events = [] }) => events, {
      session_id: ['uuid', ({ sessionId }) => sessionId],
      turn_id: ['uuid', () => null],
      type: ['text', ({ type }) => type],
      data: ['json', ({ data }) => JSON.stringify(data)],
      n: ['int', (_, index) => index],
    }),
    cte(
      `put_events as (
  select session_id, null::uuid as turn_id, 'message.accepted' as type,
    json_build_object('messageId', id, 'seq', seq, 'kind', kind, 'disposition', disposition) as data, seq * 2 as n from inserted_inputs
  union all
  select session_id, null, 'message.settled', json_build_object('messageId', id, 'status', status), seq * 2 + 1
  from inserted_inputs where status <> 'waiting'
)`,
      { binds: { result: ({ keyed }) => JSON.stringify(keyed?.result ?? null) } },
    ),
    insertedLaterEvents('new_events', 'put_events'),
  ],
  select: `select arrived.session_id as "sessionId", lane, rings
from arrived left join rung_doorbells on rung_doorbells.session_id = arrived.session_id`,
});

/** Puts them in, and writes the events. Its `changed` has the sessions that something has arrived in. */
export async function putInputs(tx: Transaction, put: Put, ring: TurnRing['kind'] = 'announce'): Promise<AfterCommit> {
  if (put.inputs.length === 0 && (put.events ?? []).length === 0) return mergeAll([]);
  const arrived = await tx.query<RungColumns & { sessionId: SessionId }>(PUT_INPUTS.prepared(put));
  return mergeAll(arrived.map((row) => ({ after: buildAfter(ring, row.sessionId, row) })));
}

/**
 * The body of an announcement, as JSON text: its facts, and what it takes over from the input that caused it, which is JSON text, too. JSON null
 * as `deliver` means nowhere, and no value means the default of the configuration.
 */
export function announcementBody(
  announcement: object,
  { deliver, options, chargedTo }: { deliver: string | null; options: string | null; chargedTo: string | null },
): string {
  const fields = { announcement: JSON.stringify(announcement), deliver, options };
  const texts = Object.entries(fields).flatMap(([name, json]) => (json === null ? [] : [`"${name}":${json}`]));
  return chargedBody(`{${texts.join(',')}}`, chargedTo);
}

/** The body of an input, a JSON object with fields, that counts for that: both JSON text. */
export function chargedBody(body: string, chargedTo: string | null): string {
  if (chargedTo === null || chargedTo === '{}') return body;
  return `${body.slice(0, body.lastIndexOf('}'))},"chargedTo":${chargedTo}}`;
}
