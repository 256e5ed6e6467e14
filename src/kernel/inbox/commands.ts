// Chat commands: the row of the command, its effect and the delivery of its reply are one statement, so a crash leaves all or none, a
// command that is sent again has no second effect, and a command acts on what was accepted before it and on nothing else.
//
// Uniqueness: the insert of the row, or of its key, fails when the command was stored before, and PostgreSQL undoes the effect with it.
import type { Committed, Ring } from '../queue/after-commit.ts';
import { channelOfTargetSql } from '../../core/channel-address.ts';
import type { DeliveryPayload } from '../../core/delivery-payload.ts';
import type { DeliveryId, MessageId, SessionId } from '../../core/ids.ts';
import type { Database } from '../../database/database.ts';
import { insertedEvents } from '../events/events.ts';
import { isUniqueViolation, KEY_COLUMNS, type KeyedRequest } from '../../database/idempotency.ts';
import { patchSql, type SessionPatch } from '../sessions/patch-session.ts';
import { deliveryRing } from '../queue/rings.ts';
import { sendQuery } from '../../database/send-query.ts';
import { TURN_RETRY_MS } from '../../database/retry-passing-faults.ts';
import { sessionFactsSql } from '../sessions/session-facts.ts';
import { SessionErasedError } from '../sessions/sessions.ts';
import { cte, literal, rows, statement, type Cte } from '../../database/statement.ts';

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

/** `new_commands`: the command that the input of a statement has, if any. */
export function newCommands<Input>(pick: (input: Input) => Omit<NewCommand, 'reply'> | undefined): Cte<Input> {
  return rows('new_commands', (input: Input) => [pick(input)].filter((command) => command !== undefined), {
    id: ['uuid', (command) => command.messageId],
    body: ['json', (command) => command.body],
    route: ['text', (command) => command.route],
    platform_key: ['text', (command) => command.platformKey],
    ...KEY_COLUMNS,
    delivery_id: ['uuid', ({ delivery }) => delivery?.id ?? null],
    target: ['json', ({ delivery }) => (delivery === null ? null : JSON.stringify(delivery.target))],
    payload: ['json', ({ delivery }) => (delivery === null ? null : JSON.stringify(delivery.payload))],
    expires_ms: ['bigint', ({ delivery }) => delivery?.expiresMs ?? null],
  });
}

/**
 * CTEs that store the command of `newCommands`: `inserted_commands`, its row, `command_deliveries`, the delivery of its reply, `command_keys`,
 * its key, and `command_events`. `session` has the row of its session after the change, whose last number is that of the command, and which
 * has counted the delivery; `reply` is SQL of its reply.
 */
export function commandParts({ session, reply }: { session: string; reply: string }): Cte[] {
  return [
    cte(`inserted_commands as (
  insert into holdfast.inbox (id, session_id, seq, kind, body, route, platform_key, disposition, reply, status, settled_at, answer)
  select c.id, s.id, s.inbox_seq, 'message', c.body, c.route, c.platform_key, 'command', ${reply}, 'answered', clock_timestamp(),
    ${sessionFactsSql('s')}
  from new_commands c cross join ${session} s
  returning id, session_id, seq, kind, status, reply
)`),
    cte(`command_deliveries as (
  insert into holdfast.deliveries (id, session_id, turn_id, seq, channel, target, payload, expires_at)
  select c.delivery_id, s.id, null, s.delivery_seq, ${channelOfTargetSql('c.target')}, c.target,
    (c.payload::jsonb || jsonb_build_object('text', inserted_commands.reply))::json, clock_timestamp() + c.expires_ms * interval '1 millisecond'
  from new_commands c join inserted_commands on inserted_commands.id = c.id join ${session} s on s.id = inserted_commands.session_id
  where c.delivery_id is not null
)`),
    cte(`command_keys as (
  insert into holdfast.idempotency_keys (scope, key, request_sha256, resource_id)
  select c.scope, c.key, c.sha256, c.id from new_commands c join inserted_commands on inserted_commands.id = c.id where c.scope is not null
)`),
    cte(`command_events as (
  select session_id, null::uuid as turn_id, 'message.accepted' as type,
    json_build_object('messageId', id, 'seq', seq, 'kind', kind, 'disposition', 'command') as data, 0 as n from inserted_commands
  union all
  select session_id, null, 'message.settled', json_build_object('messageId', id, 'status', status), 1 from inserted_commands
)`),
  ];
}

interface PatchByCommand {
  sessionId: SessionId;
  patch: SessionPatch;
  command: NewCommand;
}

export const PATCH_BY_COMMAND = statement<PatchByCommand>({
  name: 'patch-by-command',
  purpose: 'Store a command, with the overrides of its session that it changes. Answers a row when it was stored.',
  locking: 'The session row.',
  ctes: [
    newCommands(({ command }) => command),
    cte(
      `updated_sessions as (
  update holdfast.sessions s
  set inbox_seq = s.inbox_seq + 1, last_message_at = clock_timestamp(), updated_at = clock_timestamp(),
    delivery_seq = s.delivery_seq + (select count(delivery_id) from new_commands), ${patchSql('$patch')}
  where s.id = $session::uuid
  returning s.*
)`,
      {
        binds: {
          session: ({ sessionId }) => sessionId,
          patch: ({ patch }) => JSON.stringify(patch),
          reply: ({ command }) => command.reply,
        },
      },
    ),
    ...commandParts({ session: 'updated_sessions', reply: '$reply::text' }),
    insertedEvents('command_events'),
  ],
  select: 'select id from inserted_commands',
});

/** Stores a command, and changes overrides of its session. Not stored: it was stored before, and nothing was changed now. */
export async function patchByCommand(
  database: Database,
  patch: PatchByCommand,
): Promise<Committed<{ isStored: boolean }>> {
  const { sessionId, command } = patch;
  try {
    const stored = await sendQuery(database.hot, PATCH_BY_COMMAND.prepared(patch), TURN_RETRY_MS);
    if (stored.length === 0) throw new SessionErasedError(sessionId);
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
  return rows.map(({ seq }) => deliveryRing(sessionId, seq));
}

/** True for the error of a command's statement that was undone because the command is stored already. */
export function isStoredBefore(error: unknown): boolean {
  return isUniqueViolation(error);
}
