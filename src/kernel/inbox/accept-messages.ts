// Accepting messages, without `putInputs`: one statement, which many messages share, because it is
// the plain path of each. It assigns each session's next numbers, inserts the rows under their
// unique keys, and returns the doorbells that must be rung. An answered message is committed (G1).
// A second statement says why some were not stored.
//
// Locking: the session rows, in the order of their ids, first. A turn that ends locks the same row
// before it decides that nothing waits, so a message that finds the session busy is never missed.
import type { MessageView, SessionFacts } from '../../contract/views.ts';
import type { MessageId } from '../../core/ids.ts';
import { chargedPart } from './charged-inputs.ts';
import type { NewInput } from './new-input.ts';
import { insertedEvents } from '../events/events.ts';
import { KEY_COLUMNS } from '../../database/idempotency.ts';
import {
  jsonObjectSql,
  cte,
  optional,
  rows,
  statement,
  shareStatement,
  type RowSubmitter,
} from '../../database/statement.ts';
import { ringSql, buildAfter } from '../queue/rings.ts';
import { isoSql, sessionFactsSql } from '../sessions/session-facts.ts';
import type { Committed } from '../queue/after-commit.ts';
import type { Lane } from '../../config.ts';
import type { Database } from '../../database/database.ts';

// Not `putInputs`: one statement, which many messages share, accepts them, because it is the plain
// path of each message. Here are that statement and the one that says why some were not stored
// (accept-messages.ts).

/** A message as the answer shows it. */
export type StoredMessage = Pick<
  MessageView,
  'seq' | 'kind' | 'receivedAt' | 'status' | 'error' | 'reply' | 'settledAt'
> & { id: MessageId };

type Inputs = readonly NewInput[];

// How many messages wait, this one included, as the answer reports it.
const WAITING_SQL = `(judged.would_wait - (judged.disposition = 'rejected' or judged.command_reply is not null)::int)`;

export const newInputs = rows('input', (inputs: Inputs) => inputs, {
  n: ['int', (_, index) => index + 1],
  id: ['uuid', (input) => input.messageId],
  session_id: ['uuid', (input) => input.sessionId],
  kind: ['text', (input) => input.kind],
  body: ['json', (input) => input.body],
  route: ['text', (input) => input.route],
  inline_mode: ['text', (input) => input.mode],
  platform_key: ['text', (input) => input.platformKey],
  waiting_max: ['int', (input) => input.waitingMax],
  default_mode: ['text', (input) => input.queue?.mode ?? null],
  cap: ['int', (input) => input.queue?.cap ?? null],
  drop_policy: ['text', (input) => input.queue?.drop ?? null],
  command_reply: ['text', (input) => input.commandReply ?? null],
  traceparent: ['text', (input) => input.traceparent ?? null],
  counted_for: ['text', (input) => input.countedFor ?? null],
  ...KEY_COLUMNS,
});

export const locked = cte(
  `locked as materialized (
  select s.*, s.turn_id is not null or s.owner is not null and s.lease_expires_at > clock_timestamp() as is_busy,
    s.turn_id is not null and s.owner is null
      and coalesce((select t.park_code from holdfast.turns t where t.id = s.turn_id and t.status = 'parked') = 'caller', false) as awaits_caller
  from holdfast.sessions s where s.id = any ($sessions::uuid[]) order by s.id for no key update
)`,
  { binds: { sessions: (inputs: Inputs) => inputs.map((input) => input.sessionId) } },
);

export const fitting = cte(`fitting as materialized (
  select * from (
    select input.*, s.waiting + row_number() over (partition by input.session_id order by input.n) as would_wait
    from input join locked s on s.id = input.session_id
  ) as counted where would_wait <= waiting_max
)`);

const insertedKeys = optional('keys', (inputs: Inputs) => inputs.some((input) => input.idempotency !== null))(
  cte(
    `inserted_keys as (
  insert into holdfast.idempotency_keys (scope, key, request_sha256, resource_id)
  select scope, key, sha256, id from fitting where key is not null
  on conflict do nothing
  returning resource_id
)`,
    { absent: 'inserted_keys as (select null::uuid as resource_id where false)' },
  ),
);

