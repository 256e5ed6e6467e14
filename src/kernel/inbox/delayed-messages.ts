// Messages with `deliverAt`, which are not stored by `putInputs`, because they have not arrived:
// nothing counts such a message, no turn sees it, and no stop reaches it. It and its keys are
// stored when it is accepted. At its time a scheduler delivers it, and from then on it is a message
// like any other: its number, its queue mode and what becomes of it are decided in that statement,
// which is the one that accepts.
import type { Committed } from '../queue/after-commit.ts';
import type { MessageId, SessionId } from '../../core/ids.ts';
import {
  acceptedEvents,
  ARRIVED_SQL,
  counted,
  fitting,
  judged,
  locked,
  newInputs,
  numbered,
  REJECTION_SQL,
  rungDoorbells,
  storedSql,
  updatedSessions,
  woken,
  type Acceptance,
  type SessionGone,
  acceptedBy,
  findReason,
} from './accept-messages.ts';
import type { Database } from '../../database/database.ts';
import { insertedEvents } from '../events/events.ts';
import { KEY_COLUMNS } from '../../database/idempotency.ts';
import { literalQuery } from '../../database/literal-query.ts';
import type { NewInput } from './new-input.ts';
import { buildAfter, type RungColumns } from '../queue/rings.ts';
import { SOON_SQL, type WorkQuestion } from '../queue/work-watch.ts';
import { sendQuery, cte, rows, statement } from '../../database/statement.ts';
import { sessionFactsSql } from '../sessions/session-facts.ts';

/** A message with its time. */
export interface DelayedInput extends NewInput {
  /** Milliseconds since the epoch. */
  deliverAt: number;
}

const NO_KEYS = cte('inserted_keys as (select null::uuid as resource_id where false)');

export const STORE_DELAYED = statement<readonly [DelayedInput]>({
  name: 'store-delayed',
  purpose: 'Store a message that is delivered later, with its key. Answers a row if it is stored.',
  locking: 'The session row.',
  ctes: [
    rows('input', (inputs: readonly [DelayedInput]) => inputs, {
      id: ['uuid', (input) => input.messageId],
      session_id: ['uuid', (input) => input.sessionId],
      kind: ['text', (input) => input.kind],
      body: ['json', (input) => input.body],
      route: ['text', (input) => input.route],
      mode: ['text', (input) => input.mode],
      platform_key: ['text', (input) => input.platformKey],
      counted_for: ['text', (input) => input.countedFor ?? null],
      waiting_max: ['int', (input) => input.waitingMax],
      deliver_at: ['timestamptz', (input) => new Date(input.deliverAt)],
      ...KEY_COLUMNS,
    }),
    locked,
    cte(`fitting as materialized (
  select input.*, s.inbox_seq + 1 as seq from input join locked s on s.id = input.session_id
  where (select count(*) from holdfast.inbox i where i.session_id = s.id and i.status = 'delayed') < input.waiting_max
)`),
    cte(`inserted_keys as (
  insert into holdfast.idempotency_keys (scope, key, request_sha256, resource_id)
  select scope, key, sha256, id from fitting where key is not null
  on conflict do nothing
  returning resource_id
)`),
    cte(`stored as (
  insert into holdfast.inbox (id, session_id, seq, kind, body, route, mode, platform_key, status, deliver_at, answer, counted_for)
  select f.id, f.session_id, f.seq, f.kind, f.body, f.route, f.mode, f.platform_key, 'delayed', f.deliver_at,
    case when f.key is not null then ${sessionFactsSql('s')} end, f.counted_for
  from fitting f join locked s on s.id = f.session_id
  where f.key is null or f.id in (select resource_id from inserted_keys)
  on conflict do nothing
  returning *
)`),
    cte(`updated_sessions as (
  update holdfast.sessions s set inbox_seq = stored.seq, updated_at = clock_timestamp() from stored where s.id = stored.session_id
)`),
  ],
  select: `select stored.id, ${storedSql('stored')} as message, 'queued' as disposition, s.lane, null as rings, false as "isOverCap",
  ${sessionFactsSql('s')} as session
from stored join locked s on s.id = stored.session_id`,
});

