// How the attempt to send a delivery has ended: its result, with its event, and what follows from
// it for the chat, the account and the agent.
import { destinationOfTargetSql, placesOfUrlSql } from '../../../core/channel-address.ts';
import type { DeliveryPayload } from '../../../core/delivery-payload.ts';
import type { DeliveryId } from '../../../core/ids.ts';
import { cutHead, storableText } from '../../../core/text.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { newId } from '../../../ids.ts';
import { insertEventsSql } from '../../../kernel/events/events.ts';
import type { Committed } from '../../../kernel/queue/after-commit.ts';
import { buildChange } from '../../../kernel/queue/rings.ts';
import type { ClaimedDelivery } from './claims.ts';

export interface Settlement {
  delivery: ClaimedDelivery;
  owner: string;
  /** `unknown`: it is not known whether a chat has it, and it is not sent again. */
  status: 'sent' | 'pending' | 'failed' | 'unknown';
  /** The HTTP status of the answer, if there was one. */
  lastStatus: number | null;
  lastError: string | null;
  /** For `pending`: not before this many milliseconds have passed. */
  delayMs?: number;
  /** What follows for a part for a chat; absent: it is a webhook. */
  chat?: ChatSettlement;
}

interface ChatSettlement {
  /** Nothing is sent to the chat before this many milliseconds have passed. */
  chatMs: number;
  /** Nothing is sent by the account before that; null: nothing keeps it. */
  accountMs?: number | null;
  platformId?: string | null;
  /** True: its sender died, or had no answer. */
  isUnknown?: boolean;
  /**
   * Of `pending`: nothing has decided yet whether it was sent. It stays in `sending`, with a lease
   * that ends when it is due, so its next claim is ambiguous, too.
   */
  staysAmbiguous?: boolean;
  /** True: it only says that another part was not sent; that it was refused is no dead letter. */
  isNotice?: boolean;
  /** What the agent reads at its next turn; absent: nothing. */
  news?: string;
  /** What is sent to the chat after the last part; null: nothing. */
  gap?: DeliveryPayload | null;
}

/** The code of the dead letter of what was given up. */
const CODES: Partial<Record<Settlement['status'], string>> = { failed: 'delivery_failed', unknown: 'delivery_unknown' };

/** So many deliveries that wait are searched for those to the same destination, the oldest. */
const SEARCHED_MAX = 1_000;

const places = placesOfUrlSql("settled.target ->> 'url'");

export const settleDelivery = literalQuery({
  name: 'settle-delivery',
  purpose:
    'Store the result of an attempt, with its event; of one that was sent, make due as many to its destination as it wakes; of one that was given up also its dead letter, and of a part for a chat the news for the agent and the part that names the gap. No effect when another relay has claimed the delivery.',
  locking:
    'The delivery and those that it wakes, unless they are locked, then the gate of its chat and that of its account.',
  // The relay sends it again itself, for as long as its lease.
  retryMs: 0,
  text: `with settled as (
  update holdfast.deliveries d
  set status = case when $staysAmbiguous::boolean then 'sending' else $status end, owner = null, last_status = $lastStatus::int, last_error = $lastError,
    platform_id = $platformId, due_at = clock_timestamp() + $delayMs::float8 * interval '1 millisecond',
    lease_expires_at = case when $staysAmbiguous::boolean then clock_timestamp() + $delayMs::float8 * interval '1 millisecond' end,
    settled_at = case when $status <> 'pending' then clock_timestamp() end
  where d.id = $id::uuid and d.owner = $owner and d.status = 'sending'
  returning d.*
),
-- Each of them wakes one more when it was sent: as many as the first wakes are under way, and none follows one that fails. No index has the
-- destinations, so they are looked for among the oldest that wait; younger ones go at their own time.
woken_deliveries as (
  update holdfast.deliveries d set due_at = clock_timestamp(), wakes = 1 where d.id = any (array(
    select next.id from settled cross join lateral (
      select d.id from holdfast.deliveries d
      where d.id = any (array(select o.id from holdfast.deliveries o where o.status = 'pending' order by o.id limit ${SEARCHED_MAX}))
        and d.status = 'pending' and d.due_at > clock_timestamp() and ${destinationOfTargetSql('d.target')} = ${destinationOfTargetSql('settled.target')}
      limit settled.wakes for update skip locked
    ) as next where $status = 'sent' and settled.wakes > 0))
),
timed_chats as (
  insert into holdfast.channel_gates as gate (place, next_at)
  select ${places.chat}, clock_timestamp() + $chatMs::float8 * interval '1 millisecond' from settled where $chatMs::float8 is not null
  on conflict (place) do update set next_at = excluded.next_at
  returning place
),
timed_accounts as (
  insert into holdfast.channel_gates as gate (place, next_at)
  select ${places.account}, clock_timestamp() + $accountMs::float8 * interval '1 millisecond' from settled, timed_chats
  where $accountMs::float8 is not null
  on conflict (place) do update set next_at = greatest(gate.next_at, excluded.next_at)
),
inserted_dead_letters as (
  insert into holdfast.dead_letters (id, kind, session_id, turn_id, delivery_id, code, reason)
  select $letterId::uuid, 'delivery', session_id, turn_id, id, $code, coalesce($lastError, 'refused') from settled where $code::text is not null
),
inserted_system_events as (
  insert into holdfast.system_events (id, session_id, text, context_key, is_trusted, cause_key)
  select $newsId::uuid, session_id, $news, 'delivery:' || id, false, 'delivery:' || id || ':' || attempts from settled where $news::text is not null
  on conflict do nothing
),
inserted_deliveries as (
  insert into holdfast.deliveries (id, session_id, turn_id, seq, part, parts, channel, target, payload, expires_at, created_at)
  select $gapId::uuid, session_id, turn_id, seq, last.part + 1, last.part + 1, channel, target, $gap::json, expires_at, created_at
  from settled cross join lateral (
    select max(d.part) as part from holdfast.deliveries d where d.session_id = settled.session_id and d.seq = settled.seq
  ) as last where $gap::json is not null
  on conflict do nothing
),
inserted_events as (
  ${insertEventsSql(`select session_id, turn_id, $event::text as type,
    json_build_object('deliveryId', id, 'attempt', attempts, 'status', $status::text, 'httpStatus', $lastStatus::int) as data, 1 as n from settled`)}
)
select 1`,
  values: ({ delivery, chat, lastError, delayMs = 0, ...more }: Settlement) => ({
    ...more,
    ...chat,
    id: delivery.id,
    lastError: lastError === null ? null : cutHead(storableText(lastError), 1000),
    delayMs,
    code: chat?.isNotice === true ? null : CODES[more.status],
    event: `delivery.${more.status === 'sent' ? 'sent' : chat?.isUnknown === true ? 'unknown' : 'failed'}`,
    letterId: newId<string>(),
    newsId: newId<string>(),
    news: chat?.news && storableText(chat.news),
    gapId: newId<DeliveryId>(),
    gap: chat?.gap && JSON.stringify(chat.gap),
  }),
  answer: (_rows: object[], { delivery }): Committed<object> => ({ after: buildChange(delivery.sessionId) }),
});