export const numbered = cte(`numbered as materialized (
  select fitting.*, s.is_busy, s.awaits_caller and fitting.body -> 'caller' is not null as is_instead, s.inbox_seq + row_number() over (partition by fitting.session_id order by fitting.n) as seq,
    case when default_mode is not null then coalesce(inline_mode, s.queue_mode, default_mode) end as mode,
    default_mode is not null and coalesce(s.queue_drop, drop_policy) = 'new' and would_wait > coalesce(s.queue_cap, cap) as is_over
  from fitting join locked s on s.id = fitting.session_id
  where fitting.key is null or fitting.id in (select resource_id from inserted_keys)
)`);

export const judged = cte(`judged as materialized (
  select *, case
      when command_reply is not null or kind = 'compaction' then 'command'
      when is_over or is_busy and mode = 'reject' then 'rejected'
      -- A client writes this message instead of the results for which the turn waits.
      when is_instead or is_busy and mode in ('interrupt', 'rollback') then 'interrupting'
      when is_busy and mode in ('steer', 'steer-backlog') then 'steered'
      else 'queued'
    end as disposition
  from numbered
)`);

/** The error of a message that was rejected; null for others. */
export const REJECTION_SQL = `case when judged.disposition <> 'rejected' then null
      when judged.is_over then json_build_object('code', 'overflow', 'message', 'The inbox is full.')
      else json_build_object('code', 'busy', 'message', 'The session was busy, and the queue mode of the message is reject.') end`;

const stored = cte(`stored as (
  insert into holdfast.inbox (id, session_id, seq, kind, body, route, mode, platform_key, traceparent, disposition, reply, status, error,
    settled_at, answer, scope, counted_for)
  select judged.id, session_id, seq, judged.kind, body, route, mode, platform_key, traceparent, disposition, command_reply,
    case when disposition = 'rejected' then 'dropped' when command_reply is not null then 'answered' else 'waiting' end,
    ${REJECTION_SQL},
    case when disposition = 'rejected' or command_reply is not null then clock_timestamp() end,
    case when judged.key is not null then ${sessionFactsSql('s', WAITING_SQL)} end, s.scope, counted_for
  from judged join locked s on s.id = judged.session_id
  on conflict do nothing
  returning id, session_id, seq, kind, mode, disposition, status, error, reply, received_at, settled_at, scope
)`);

const charged = optional('charged', (inputs: Inputs) => inputs.some((input) => input.chargedTo !== undefined))(
  cte(`charged_messages as (
  select stored.id, judged.body -> 'chargedTo' as charged_to from stored join judged on judged.id = stored.id where stored.status = 'waiting'
)`),
  cte(chargedPart('charged_messages')),
);

export const counted = cte(`counted as materialized (
  select session_id, max(seq) as last_seq, count(*) filter (where status = 'waiting')::int as arrived,
    coalesce(max(seq) filter (where disposition = 'steered'), 0) as steer_seq,
    bool_or(disposition = 'interrupting') as interrupts, bool_or(disposition = 'interrupting' and mode = 'rollback') as rolls_back
  from stored group by session_id
)`);

export const updatedSessions = cte(`updated_sessions as (
  update holdfast.sessions s
  set inbox_seq = counted.last_seq, waiting = s.waiting + counted.arrived, updated_at = clock_timestamp(),
    last_message_at = clock_timestamp(), steer_seq = greatest(s.steer_seq, counted.steer_seq),
    stop_kind = case when counted.rolls_back then 'rolledBack'
      when counted.interrupts and s.stop_reason is null then 'interrupted' else s.stop_kind end,
    stop_reason = case when counted.rolls_back then 'rolled back by a newer message'
      when counted.interrupts then coalesce(s.stop_reason, 'interrupted by a newer message') else s.stop_reason end
  from counted where s.id = counted.session_id
  returning s.*, counted.arrived, counted.interrupts
)`);

export const rungDoorbells = cte(`rung_doorbells as (
  ${ringSql('updated_sessions', { condition: 's.arrived > 0' })}
)`);

// The next worker ends a turn that is parked or released: it must not wait until it is due.
export const woken = cte(`woken as (
  update holdfast.doorbells d set rings = d.rings + 1, rung_at = clock_timestamp(), due_at = clock_timestamp()
  from updated_sessions
  where updated_sessions.interrupts and updated_sessions.turn_id is not null and updated_sessions.owner is null and d.session_id = updated_sessions.id
    and d.due_at > clock_timestamp()
  returning d.session_id, d.rings
)`);

