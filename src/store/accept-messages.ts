// Accepting: the only way into an inbox. One statement for all messages that arrive together takes each session's next
// numbers, stores the rows with their uniqueness, and says whose doorbell must be rung. Answered means committed (G1).
//
// A worker of the same process that stands idle may be named with a message (`taker`): when the session is free, has nothing else
// to do, and holds nothing that this worker does not know, the same statement gives it the session's lock, and nobody has to
// ring. Everything else goes the usual way. The doorbell's row is written all the same: it is what calls somebody when that worker dies.
//
// Locking: the session rows, in the order of their ids, first. A turn that ends takes the same row before it decides that
// nothing waits, so nothing falls between a turn that ends and a message that found it busy.
import type { MessageId, SessionId } from '../core/ids.ts';
import type { QueueDrop, QueueMode } from '../core/queue-mode.ts';
import type { Claimed, WaitingEvent } from './claim-session.ts';
import { claimedSessionOf, type ClaimedSessionRow } from './claim-statement.ts';
import { acceptStatement } from './accept-statement.ts';
import { coalesce, type Coalesced } from './coalescer.ts';
import type { Database } from './database.ts';
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
  /** Who would take it at once. Absent: it is rung for. */
  taker?: Taker;
}

/** A worker that may be given the lock of an idle session together with the message. */
export interface Taker {
  owner: string;
  leaseMs: number;
  /** The transcript that it holds, as in a claim. */
  known: { version: number; seq: number };
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
 * `rejected` is stored as dropped, with its reason. `isOverCap`: more wait than may; the oldest are to be dropped. `taken`: what its
 * taker was given, or null; `unknown` when the statement was committed though nobody heard so, and may have given it the lock.
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
      taken: Claimed | 'unknown' | null;
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
  const isTaking = inputs.some((input) => input.taker !== undefined);
  const result = await database.hot.query({
    ...acceptStatement({ isKeyed: inputs.some((input) => input.idempotency !== null), isTaking }),
    values: isTaking ? [...columnsOf(inputs), ...takerColumnsOf(inputs)] : columnsOf(inputs),
  });
  const stored = new Map<string, AcceptedRow>(result.rows.map((row: AcceptedRow) => [row.id, row]));
  const refused = inputs.filter((input) => !stored.has(input.messageId));
  const reasons = refused.length > 0 ? await findReasons(database, refused) : new Map<string, Acceptance>();
  const rung = new Set<string>();
  return inputs.map((input) => {
    const row = stored.get(input.messageId);
    if (row === undefined) return reasons.get(input.messageId) as Acceptance;
    const taken = row.taken === undefined || row.taken === null ? null : claimedOf(input, row, row.taken);
    const needsRing = taken === null && row.ring_no !== null && !rung.has(input.sessionId);
    rung.add(input.sessionId);
    return {
      kind: 'accepted',
      message: storedOf(row),
      session: row.session,
      disposition: row.disposition,
      isOverCap: row.is_over_cap === true,
      ringNo: needsRing ? Number(row.ring_no) : null,
      lane: row.lane,
      taken,
    };
  });
}

/** The claim that a message was accepted with: the session has nothing else to do, and nothing that the worker does not know. */
function claimedOf(input: NewInput, row: AcceptedRow, { isWhole, events, receivedAt, session }: TakenRow): Claimed {
  const { messageId: id, kind, route, mode } = input;
  return {
    kind: 'claimed',
    session: claimedSessionOf(session),
    // The body as whoever claims later would read it.
    inputs: [{ id, seq: Number(row.seq), kind, body: JSON.parse(input.body), route, mode, receivedAt }],
    events: events ?? [],
    overflow: [],
    entries: [],
    isWhole,
    openTurn: null,
  };
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
  /** Absent where nobody would take it. */
  taken?: TakenRow | null;
}

interface TakenRow {
  isWhole: boolean;
  events: WaitingEvent[] | null;
  /** Milliseconds since the epoch. */
  receivedAt: number;
  session: ClaimedSessionRow;
}

function takerColumnsOf(inputs: NewInput[]): unknown[] {
  return [
    inputs.map((input) => input.taker?.owner ?? null),
    inputs.map((input) => input.taker?.leaseMs ?? null),
    inputs.map((input) => input.taker?.known.version ?? null),
    inputs.map((input) => input.taker?.known.seq ?? null),
  ];
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
      taken: 'unknown',
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
