// Accepting: the only way into an inbox. One statement for all messages that arrive together assigns each session's next numbers, inserts
// the rows under their unique keys, and returns the doorbells that must be rung. An answered message is committed (G1).
//
// Locking: the session rows, in the order of their ids, first. A turn that ends locks the same row before it decides that nothing waits,
// so a message that finds the session busy is never missed.
import type { SessionFacts } from '../../contract/views.ts';
import type { Committed } from '../queue/after-commit.ts';
import type { Lane } from '../../config.ts';
import type { MessageId } from '../../core/ids.ts';
import { ACCEPT, ACCEPT_REASONS, type StoredMessage } from './accept-statement.ts';
import { shareStatement, type RowSubmitter } from '../../database/share-statement.ts';
import type { Database } from '../../database/database.ts';
import type { NewInput } from './new-input.ts';
import { buildAfter } from '../queue/rings.ts';

/**
 * `accepted`: stored now. A message that was `rejected` is stored as dropped, with its reason. `isOverCap`: more messages wait than the cap
 * allows; drop the oldest. `duplicate`: an equal input was stored before; `id` names it. `mismatch`: the idempotency key was used with
 * another body. `full`: too many wait.
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
  // An unknown COMMIT that had succeeded: the first sending stored it, and rang or left it to the reconciler.
  if (message !== null && lane !== null)
    return acceptedBy(input, { ...row, message, lane, isOverCap: false, rings: null });
  if (row.is_mismatch) return { kind: 'mismatch' };
  // A key that made the message itself is replayed as such; one that was new and met an older platform message is not.
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