/** Stores a message that is delivered later. */
export async function storeDelayed(
  database: Database,
  input: DelayedInput,
): Promise<Committed<Acceptance | SessionGone>> {
  const result = await database.hot.query(STORE_DELAYED.prepared([input]));
  const [row] = result.rows;
  return row === undefined ? await findReason(database, input) : acceptedBy(input, row);
}

/** A message whose time has come. */
export interface DueMessage {
  id: MessageId;
  sessionId: SessionId;
  body: unknown;
  route: string;
  mode: NewInput['mode'];
  platformKey: string | null;
}

/** This many are delivered together. */
const DUE_MAX = 100;

export const readDueMessages = literalQuery({
  name: 'due-messages',
  purpose:
    'Read the messages whose time has come and in whose session fewer than so many wait, in their order, and in how many milliseconds the next one comes.',
  pool: 'views',
  text: `select coalesce((select json_agg(due) from (
    select i.id, i.session_id as "sessionId", i.body, i.route, i.mode, i.platform_key as "platformKey" from holdfast.inbox i
    join holdfast.sessions s on s.id = i.session_id
    where i.status = 'delayed' and i.deliver_at <= clock_timestamp() and s.waiting < $1 order by i.deliver_at, i.id limit ${DUE_MAX}
  ) as due), '[]') as due,
  (select (extract(epoch from next.deliver_at - clock_timestamp()) * 1000)::float8 from (
    select i.deliver_at from holdfast.inbox i where i.status = 'delayed' and i.deliver_at > clock_timestamp() order by i.deliver_at limit 1
  ) as next) as "nextInMs"`,
  values: (waitingMax: number) => [waitingMax],
  answer: ([row]: { due: DueMessage[]; nextInMs: number | null }[]) => row ?? { due: [], nextInMs: null },
});

/** Whether a message is due soon. */
export const DELAYED_WORK: WorkQuestion = {
  sql: `exists (select from holdfast.inbox i where i.status = 'delayed' and i.deliver_at <= ${SOON_SQL})`,
};

export const DELIVER_DELAYED = statement<readonly NewInput[]>({
  name: 'deliver-delayed',
  purpose:
    'Let messages arrive whose time has come, as if they were accepted now. Answers a row per message; those that another scheduler has delivered are left out.',
  locking: 'The session rows in the order of their ids, then the messages.',
  ctes: [
    newInputs,
    locked,
    fitting,
    NO_KEYS,
    numbered,
    judged,
    cte(`stored as (
  update holdfast.inbox i
  set seq = judged.seq, mode = judged.mode, disposition = judged.disposition, received_at = clock_timestamp(),
    status = case when judged.disposition = 'rejected' then 'dropped' else 'waiting' end,
    settled_at = case when judged.disposition = 'rejected' then clock_timestamp() end,
    error = ${REJECTION_SQL}
  from judged join locked s on s.id = judged.session_id where i.id = judged.id and i.status = 'delayed'
  returning i.id, i.session_id, i.seq, i.kind, i.mode, i.disposition, i.status, i.error, i.reply, i.received_at, i.settled_at, s.scope
)`),
    counted,
    updatedSessions,
    rungDoorbells,
    woken,
    acceptedEvents,
    insertedEvents('accepted_events'),
  ],
  select: `select stored.id, stored.session_id as "sessionId", stored.status, ${ARRIVED_SQL}`,
});

/** A message that has arrived. */
export type Delivered = Committed<{ id: MessageId; sessionId: SessionId; isWaiting: boolean }>;

/** Delivers messages; those that do not fit into their session stay, and are tried again. */
export async function deliverDelayed(
  database: Database,
  inputs: readonly NewInput[],
): Promise<(Delivered & { input: NewInput; isOverCap: boolean })[]> {
  type Row = RungColumns & { id: MessageId; sessionId: SessionId; status: string; isOverCap: boolean | null };
  const delivered = await sendQuery<Row>(database.hot, DELIVER_DELAYED.prepared(inputs));
  return delivered.map(({ id, sessionId, status, isOverCap, ...rung }) => {
    // The statement answers only what it was given.
    const input = inputs.find(({ messageId }) => messageId === id)!;
    const after = buildAfter('inbound', sessionId, rung, input.priority);
    return { id, sessionId, isWaiting: status === 'waiting', isOverCap: isOverCap === true, input, after };
  });
}