export const acceptedEvents = cte(`accepted_events as (
  select session_id, null::uuid as turn_id, 'message.accepted' as type,
    json_build_object('messageId', id, 'seq', seq, 'kind', kind, 'disposition', disposition) as data, seq * 2 as n, scope from stored
  union all
  select session_id, null, 'message.settled', json_build_object('messageId', id, 'status', status), seq * 2 + 1, scope from stored
  where status <> 'waiting'
)`);

/** SQL of a `StoredMessage`, from a row of the inbox. */
export function storedSql(alias: string): string {
  const fields: Record<keyof StoredMessage, string> = {
    id: `${alias}.id`,
    kind: `${alias}.kind`,
    seq: `${alias}.seq`,
    receivedAt: isoSql(`${alias}.received_at`),
    // The API shows a delayed message as waiting.
    status: `replace(${alias}.status, 'delayed', 'waiting')`,
    error: `${alias}.error`,
    reply: `${alias}.reply`,
    settledAt: isoSql(`${alias}.settled_at`),
  };
  return jsonObjectSql(fields);
}

/**
 * The rest of a final select, from the ring: what each row of `stored` has caused in its session.
 */
export const ARRIVED_SQL = `s.lane, coalesce(rung_doorbells.rings, woken.rings) as rings,
  updated_sessions.waiting > coalesce(s.queue_cap, judged.cap) and coalesce(s.queue_drop, judged.drop_policy) in ('summarize', 'old') as "isOverCap"
from stored join judged on judged.id = stored.id join locked s on s.id = stored.session_id
join updated_sessions on updated_sessions.id = stored.session_id left join rung_doorbells on rung_doorbells.session_id = stored.session_id
left join woken on woken.session_id = stored.session_id
order by stored.seq`;

/**
 * The CTE `locked` sees each session as it is once its lock is granted; the other tables are seen
 * as they were when the statement began, which is why uniqueness is left to the indexes (`on
 * conflict`) and counts are kept in the session row.
 */
export const ACCEPT = statement<Inputs>({
  name: 'accept',
  purpose: 'Store the inputs that are new and fit. Answers a row per stored input.',
  locking: 'The session rows in the order of their ids.',
  ctes: [
    newInputs,
    locked,
    fitting,
    ...insertedKeys,
    numbered,
    judged,
    stored,
    ...charged,
    counted,
    updatedSessions,
    rungDoorbells,
    woken,
    acceptedEvents,
    insertedEvents('accepted_events'),
  ],
  select: `select stored.id, ${storedSql('stored')} as message, stored.disposition, ${sessionFactsSql('s', WAITING_SQL)} as session,
  ${ARRIVED_SQL}`,
});

/**
 * Looked up afterwards, in a new snapshot, because the row that an input met may be as young as
 * itself.
 */
export const ACCEPT_REASONS = statement<Inputs>({
  name: 'accept-reasons',
  purpose: 'Say why inputs were not stored. Answers a row per input.',
  locking: 'None.',
  ctes: [
    rows('input', (inputs: Inputs) => inputs, {
      id: ['uuid', (input) => input.messageId],
      session_id: ['uuid', (input) => input.sessionId],
      platform_key: ['text', (input) => input.platformKey],
      ...KEY_COLUMNS,
    }),
  ],
  select: `select input.id, case when own.id is not null then ${storedSql('own')} end as message, own.disposition, s.lane,
  ${sessionFactsSql('s')} as session,
  k.request_sha256 is distinct from input.sha256 and k.key is not null as is_mismatch, k.resource_id, twin.id as twin_id
from input
left join holdfast.inbox own on own.id = input.id
left join holdfast.sessions s on s.id = input.session_id
left join holdfast.idempotency_keys k on k.scope = input.scope and k.key = input.key
left join holdfast.inbox twin on twin.platform_key = input.platform_key`,
});

/**
 * `accepted`: stored now. A message that was `rejected` is stored as dropped, with its reason.
 * `isOverCap`: more messages wait than the cap allows; drop the oldest. `duplicate`: an equal input
 * was stored before; `id` names it. `mismatch`: the idempotency key was used with another body.
 * `full`: too many wait.
 */
export type Acceptance =
  | {
      kind: 'accepted';
      message: StoredMessage;
      session: SessionFacts;
      disposition: StoredDisposition;
      isOverCap: boolean;
    }
  | { kind: 'duplicate'; id: MessageId; by: 'idempotency' | 'platform' }
  | { kind: 'mismatch' }
  | { kind: 'full' };

