// Puts inputs into the inboxes of sessions: the tick of a cron, a poll, an item of a batch, the
// task of a subagent and its end, a chat command, a message that is retried. The last write of a
// transaction that has locked the sessions: it numbers the inputs, counts them, inserts the
// doorbells that their sessions need, and writes the events. Before its commit nothing of them
// exists; after it the doorbells do, so the reconciler rings for a session that the process has not
// rung for (G22).
import type { AfterCommit, TurnRing } from '../queue/after-commit.ts';
import type { MessageId, SessionId } from '../../core/ids.ts';
import { chargedPart } from './charged-inputs.ts';
import { insertedLaterEvents, type NewEvent } from '../events/events.ts';
import { insertedKeys, type KeyedRequest } from '../../database/idempotency.ts';
import { buildAfter, mergeAll, ringSql, type RungColumns } from '../queue/rings.ts';
import { sessionFactsSql } from '../sessions/session-facts.ts';
import { cte, rows, statement } from '../../database/statement.ts';
import type { Transaction } from '../../database/transaction.ts';

/** An input that a transaction puts into the inbox of a session which it has locked. */
export interface PutInput {
  id: MessageId;
  sessionId: SessionId;
  kind: 'announcement' | 'batch' | 'compaction' | 'cron' | 'followup' | 'heartbeat' | 'message';
  /** JSON text. */
  body: string;
  route: string;
  mode?: string | null;
  /** Null: it has none. Of two inputs with one cause, the first is stored. */
  causeKey: string | null;
  /** The key of the platform that sent it; as the cause. */
  platformKey?: string | null;
  /**
   * It is stored as settled: not needed, for this reason, or a chat command with the reply to it.
   * Absent: it waits.
   */
  settled?: NotNeeded | { status: 'answered'; reply: string } | null;
  /** True: it joins the running turn. */
  steers?: boolean;
}

/** Why an input needs no turn. */
export interface NotNeeded {
  status: 'silent' | 'cancelled';
  error: { code: string; message: string };
}

/** What a transaction puts into inboxes. */
export interface Put {
  inputs: readonly PutInput[];
  /** What has happened before they arrive. */
  events?: readonly (NewEvent & { sessionId: SessionId })[];
  /**
   * The key of the request, with what it made or the message that it is; not stored when no input
   * of it is.
   */
  keyed?: { request: KeyedRequest | null; result: object } | { request: KeyedRequest | null; messageId: MessageId };
  /** The job that rings for them; absent: that of their kind. */
  ring?: TurnRing['kind'];
}

/** The job that rings for an input of each kind. */
const RINGS: Record<PutInput['kind'], TurnRing['kind']> = {
  announcement: 'announce',
  batch: 'inbound',
  compaction: 'inbound',
  cron: 'cron',
  followup: 'followup',
  heartbeat: 'heartbeat',
  message: 'inbound',
};

