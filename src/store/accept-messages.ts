// Accepting: the only way into an inbox. One statement for all messages that arrive together assigns each session's next numbers, inserts
// the rows under their unique keys, and returns the doorbells that must be rung. An answered message is committed (G1).
//
// Locking: the session rows, in the order of their ids, first. A turn that ends locks the same row before it decides that nothing waits,
// so a message that finds the session busy is never missed.
import type { MessageId, SessionId } from '../core/ids.ts';
import type { QueueDrop, QueueMode } from '../core/queue-mode.ts';
import { acceptSql } from './accept-statement.ts';
import type { Database } from './database.ts';
import { isoSql, sessionFactsSql, type SessionFacts } from './session-facts.ts';
import { shareStatement, type RowSubmitter } from './share-statement.ts';
import { prepared, Values, type SqlColumn } from './statement.ts';

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
  /** The queue mode of the message itself. */
  mode: QueueMode | null;
  /** What holds where neither the message nor the session says otherwise; absent for inputs that no queue mode concerns. */
  queue?: { mode: QueueMode; cap: number; drop: QueueDrop };
  /** The answer of a chat command that was executed: the row is inserted as settled. Absent for all other messages. */
  commandReply?: string;
  /** Unique without a time limit, e.g. channel, account, chat and platform message id; null when the platform provides none. */
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
 * `rejected` is stored as dropped, with its reason. `isOverCap`: more messages wait than the cap allows; drop the oldest. `duplicate`:
 * an equal input was stored before; `id` names it. `mismatch`: the idempotency key was used with another body. `full`: too many wait.
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

/** What the answer says about a stored message. */
export type StoredDisposition = 'queued' | 'steered' | 'interrupting' | 'command' | 'rejected';

/** Makes the accepting function of a process; calls that overlap share statements. */
export function createAccept(database: Database): RowSubmitter<NewInput, Acceptance> {
  return shareStatement('accept', (inputs) => acceptAll(database, inputs));
}

async function acceptAll(database: Database, inputs: NewInput[]): Promise<Acceptance[]> {
  const values = new Values();
  const isKeyed = inputs.some((input) => input.idempotency !== null);
  const text = acceptSql({
    isKeyed,
    inputs: inputTable(values, inputs, isKeyed),
    sessions: values.array('uuid', inputs, (input) => input.sessionId),
  });
  const result = await database.hot.query(prepared('accept', text, values.list));
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

const KEY_COLUMNS: Record<string, SqlColumn<NewInput>> = {
  scope: ['text', (input) => input.idempotency?.scope ?? null],
  key: ['text', (input) => input.idempotency?.key ?? null],
  sha256: ['text', (input) => input.idempotency?.sha256 ?? null],
};

function inputTable(values: Values, inputs: NewInput[], isKeyed: boolean): string {
  return values.table('input', inputs, {
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
    ...(isKeyed && KEY_COLUMNS),
  });
}

// Why an input was not stored. Looked up afterwards, in a new snapshot, because the row that it met may be as young as itself.
const reasonsSql = (inputs: string): string => `/* accept-reasons */
with input as (select * from ${inputs})
select input.id, own.seq, own.kind, own.status, own.error, own.reply, own.disposition, ${isoSql('own.received_at')} as received_at,
  ${isoSql('own.settled_at')} as settled_at, s.lane, ${sessionFactsSql('s')} as session,
  k.request_sha256 is distinct from input.sha256 and k.key is not null as is_mismatch, k.resource_id, twin.id as twin_id
from input
left join holdfast.inbox own on own.id = input.id
left join holdfast.sessions s on s.id = input.session_id
left join holdfast.idempotency_keys k on k.scope = input.scope and k.key = input.key
left join holdfast.inbox twin on twin.platform_key = input.platform_key`;

async function findReasons(database: Database, inputs: NewInput[]): Promise<Map<string, Acceptance>> {
  const values = new Values();
  const table = values.table('input', inputs, {
    id: ['uuid', (input) => input.messageId],
    session_id: ['uuid', (input) => input.sessionId],
    platform_key: ['text', (input) => input.platformKey],
    ...KEY_COLUMNS,
  });
  const result = await database.hot.query(prepared('accept-reasons', reasonsSql(table), values.list));
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
