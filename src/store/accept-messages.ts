// Accepting: the only way into an inbox. One statement for all messages that arrive together takes each session's next
// numbers, stores the rows with their uniqueness, and says whose doorbell must be rung. Answered means committed (G1).
//
// Locking: the session rows, in the order of their ids, first. A turn that ends takes the same row before it decides that
// nothing waits, so nothing falls between a turn that ends and a message that found it busy.
import type { MessageId, SessionId } from '../core/ids.ts';
import type { QueueDrop, QueueMode } from '../core/queue-mode.ts';
import { INTERRUPTED, ROLLED_BACK } from '../core/stop-words.ts';
import { coalesce, type Coalesced } from './coalescer.ts';
import type { Database } from './database.ts';
import { insertEventsSql } from './events.ts';
import { firstRingSql } from './session-locks.ts';
import { isoSql, sessionFactsSql, type SessionFacts } from './session-facts.ts';

/** An input on its way into a session that exists. */
export interface NewInput {
  /** Made by the caller, so that a statement that is sent again stores nothing twice. */
  messageId: MessageId;
  sessionId: SessionId;
  kind: 'message' | 'announcement' | 'cron' | 'heartbeat' | 'followup' | 'batch' | 'compaction';
  /** The validated body as JSON text, stored as it is. */
  body: string;
  /** Where it came from and with whose authority; only inputs of equal route are batched (G6). */
  route: string;
  /** What the message itself asks for. */
  mode: QueueMode | null;
  /** What holds where neither the message nor the session says otherwise; absent for inputs that no queue mode concerns. */
  queue?: { mode: QueueMode; cap: number; drop: QueueDrop };
  /** The answer of a chat command that was carried out: the row is settled at once. Absent for everything else. */
  commandReply?: string;
  /** Unique for ever, e.g. channel, account, chat and platform message id; null when the platform gives none. */
  platformKey: string | null;
  idempotency: { scope: string; key: string; sha256: string } | null;
  /** The most messages that may wait in this session; over it the input is refused, and nothing is written (G27). */
  waitingMax: number;
}

export interface StoredMessage {
  id: MessageId;
  seq: number;
  kind: string;
  receivedAt: string;
  /** `dropped` when it was rejected, `answered` when it was a chat command. */
  status: 'waiting' | 'dropped' | 'answered';
  error: unknown;
  reply: string | null;
  settledAt: string | null;
}

/**
 * `accepted`: stored now, and `ringNo` is the ring that its session needs, or null when it has one already. A message that was
 * `rejected` is stored as dropped, with its reason. `isOverCap`: more wait than may; the oldest are to be dropped.
 * `duplicate`: an equal input was stored before; `id` names it. `mismatch`: the idempotency key was used with another body.
 * `full`: too many wait.
 */
export type Acceptance =
  | {
      kind: 'accepted';
      message: StoredMessage;
      session: SessionFacts;
      disposition: StoredDisposition;
      ringNo: number | null;
      lane: string;
      isOverCap: boolean;
    }
  | { kind: 'duplicate'; id: MessageId; by: 'idempotency' | 'platform' }
  | { kind: 'mismatch' }
  | { kind: 'full' };

/** What a sender is told of a message that was stored. */
export type StoredDisposition = 'queued' | 'steered' | 'interrupting' | 'command' | 'rejected';

/** Makes the accepting function of a process; calls that overlap share statements. */
export function createAccept(database: Database): Coalesced<NewInput, Acceptance> {
  return coalesce({ run: (inputs) => acceptAll(database, inputs) });
}

async function acceptAll(database: Database, inputs: NewInput[]): Promise<Acceptance[]> {
  const result = await database.hot.query({ name: 'accept', text: ACCEPT_SQL, values: columnsOf(inputs) });
  const stored = new Map<string, AcceptedRow>(result.rows.map((row: AcceptedRow) => [row.id, row]));
  const refused = inputs.filter((input) => !stored.has(input.messageId));
  const reasons = refused.length > 0 ? await findReasons(database, refused) : new Map<string, Acceptance>();
  const rung = new Set<string>();
  return inputs.map((input) => {
    const row = stored.get(input.messageId);
    if (row === undefined) return reasons.get(input.messageId) as Acceptance;
    const needsRing = row.ring_no !== null && !rung.has(input.sessionId);
    rung.add(input.sessionId);
    return {
      kind: 'accepted',
      message: storedOf(row),
      session: row.session,
      disposition: row.disposition,
      isOverCap: row.is_over_cap === true,
      ringNo: needsRing ? Number(row.ring_no) : null,
      lane: row.lane,
    };
  });
}

function storedOf(row: AcceptedRow): StoredMessage {
  const { id, kind, status, error, reply } = row;
  return {
    id,
    kind,
    seq: Number(row.seq),
    receivedAt: row.received_at,
    status,
    error,
    reply,
    settledAt: row.settled_at,
  };
}