export const PUT_INPUTS = statement<Put>({
  name: 'put-inputs',
  purpose:
    'Put inputs into inboxes, once for each id, cause and key of a platform. Answers the sessions that something has arrived in, with its ids and the rings.',
  locking: 'The session rows, which the transaction has locked.',
  ctes: [
    rows('incoming', ({ inputs }) => inputs, {
      n: ['int', (_, index) => index],
      id: ['uuid', ({ id }) => id],
      session_id: ['uuid', ({ sessionId }) => sessionId],
      kind: ['text', ({ kind }) => kind],
      body: ['json', ({ body }) => body],
      route: ['text', ({ route }) => route],
      mode: ['text', ({ mode = null }) => mode],
      cause_key: ['text', ({ causeKey }) => causeKey],
      platform_key: ['text', ({ platformKey = null }) => platformKey],
      status: ['text', ({ settled }) => settled?.status ?? 'waiting'],
      disposition: [
        'text',
        ({ settled, steers }) => (settled?.status === 'answered' ? 'command' : steers ? 'steered' : 'queued'),
      ],
      reply: ['text', ({ settled }) => (settled?.status === 'answered' ? settled.reply : null)],
      error: ['json', ({ settled }) => (settled && 'error' in settled ? JSON.stringify(settled.error) : null)],
    }),
    // By their place in the list.
    cte(`numbered as materialized (
  select incoming.*, s.scope, s.inbox_seq + row_number() over (partition by s.id order by incoming.n) as seq,
    case when incoming.status = 'answered' then ${sessionFactsSql('s')} end as answer
  from incoming join holdfast.sessions s on s.id = incoming.session_id
)`),
    cte(`inserted_inputs as (
  insert into holdfast.inbox (id, session_id, seq, kind, body, route, mode, cause_key, platform_key, status, disposition, reply, error, answer,
    settled_at, scope)
  select id, session_id, seq, kind, body, route, mode, cause_key, platform_key, status, disposition, reply, error, answer,
    case when status <> 'waiting' then clock_timestamp() end, scope
  from numbered order by session_id, seq
  on conflict do nothing
  returning id, session_id, seq, kind, status, disposition, case when status = 'waiting' then body -> 'chargedTo' end as charged_to
)`),
    cte(chargedPart('inserted_inputs')),
    // Ticks and polls are no messages: a session that gets nothing else is idle.
    cte(`arrived as materialized (
  select session_id, max(seq) as last_seq, count(*) filter (where status = 'waiting')::int as waiting, array_agg(id) as ids,
    coalesce(max(seq) filter (where status = 'waiting' and disposition = 'steered'), 0) as steer_seq,
    bool_or(status in ('waiting', 'answered') and kind in ('message', 'announcement')) as is_message, bool_or(kind = 'batch') as is_of_batch
  from inserted_inputs group by session_id
)`),
    cte(`updated_sessions as (
  update holdfast.sessions s
  set waiting = s.waiting + arrived.waiting, inbox_seq = greatest(s.inbox_seq, arrived.last_seq), steer_seq = greatest(s.steer_seq, arrived.steer_seq),
    last_message_at = case when arrived.is_message then clock_timestamp() else s.last_message_at end, updated_at = clock_timestamp()
  from arrived where s.id = arrived.session_id
  returning s.*, arrived.waiting as has_arrived, arrived.is_of_batch
)`),
    // Items of a batch wait in a lane of their own, so that people need not wait for them.
    cte(`rung_doorbells as (
  ${ringSql('updated_sessions', { lane: "case when s.is_of_batch then 'batch' else s.lane end", condition: 's.has_arrived > 0' })}
)`),
    insertedKeys(
      'select $result::json where exists (select from inserted_inputs) or not exists (select from incoming)',
      ({ keyed }) => keyed?.request,
      '$message_id::uuid',
    ),
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
      {
        binds: {
          result: ({ keyed }) => (keyed && 'result' in keyed ? JSON.stringify(keyed.result) : null),
          message_id: ({ keyed }) => (keyed && 'messageId' in keyed ? keyed.messageId : null),
        },
      },
    ),
    insertedLaterEvents('new_events', 'put_events'),
  ],
  select: `select arrived.session_id as "sessionId", arrived.ids, lane, rings
from arrived left join rung_doorbells on rung_doorbells.session_id = arrived.session_id`,
});

/**
 * Puts them in, and writes the events. `stored` has the ids of those that were new; a caller that
 * must undo the rest for one that was not throws. `after` has the sessions that something has
 * arrived in.
 */
export function putInputs(tx: Transaction, put: Put): Promise<PutResult> {
  const { inputs, events = [], keyed, ring } = put;
  const kinds = new Map(inputs.map(({ sessionId, kind }) => [sessionId, kind]));
  const read = (arrived: Arrived[]): PutResult => ({
    stored: new Set(arrived.flatMap(({ ids }) => ids)),
    after: mergeAll(
      arrived.map((row) => ({ after: buildAfter(ring ?? RINGS[kinds.get(row.sessionId)!], row.sessionId, row) })),
    ),
  });
  const isEmpty = inputs.length + events.length === 0 && (keyed?.request ?? null) === null;
  return isEmpty ? Promise.resolve(read([])) : tx.query(PUT_INPUTS.prepared(put), read);
}

interface PutResult {
  stored: ReadonlySet<MessageId>;
  after: AfterCommit;
}

interface Arrived extends RungColumns {
  sessionId: SessionId;
  ids: MessageId[];
}

/**
 * The body of an announcement, as JSON text: its facts, and what it takes over from the input that
 * caused it, which is JSON text, too. JSON null as `deliver` means nowhere, and no value means the
 * default of the configuration.
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
