// Messages of a running turn: rows of the outbox that are there before the turn ends. One tool call
// inserts one row, also when it is sent again; a turn that is no longer open sends nothing.
import type { Committed } from '../queue/after-commit.ts';
import type { DeliveryId, SessionId } from '../../core/ids.ts';
import type { InboundMessage } from '../../core/inbound.ts';
import type { Database } from '../../database/database.ts';
import { TURN_RETRY_MS } from '../../database/passing-faults.ts';
import { deliveryRing } from '../queue/rings.ts';
import { isConfinedSql } from '../sessions/confinement.ts';
import { literalQuery } from '../../database/literal-query.ts';

export interface OutgoingMessage {
  id: DeliveryId;
  sessionKey: string;
  turnId: string;
  /** Derived from the tool call: the same call makes the same row. */
  causeKey: string;
  channel: string;
  target: Record<string, unknown>;
  payload: object;
  expiresMs: number;
}

/**
 * `posted`: it is in the outbox, now or since an earlier sending. `closed`: the turn is no
 * longer open. `too-many`: the turn has reached its limit.
 */
export type Posting = { kind: 'posted'; id: DeliveryId } | { kind: 'closed' } | { kind: 'too-many'; max: number };

const MESSAGES_PER_TURN_MAX = 30;
/** How often a statement is tried again after it met a concurrent equal one. */
const ATTEMPTS_MAX = 5;

// A statement that waited for the session row does not see an equal row that was inserted
// meanwhile; the unique index on the cause then refuses it, and the next attempt finds it.
export const insertMessage = literalQuery({
  name: 'send-message',
  purpose: "Append a message of an open turn to the session's outbox, once for each cause.",
  locking: 'The session row.',
  retryMs: TURN_RETRY_MS,
  text: `with locked as materialized (select s.* from holdfast.sessions s where s.key = $1 for no key update),
known as materialized (select d.id, d.session_id, d.seq from holdfast.deliveries d where d.cause_key = $4),
sent as materialized (select count(*) as n from holdfast.deliveries d where d.turn_id = $3 and d.cause_key is not null),
inserted_deliveries as (
  insert into holdfast.deliveries (id, session_id, turn_id, seq, channel, target, payload, expires_at, cause_key)
  select $2, locked.id, $3, locked.delivery_seq + 1, $5, $6, $7, clock_timestamp() + $8::bigint * interval '1 millisecond', $4
  from locked, sent
  where locked.turn_id = $3 and sent.n < ${MESSAGES_PER_TURN_MAX} and not exists (select from known)
  on conflict do nothing
  returning id, session_id, seq
),
updated_sessions as (
  update holdfast.sessions s set delivery_seq = inserted_deliveries.seq, updated_at = clock_timestamp()
  from inserted_deliveries where s.id = inserted_deliveries.session_id
)
select locked.turn_id = $3 as is_open, sent.n >= ${MESSAGES_PER_TURN_MAX} as is_full, found.id, found.session_id, found.seq
from sent left join locked on true
left join (select * from inserted_deliveries union all select * from known) as found on true`,
  values: ({ sessionKey, id, turnId, causeKey, channel, target, payload, expiresMs }: OutgoingMessage) => [
    sessionKey,
    id,
    turnId,
    causeKey,
    channel,
    JSON.stringify(target),
    JSON.stringify(payload),
    expiresMs,
  ],
  answer([row]: PostedRow[]): Committed<Posting> | null {
    if (row?.id) {
      return { kind: 'posted', id: row.id, after: { changed: [], rings: [deliveryRing(row.session_id, row.seq)] } };
    }
    if (row?.is_open !== true) return { kind: 'closed' };
    return row.is_full ? { kind: 'too-many', max: MESSAGES_PER_TURN_MAX } : null;
  },
});

/** Puts a message of an open turn into the outbox. */
export async function sendMessage(database: Database, message: OutgoingMessage): Promise<Committed<Posting>> {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    const posting = await insertMessage(database, message);
    if (posting !== null) return posting;
  }
  throw new Error(
    `The message of ${message.causeKey} conflicted ${ATTEMPTS_MAX} times with an equal message that does not exist.`,
  );
}

interface PostedRow {
  is_open: boolean | null;
  is_full: boolean;
  id: DeliveryId | null;
  session_id: SessionId;
  seq: string;
}

/**
 * The messages of a turn that matter for its own: the one that names its chat, and those that it
 * answers.
 */
export interface TurnChat {
  /**
   * The last message that the turn answers, otherwise the last that was sent to its session; null:
   * there is none.
   */
  message: InboundMessage | null;
  messageIds: string[];
  /** True: the session may write to its own chat only. */
  isConfined: boolean;
}

export const readTurnChat = literalQuery({
  name: 'chat-message',
  purpose: 'Read the message that names the chat of a turn, and the messages that the turn answers.',
  retryMs: TURN_RETRY_MS,
  text: `select coalesce(
  (select i.body from holdfast.inbox i where i.turn_id = $2 and i.kind = 'message' order by i.seq desc limit 1),
  (select i.body from holdfast.inbox i join holdfast.sessions s on s.id = i.session_id
    where s.key = $1 and i.kind = 'message' order by i.seq desc limit 1)) as body,
  coalesce((select json_agg(i.id order by i.seq) from holdfast.inbox i where i.turn_id = $2 and i.status <> 'dropped'), '[]') as ids,
  coalesce((select ${isConfinedSql('s')} from holdfast.sessions s where s.key = $1), true) as "isConfined"`,
  values: ({ sessionKey, turnId }: { sessionKey: string; turnId: string }) => [sessionKey, turnId],
  answer: ([row]: { body: InboundMessage | null; ids: string[]; isConfined: boolean }[]): TurnChat => ({
    message: row?.body ?? null,
    messageIds: row?.ids ?? [],
    isConfined: row?.isConfined ?? true,
  }),
});
