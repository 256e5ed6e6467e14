// Chat commands: the row of the command, its effect and the delivery of its reply are one
// transaction, so a crash leaves all or none, a command that is sent again has no second effect,
// and a command acts on what was accepted before it and on nothing else.
//
// Uniqueness: a command that was stored before is not inserted again, and its transaction undoes
// the effect.
import type { AfterCommit, Committed } from '../queue/after-commit.ts';
import { channelOfTargetSql } from '../../core/channel-address.ts';
import type { DeliveryPayload } from '../../core/delivery-payload.ts';
import type { DeliveryId, MessageId, SessionId } from '../../core/ids.ts';
import type { Database } from '../../database/database.ts';
import { isUniqueViolation, type KeyedRequest } from '../../database/idempotency.ts';
import { literalQuery } from '../../database/literal-query.ts';
import { TURN_RETRY_MS } from '../../database/passing-faults.ts';
import { transaction, type Transaction } from '../../database/transaction.ts';
import { patchSql, type SessionPatch } from '../sessions/patch-session.ts';
import { deliveryRing, mergeAll } from '../queue/rings.ts';
import { SessionErasedError } from '../sessions/sessions.ts';
import { putInputs, type Put, type PutInput } from './put-inputs.ts';

/** A command on its way into the inbox of its session, where it is settled immediately. */
export interface NewCommand {
  /** Made by the caller, so that a transaction that is sent again has no second effect. */
  messageId: MessageId;
  /** The validated message as JSON text. */
  body: string;
  route: string;
  /** What its sender reads. */
  reply: string;
  platformKey: string | null;
  idempotency: KeyedRequest | null;
  /** Null: its reply is delivered nowhere. */
  delivery: CommandDelivery | null;
}

/** The delivery of a command's reply, without its text. */
export interface CommandDelivery {
  id: DeliveryId;
  target: { url: string };
  payload: Omit<DeliveryPayload, 'text'>;
  expiresMs: number;
}

interface PatchByCommand {
  sessionId: SessionId;
  patch: SessionPatch;
  command: NewCommand;
}

/**
 * Stores a command, and changes overrides of its session. Not stored: it was stored before, and
 * nothing was changed now.
 */
export async function patchByCommand(
  database: Database,
  { sessionId, patch, command }: PatchByCommand,
): Promise<Committed<{ isStored: boolean }>> {
  const run = async (tx: Transaction): Promise<AfterCommit> => {
    const [isFound, after] = await Promise.all([patchLocked(tx, sessionId, patch), putCommand(tx, sessionId, command)]);
    if (!isFound) throw new SessionErasedError(sessionId);
    return needStored(after);
  };
  try {
    return { isStored: true, after: await transaction(database.hot, run, { retryMs: TURN_RETRY_MS }) };
  } catch (error) {
    if (isStoredBefore(error)) return { isStored: false };
    throw error;
  }
}

export const patchLocked = literalQuery({
  name: 'patch-by-command',
  purpose: 'Change overrides of a session by a command. Answers true when there is such a session.',
  locking: 'The session row.',
  text: `update holdfast.sessions s set ${patchSql('$patch')}, updated_at = clock_timestamp() where s.id = $sessionId returning 1`,
  values: (sessionId: SessionId, patch: SessionPatch) => ({ sessionId, patch: JSON.stringify(patch) }),
  answer: (rows: object[]) => rows.length > 0,
});

/**
 * Puts a command into a session that the transaction has locked, before `more`, and the delivery of
 * its reply into the outbox. Null: it was stored before, and the transaction must not commit
 * (`needStored`).
 */
export async function putCommand(
  tx: Transaction,
  sessionId: SessionId,
  { messageId: id, body, route, platformKey, reply, delivery, idempotency: request }: NewCommand,
  more: Pick<Put, 'inputs' | 'events'> = { inputs: [] },
): Promise<AfterCommit | null> {
  const settled = { status: 'answered', reply } as const;
  const command: PutInput = { id, sessionId, kind: 'message', body, route, platformKey, causeKey: null, settled };
  const [{ stored, after }, rings] = await Promise.all([
    putInputs(tx, { ...more, inputs: [command, ...more.inputs], keyed: { request, messageId: id } }),
    delivery === null ? [] : putReply(tx, { sessionId, reply, delivery }),
  ]);
  return stored.has(id) ? mergeAll([{ after }, { after: { changed: [], rings } }]) : null;
}

interface CommandReply {
  sessionId: SessionId;
  reply: string;
  delivery: CommandDelivery;
}

export const putReply = literalQuery({
  name: 'put-reply-of-command',
  purpose: 'Store the delivery of the reply to a command. Answers its ring.',
  locking: 'The session row, which the transaction has locked.',
  text: `with counted as (
  update holdfast.sessions s set delivery_seq = s.delivery_seq + 1 where s.id = $sessionId returning s.id, s.delivery_seq
)
insert into holdfast.deliveries (id, session_id, turn_id, seq, channel, target, payload, expires_at)
select $id, counted.id, null, counted.delivery_seq, ${channelOfTargetSql('$target::json')}, $target::json, $payload::json,
  clock_timestamp() + $expiresMs * interval '1 millisecond'
from counted
returning session_id as "sessionId", seq`,
  values: ({ sessionId, reply, delivery: { id, target, payload, expiresMs } }: CommandReply) => ({
    sessionId,
    id,
    target: JSON.stringify(target),
    payload: JSON.stringify({ ...payload, text: reply }),
    expiresMs,
  }),
  answer: (rows: { sessionId: SessionId; seq: string }[]) =>
    rows.map(({ sessionId, seq }) => deliveryRing(sessionId, seq)),
});

/**
 * What follows from a command that `putCommand` has put. Throws when it was stored before, so that
 * its effect is undone.
 */
export function needStored(after: AfterCommit | null): AfterCommit {
  if (after === null) throw new CommandStoredError();
  return after;
}

class CommandStoredError extends Error {
  constructor() {
    super('The command was stored before, so it is not carried out again.');
    this.name = 'CommandStoredError';
  }
}

/**
 * True for the error of a command's transaction that was undone because the command, its key or its
 * reply is stored already.
 */
export function isStoredBefore(error: unknown): boolean {
  return error instanceof CommandStoredError || isUniqueViolation(error);
}
