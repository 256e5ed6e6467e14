// Chat commands: the row of the command, its effect and the delivery of its reply are one statement, so a crash leaves all or none, a
// command that is sent again has no second effect, and a command acts on what was accepted before it and on nothing else.
//
// Uniqueness: the insert of the row, or of its key, fails when the command was stored before, and PostgreSQL undoes the effect with it.
import type { Committed, Ring } from '../after-commit.ts';
import type { DeliveryPayload } from '../core/delivery-payload.ts';
import type { DeliveryId, MessageId, SessionId } from '../core/ids.ts';
import type { Database } from './database.ts';
import { insertEventsSql } from './events.ts';
import { keyValues, type KeyedRequest } from './idempotency.ts';
import { patchSql, type SessionPatch } from './patch-session.ts';
import { sendQuery } from './send-query.ts';
import { TURN_RETRY_MS } from './retry-passing-faults.ts';
import { sessionFactsSql } from './session-facts.ts';
import { literal } from './statement.ts';

/** A command on its way into the inbox of its session, where it is settled immediately. */
export interface NewCommand {
  /** Made by the caller, so that a statement that is sent again has no second effect. */
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

/** The delivery of a command's reply. The statement adds the text, because it may write the reply itself. */
export interface CommandDelivery {
  id: DeliveryId;
  target: { url: string };
  payload: Omit<DeliveryPayload, 'text'>;
  expiresMs: number;
}

/** The placeholders of a command take this many values, from `first` on. */
export function commandValues(command: Omit<NewCommand, 'reply'>): unknown[] {
  const { messageId, body, route, platformKey, idempotency, delivery } = command;
  const posted =
    delivery === null
      ? [null, null, null, null]
      : [delivery.id, JSON.stringify(delivery.target), JSON.stringify(delivery.payload), delivery.expiresMs];
  return [messageId, body, route, platformKey, ...keyValues(idempotency), ...posted];
}

/** SQL of 1 when the reply of the command has a delivery, which its session counts, and 0 when it has none. */
export function commandDeliveriesSql(first: number): string {
  return `($${first + 7}::uuid is not null)::int`;
}

/**
 * CTEs that store a command whose `commandValues` begin at placeholder `first`: `inserted_commands`, its row, `inserted_deliveries`, the delivery of its reply, and
 * `inserted_keys`, its key. `session` is a CTE with the row of its session after the change, whose last number is that of the command, and which
 * has counted the delivery (`commandDeliveriesSql`); `reply` is SQL of its reply.
 */
export function commandParts({ first, session, reply }: { first: number; session: string; reply: string }): string[] {
  return [
    `inserted_commands as (
  insert into holdfast.inbox (id, session_id, seq, kind, body, route, platform_key, disposition, reply, status, settled_at, answer)
  select $${first}::uuid, s.id, s.inbox_seq, 'message', $${first + 1}::json, $${first + 2}::text, $${first + 3}::text, 'command', ${reply},
    'answered', clock_timestamp(), ${sessionFactsSql('s')}
  from ${session} s
  returning id, session_id, seq, kind, status, reply
)`,
    `inserted_deliveries as (
  insert into holdfast.deliveries (id, session_id, turn_id, seq, channel, target, payload, expires_at)
  select $${first + 7}::uuid, s.id, null, s.delivery_seq, 'webhook', $${first + 8}::json,
    ($${first + 9}::jsonb || jsonb_build_object('text', inserted_commands.reply))::json,
    clock_timestamp() + $${first + 10}::bigint * interval '1 millisecond'
  from ${session} s join inserted_commands on inserted_commands.session_id = s.id where $${first + 7}::uuid is not null
)`,
    `inserted_keys as (
  insert into holdfast.idempotency_keys (scope, key, request_sha256, resource_id)
  select $${first + 4}::text, $${first + 5}::text, $${first + 6}::text, id from inserted_commands where $${first + 4}::text is not null
)`,
  ];
}

/** SQL of the events of `inserted_commands`, as a source for `insertEventsSql`. */
export const COMMAND_EVENTS_SQL = `select session_id, null::uuid as turn_id, 'message.accepted' as type,
      json_build_object('messageId', id, 'seq', seq, 'kind', kind, 'disposition', 'command') as data, 0 as n from inserted_commands
    union all
    select session_id, null, 'message.settled', json_build_object('messageId', id, 'status', status), 1 from inserted_commands`;

const UNIQUE_VIOLATION = '23505';

export const PATCH_BY_COMMAND = literal({
  name: 'patch-by-command',
  purpose:
    'Store a command, with the overrides of its session that it changes, if any. Answers a row when it was stored.',
  locking: 'The session row.',
  text: `with updated_sessions as (
  update holdfast.sessions s
  set inbox_seq = s.inbox_seq + 1, last_message_at = clock_timestamp(), updated_at = clock_timestamp(),
    delivery_seq = s.delivery_seq + ${commandDeliveriesSql(4)}, ${patchSql('$2')}
  where s.id = $1
  returning s.*
),
${commandParts({ first: 4, session: 'updated_sessions', reply: '$3::text' }).join(',\n')},
inserted_events as (${insertEventsSql(COMMAND_EVENTS_SQL)})
select id from inserted_commands`,
});

/** Stores a command, and changes overrides of its session. Not stored: it was stored before, and nothing was changed now. */
export async function patchByCommand(
  database: Database,
  { sessionId, patch, command }: { sessionId: SessionId; patch: SessionPatch; command: NewCommand },
): Promise<Committed<{ isStored: boolean }>> {
  const values = [sessionId, JSON.stringify(patch), command.reply, ...commandValues(command)];
  try {
    await sendQuery(database.hot, PATCH_BY_COMMAND.prepared(values), TURN_RETRY_MS);
  } catch (error) {
    if (isStoredBefore(error)) return { isStored: false };
    throw error;
  }
  return { isStored: true, after: { changed: [sessionId], rings: await readReplyRings(database, sessionId, command) } };
}

export const DELIVERY_RING = literal({
  name: 'delivery-ring',
  purpose: 'Read the number of a delivery, from which its ring follows.',
  text: 'select d.seq from holdfast.deliveries d where d.id = $1',
});

/** The ring that the outbox needs for the reply to a stored command, as a list of one; empty when the reply is delivered nowhere. */
export async function readReplyRings(
  database: Database,
  sessionId: SessionId,
  { delivery }: Pick<NewCommand, 'delivery'>,
): Promise<Ring[]> {
  if (delivery === null) return [];
  const rows = await sendQuery<{ seq: string }>(database.hot, DELIVERY_RING.prepared([delivery.id]));
  return rows.map(({ seq }) => ({ kind: 'deliver', sessionId, ringNo: Number(seq) * 1000 }));
}

/** True for the error of a command's statement that was undone because the command is stored already. */
export function isStoredBefore(error: unknown): boolean {
  return (error as { code?: unknown }).code === UNIQUE_VIOLATION;
}