interface AcceptedRow {
  id: MessageId;
  seq: string;
  kind: string;
  received_at: string;
  status: StoredMessage['status'];
  error: unknown;
  reply: string | null;
  settled_at: string | null;
  disposition: StoredDisposition;
  is_over_cap: boolean | null;
  session: SessionFacts;
  lane: string;
  ring_no: string | null;
}

function columnsOf(inputs: NewInput[]): unknown[] {
  return [
    inputs.map((input) => input.messageId),
    inputs.map((input) => input.sessionId),
    inputs.map((input) => input.kind),
    inputs.map((input) => input.body),
    inputs.map((input) => input.route),
    inputs.map((input) => input.mode),
    inputs.map((input) => input.platformKey),
    inputs.map((input) => input.idempotency?.scope ?? null),
    inputs.map((input) => input.idempotency?.key ?? null),
    inputs.map((input) => input.idempotency?.sha256 ?? null),
    inputs.map((input) => input.waitingMax),
    inputs.map((input) => input.queue?.mode ?? null),
    inputs.map((input) => input.queue?.cap ?? null),
    inputs.map((input) => input.queue?.drop ?? null),
    inputs.map((input) => input.commandReply ?? null),
  ];
}

// How many wait behind and with a message, as its sender is told.
const WAITING_SQL = `(judged.would_wait - (judged.disposition = 'rejected' or judged.command_reply is not null)::int)`;

// Purpose: store the inputs that are new and fit. Input: one array per column. Output: a row per stored input.
// The CTE `locked` sees each session row as it is once its lock is granted; the other tables are seen as they were when the
// statement began, which is why uniqueness is left to the indexes (`on conflict`) and counts are kept in the session row.
const ACCEPT_SQL = `/* accept */
with input as materialized (
  select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::json[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
      $10::text[], $11::int[], $12::text[], $13::int[], $14::text[], $15::text[]) with ordinality
    as input (id, session_id, kind, body, route, inline_mode, platform_key, scope, key, sha256, waiting_max, default_mode, cap,
      drop_policy, command_reply, n)
),
locked as materialized (
  select s.*, s.turn_id is not null or s.owner is not null and s.lease_expires_at > clock_timestamp() as is_busy
  from holdfast.sessions s where s.id = any ($2::uuid[]) order by s.id for no key update
),
fitting as materialized (
  select * from (
    select input.*, s.waiting + row_number() over (partition by input.session_id order by input.n) as would_wait
    from input join locked s on s.id = input.session_id
  ) as counted where would_wait <= waiting_max
),
keyed as (
  insert into holdfast.idempotency_keys (scope, key, request_sha256, resource_id)
  select scope, key, sha256, id from fitting where key is not null
  on conflict do nothing
  returning resource_id
),
numbered as materialized (
  select fitting.*, s.is_busy, s.inbox_seq + row_number() over (partition by fitting.session_id order by fitting.n) as seq,
    case when default_mode is not null then coalesce(inline_mode, s.queue_mode, default_mode) end as mode,
    default_mode is not null and coalesce(s.queue_drop, drop_policy) = 'new' and would_wait > coalesce(s.queue_cap, cap) as is_over
  from fitting join locked s on s.id = fitting.session_id
  where fitting.key is null or fitting.id in (select resource_id from keyed)
),
judged as materialized (
  select *, case
      when command_reply is not null or kind = 'compaction' then 'command'
      when is_over or is_busy and mode = 'reject' then 'rejected'
      when is_busy and mode in ('interrupt', 'rollback') then 'interrupting'
      when is_busy and mode in ('steer', 'steer-backlog') then 'steered'
      else 'queued'
    end as disposition
  from numbered
),
stored as (
  insert into holdfast.inbox (id, session_id, seq, kind, body, route, mode, platform_key, disposition, reply, status, error,
    settled_at, answer)
  select judged.id, session_id, seq, judged.kind, body, route, mode, platform_key, disposition, command_reply,
    case when disposition = 'rejected' then 'dropped' when command_reply is not null then 'answered' else 'waiting' end,
    case when disposition <> 'rejected' then null
      when is_over then json_build_object('code', 'overflow', 'message', 'As many messages wait as may.')
      else json_build_object('code', 'busy', 'message', 'The session was busy, and the message asked to be rejected then.') end,
    case when disposition = 'rejected' or command_reply is not null then clock_timestamp() end,
    case when judged.key is not null then ${sessionFactsSql('s', WAITING_SQL)} end
  from judged join locked s on s.id = judged.session_id
  on conflict do nothing
  returning id, session_id, seq, kind, mode, disposition, status, error, reply, received_at, settled_at
),
counted as materialized (
  select session_id, max(seq) as last_seq, count(*) filter (where status = 'waiting')::int as arrived,
    coalesce(max(seq) filter (where disposition = 'steered'), 0) as steer_seq,
    bool_or(disposition = 'interrupting') as interrupts, bool_or(disposition = 'interrupting' and mode = 'rollback') as rolls_back
  from stored group by session_id
),
bumped as (
  update holdfast.sessions s
  set inbox_seq = counted.last_seq, waiting = s.waiting + counted.arrived, updated_at = clock_timestamp(),
    last_message_at = clock_timestamp(), steer_seq = greatest(s.steer_seq, counted.steer_seq),
    stop_reason = case when counted.rolls_back then '${ROLLED_BACK}'
      when counted.interrupts then coalesce(s.stop_reason, '${INTERRUPTED}') else s.stop_reason end
  from counted where s.id = counted.session_id
  returning s.*, counted.arrived
),
rung as (
  insert into holdfast.doorbells (session_id, lane, rings)
  select id, lane, ${firstRingSql('bumped')} from bumped where arrived > 0
  on conflict (session_id) do nothing
  returning session_id, rings
),
told as (
  ${insertEventsSql(`select session_id, null::uuid as turn_id, 'message.accepted' as type,
    json_build_object('messageId', id, 'seq', seq, 'kind', kind, 'disposition', disposition) as data, seq * 2 as n from stored
    union all
    select session_id, null, 'message.settled', json_build_object('messageId', id, 'status', status), seq * 2 + 1 from stored
    where status <> 'waiting'`)}
)
select stored.id, stored.seq, stored.kind, stored.status, stored.error, stored.reply, stored.disposition,
  ${isoSql('stored.received_at')} as received_at, ${isoSql('stored.settled_at')} as settled_at, s.lane, rung.rings as ring_no,
  bumped.waiting > coalesce(s.queue_cap, judged.cap) and coalesce(s.queue_drop, judged.drop_policy) <> 'new' as is_over_cap,
  ${sessionFactsSql('s', WAITING_SQL)} as session
from stored join judged on judged.id = stored.id join locked s on s.id = stored.session_id
join bumped on bumped.id = stored.session_id left join rung on rung.session_id = stored.session_id
order by stored.seq`;

