// Chats that are sent alerts: their messages are in the outbox of one session, which sends them as
// any other ones, once and in order.
import { channelOfTargetSql, parseChannelUrl } from '../../core/channel-address.ts';
import type { DeliveryId, SessionId, SessionKey } from '../../core/ids.ts';
import { canonicalSessionKey } from '../../core/session-key.ts';
import { literalQuery, viewQuery } from '../../database/literal-query.ts';
import type { Transaction } from '../../database/transaction.ts';
import { newId } from '../../ids.ts';
import type { DeliveryRing } from '../../kernel/queue/after-commit.ts';
import { deliveryRing } from '../../kernel/queue/rings.ts';
import { SessionErasedError } from '../../kernel/sessions/sessions.ts';
import { writeToSession } from '../../kernel/use-cases/accept-message.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { chatText, type AlertCall } from './rules.ts';

export interface Outbox {
  sessionKey: SessionKey;
  sessionId: SessionId;
  /** How long a delivery is attempted, in milliseconds. */
  expiresMs: number;
}

export function isChat(url: string): boolean {
  return parseChannelUrl(url) !== null;
}

/** Gives the work the outbox, and again if its session was erased meanwhile. */
export async function withOutbox<Result>(service: Service, work: (outbox: Outbox) => Promise<Result>): Promise<Result> {
  const { agents, channels } = service.config;
  const sessionKey = canonicalSessionKey(`agent:${agents.list[0]?.id ?? 'main'}:alerts`);
  const expiresMs = channels.webhook.expiresAfter;
  return await writeToSession(service, { key: sessionKey }, (sessionId) => work({ sessionKey, sessionId, expiresMs }));
}

/**
 * Puts what a chat is sent into the outbox, once for each call. If it is not known whether the
 * platform has a message, `onUnknown.message` of the channel decides. Throws `SessionErasedError`.
 */
export async function putIntoOutbox(
  tx: Transaction,
  { sessionKey, sessionId, expiresMs }: Outbox,
  { callId, url, call }: { callId: string; url: string; call: AlertCall },
): Promise<DeliveryRing> {
  const message = { type: 'message', sessionKey, turnId: null, messageIds: [], text: chatText(call) };
  const payload = { ...message, ...parseChannelUrl(url) };
  const seq = await putAlert(tx, { id: newId(), sessionId, callId, url, payload, expiresMs });
  if (seq === null) throw new SessionErasedError(sessionId);
  return deliveryRing(sessionId, seq);
}

interface StoredAlert {
  id: DeliveryId;
  sessionId: SessionId;
  callId: string;
  url: string;
  payload: object;
  expiresMs: number;
}

const CAUSE_SQL = `'alert:' || $callId::text`;

export const putAlert = literalQuery({
  name: 'put-alert',
  purpose: "Put an alert for a chat into a session's outbox, once for each call. Answers its place; null: no session.",
  locking: 'The session row.',
  text: `with locked as materialized (select s.id, s.delivery_seq from holdfast.sessions s where s.id = $sessionId::uuid for no key update),
known as materialized (select d.session_id, d.seq from holdfast.deliveries d where d.cause_key = ${CAUSE_SQL} order by d.part limit 1),
inserted_deliveries as (
  insert into holdfast.deliveries (id, session_id, seq, channel, target, payload, expires_at, cause_key)
  select $id::uuid, locked.id, locked.delivery_seq + 1, ${channelOfTargetSql('$target::json')}, $target::json, $payload::json,
    clock_timestamp() + $expiresMs::float8 * interval '1 millisecond', ${CAUSE_SQL}
  from locked where not exists (select from known)
  returning session_id, seq
),
updated_sessions as (
  update holdfast.sessions s set delivery_seq = inserted_deliveries.seq, updated_at = clock_timestamp()
  from inserted_deliveries where s.id = inserted_deliveries.session_id
)
select seq from (select * from inserted_deliveries union all select * from known) as found`,
  values: ({ url, payload, ...alert }: StoredAlert) => ({
    ...alert,
    target: JSON.stringify({ url }),
    payload: JSON.stringify(payload),
  }),
  answer: ([row]: { seq: string }[]) => row?.seq ?? null,
});

/**
 * A chat fails since its newest delivery that has ended was not sent, or may not have been, and
 * until a later one is. What a test has found stays until something was sent after it.
 */
export const noteChatState = literalQuery({
  name: 'note-chat-state',
  purpose: 'Note whether the newest delivery of a chat that has ended was sent.',
  locking: 'The destination.',
  text: `with ended as materialized (
  select d.status = 'sent' as is_sent, d.settled_at, coalesce(d.last_error, concat('The delivery ended as ', d.status)) as error
  from holdfast.deliveries d
  where d.session_id = $sessionId::uuid and d.target ->> 'url' = $url and starts_with(d.cause_key, 'alert:')
    and d.status in ('sent', 'failed', 'expired', 'unknown')
  order by d.seq desc limit 1
)
update holdfast.alert_destinations a set last_status = null,
  failing_since = case when not ended.is_sent then ended.settled_at end, last_error = case when not ended.is_sent then ended.error end
from ended where a.id = $id::uuid and case when ended.is_sent then a.failing_since <= ended.settled_at else a.failing_since is null end`,
  values: (chat: { id: string; url: string; sessionId: SessionId }) => chat,
});

/** What has become of the delivery of a call. */
export const readAlertDelivery = viewQuery({
  name: 'alert-delivery',
  purpose: 'Read the delivery of an alert to a chat ($1: the id of its call).',
  text: `select d.status, d.last_error as "lastError" from holdfast.deliveries d where d.cause_key = 'alert:' || $1::text`,
  values: (callId: string) => [callId],
  answer: ([row]: { status: string; lastError: string | null }[]) => row ?? null,
});