/** The session was erased; nothing was written. */
export interface SessionGone {
  kind: 'gone';
}

/** What the answer says about a stored message. */
export type StoredDisposition = 'queued' | 'steered' | 'interrupting' | 'command' | 'rejected';

/** Makes the accepting function of a process; calls that overlap share statements. */
export function createAccept(database: Database): RowSubmitter<NewInput, Committed<Acceptance | SessionGone>> {
  return shareStatement(
    'accept',
    (inputs) => acceptAll(database, inputs),
    ({ body }) => body.length,
  );
}

async function acceptAll(database: Database, inputs: NewInput[]): Promise<Committed<Acceptance | SessionGone>[]> {
  const result = await database.hot.query(ACCEPT.prepared(inputs));
  const stored = new Map<string, AcceptedRow>(result.rows.map((row: AcceptedRow) => [row.id, row]));
  const refused = inputs.filter((input) => !stored.has(input.messageId));
  const reasons = refused.length > 0 ? await findReasons(database, refused) : new Map<string, ReasonRow>();
  const rung = new Set<string>();
  const priorities = new Map<string, number>();
  for (const { sessionId, priority = 0 } of inputs)
    priorities.set(sessionId, Math.max(priorities.get(sessionId) ?? priority, priority));
  return inputs.map((input) => {
    const row = stored.get(input.messageId);
    // ACCEPT_REASONS has a row for each input.
    if (row === undefined) return toAcceptance(input, reasons.get(input.messageId) as ReasonRow);
    // One ring for a session, with the highest priority of its messages.
    const rings = rung.has(input.sessionId) ? null : row.rings;
    rung.add(input.sessionId);
    return acceptedBy({ ...input, priority: priorities.get(input.sessionId) }, { ...row, rings });
  });
}

/** The acceptance of a stored row. */
export function acceptedBy({ sessionId, priority }: NewInput, row: AcceptedRow): Committed<Acceptance> {
  const { message, session, disposition, isOverCap } = row;
  return {
    kind: 'accepted',
    message,
    session,
    disposition,
    isOverCap: isOverCap === true,
    after: buildAfter('inbound', sessionId, row, priority),
  };
}

export interface AcceptedRow {
  id: MessageId;
  message: StoredMessage;
  disposition: StoredDisposition;
  isOverCap: boolean | null;
  session: SessionFacts;
  lane: Lane;
  rings: string | null;
}

/** Why one message was not stored, or that an earlier sending has stored it. */
export async function findReason(database: Database, input: NewInput): Promise<Committed<Acceptance | SessionGone>> {
  const reasons = await findReasons(database, [input]);
  // ACCEPT_REASONS has a row for each input.
  return toAcceptance(input, reasons.get(input.messageId) as ReasonRow);
}

async function findReasons(database: Database, inputs: NewInput[]): Promise<Map<string, ReasonRow>> {
  const result = await database.hot.query(ACCEPT_REASONS.prepared(inputs));
  return new Map(result.rows.map((row: ReasonRow) => [row.id, row]));
}

function toAcceptance(input: NewInput, row: ReasonRow): Committed<Acceptance | SessionGone> {
  const { message, lane } = row;
  // An unknown COMMIT that had succeeded: the first sending stored it, and rang or left it to the
  // reconciler.
  if (message !== null && lane !== null)
    return acceptedBy(input, { ...row, message, lane, isOverCap: false, rings: null });
  if (row.is_mismatch) return { kind: 'mismatch' };
  // A key that made the message itself is replayed as such; one that was new and met an older
  // platform message is not.
  if (row.resource_id !== null && row.resource_id !== row.id && (row.twin_id ?? row.resource_id) === row.resource_id) {
    return { kind: 'duplicate', id: row.resource_id, by: 'idempotency' };
  }
  if (row.twin_id !== null) return { kind: 'duplicate', id: row.twin_id, by: 'platform' };
  return { kind: lane === null ? 'gone' : 'full' };
}

interface ReasonRow extends Omit<AcceptedRow, 'message' | 'lane'> {
  /** Null: there is no such session. */
  lane: Lane | null;
  /** Null: it is not stored. */
  message: StoredMessage | null;
  is_mismatch: boolean;
  resource_id: MessageId | null;
  twin_id: MessageId | null;
}