// Why an input was not stored. Looked up afterwards, in a new snapshot, because the row that it met may be as young as itself.
const REASONS_SQL = `/* accept-reasons */
with input as (
  select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[])
    as input (id, session_id, platform_key, scope, key, sha256)
)
select input.id, own.seq, own.kind, own.status, own.error, own.reply, own.disposition, ${isoSql('own.received_at')} as received_at,
  ${isoSql('own.settled_at')} as settled_at, s.lane, ${sessionFactsSql('s')} as session,
  k.request_sha256 is distinct from input.sha256 and k.key is not null as is_mismatch, k.resource_id, twin.id as twin_id
from input
left join holdfast.inbox own on own.id = input.id
left join holdfast.sessions s on s.id = input.session_id
left join holdfast.idempotency_keys k on k.scope = input.scope and k.key = input.key
left join holdfast.inbox twin on twin.platform_key = input.platform_key`;

async function findReasons(database: Database, inputs: NewInput[]): Promise<Map<string, Acceptance>> {
  const columns = columnsOf(inputs);
  const result = await database.hot.query({
    name: 'accept-reasons',
    text: REASONS_SQL,
    values: [columns[0], columns[1], columns[6], columns[7], columns[8], columns[9]],
  });
  return new Map(result.rows.map((row) => [row.id, reasonOf(row)]));
}

function reasonOf(row: ReasonRow): Acceptance {
  // An unknown COMMIT that had succeeded: the first sending stored it, and rang or left it to the reconciler.
  if (row.seq !== null) {
    return {
      kind: 'accepted',
      message: storedOf({ ...row, seq: row.seq }),
      session: row.session,
      disposition: row.disposition,
      ringNo: null,
      lane: row.lane,
      isOverCap: false,
    };
  }
  if (row.is_mismatch) return { kind: 'mismatch' };
  // A key that made the message itself is replayed as such; one that was new and met an older platform message is not.
  if (row.resource_id !== null && row.resource_id !== row.id && (row.twin_id ?? row.resource_id) === row.resource_id) {
    return { kind: 'duplicate', id: row.resource_id, by: 'idempotency' };
  }
  if (row.twin_id !== null) return { kind: 'duplicate', id: row.twin_id, by: 'platform' };
  return { kind: 'full' };
}

interface ReasonRow extends Omit<AcceptedRow, 'seq'> {
  seq: string | null;
  is_mismatch: boolean;
  resource_id: MessageId | null;
  twin_id: MessageId | null;
}
