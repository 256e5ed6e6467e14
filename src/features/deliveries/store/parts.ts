// Deliveries to chats, each of which is divided into parts: one row, with one message of the
// platform. The row of `channel_gates` of a chat is held by the relay that sends to it, and says
// afterwards when the next message may follow; that of the account spaces the messages of a bot.
import { placesOfUrlSql } from '../../../core/channel-address.ts';
import type { DeliveryPayload } from '../../../core/delivery-payload.ts';
import type { DeliveryId, SessionId } from '../../../core/ids.ts';
import { cutHead, storableText } from '../../../core/text.ts';
import type { Database } from '../../../database/database.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { newId } from '../../../ids.ts';
import { insertEventsSql } from '../../../kernel/events/events.ts';
import { buildChange } from '../../../kernel/queue/rings.ts';
import type { Committed } from '../../../kernel/queue/after-commit.ts';
import { GATED_HEADS_SQL, headsOfChatsSql, OPEN_IN_CHAT_SQL } from './chat-heads.ts';
import { ORIGIN_SQL, type ClaimedDelivery } from './outbox.ts';

/**
 * A bot sends one message in this time at most, to all its chats together, in milliseconds: 30 in a
 * second.
 */
const ACCOUNT_GAP_MS = 34;

/**
 * A part, or a delivery that was not divided yet, that this process has claimed until its lease
 * expires.
 */
export interface ClaimedPart extends ClaimedDelivery {
  payload: DeliveryPayload;
  /** The address of the chat, see `src/core/channel-address.ts`. */
  url: string;
  part: number;
  /** 0: it was not divided yet, and nothing of it was sent. */
  parts: number;
  /**
   * True: another relay was sending it when its lease expired, and nothing has decided since
   * whether it was sent.
   */
  isAmbiguous: boolean;
  /** In how many milliseconds the account may send it. */
  waitMs: number;
}

/**
 * A part, or when one of another session or of this one can be claimed: null, as far as is known
 * there is none.
 */
export type PartClaim = { part: ClaimedPart } | { part: null; next: { sessionId: SessionId; inMs: number } | null };

const heldPlaces = placesOfUrlSql('locked.url');

export const claimPart = literalQuery({
  name: 'claim-part',
  purpose:
    'Claim the head of a chat that a session ($sessionId) has a delivery for, or of the chat $url, if it is due and no relay sends to that chat. Answers it, or when the next may be claimed.',
  locking: 'The delivery, unless it is locked, then the gate of its chat and that of its account.',
  text: `with chats as materialized (
  select d.target ->> 'url' as url from holdfast.deliveries d where d.session_id = $sessionId::uuid and ${OPEN_IN_CHAT_SQL}
  union select $url::text
),
heads as materialized (
  ${headsOfChatsSql("d.target ->> 'url' in (select url from chats)")}
),
gated as materialized (
  ${GATED_HEADS_SQL}
),
locked as materialized (
  select d.id, gated.url, d.status as was from gated join holdfast.deliveries d on d.id = gated.id
  where gated.free_at <= clock_timestamp() and d.expires_at > clock_timestamp()
    and ((d.status = 'pending' and d.due_at <= clock_timestamp()) or (d.status = 'sending' and d.lease_expires_at <= clock_timestamp()))
  order by gated.free_at limit 1 for update of d skip locked
),
held_chats as (
  insert into holdfast.channel_gates as gate (place, next_at)
  select ${heldPlaces.chat}, clock_timestamp() + $leaseMs::int * interval '1 millisecond' from locked
  on conflict (place) do update set next_at = excluded.next_at where gate.next_at <= clock_timestamp()
  returning place
),
timed_accounts as (
  insert into holdfast.channel_gates as gate (place, next_at)
  select ${heldPlaces.account}, clock_timestamp() + interval '${ACCOUNT_GAP_MS} milliseconds' from locked, held_chats
  on conflict (place) do update set next_at = greatest(gate.next_at, clock_timestamp()) + interval '${ACCOUNT_GAP_MS} milliseconds'
  returning next_at
),
claimed as (
  update holdfast.deliveries d
  set status = 'sending', owner = $owner, attempts = d.attempts + 1, lease_expires_at = clock_timestamp() + $leaseMs::int * interval '1 millisecond'
  from locked, timed_accounts where d.id = locked.id
  returning d.id, d.session_id, json_build_object('id', d.id, 'sessionId', d.session_id, 'turnId', d.turn_id, 'channel', d.channel, 'target', d.target,
    'payload', d.payload, 'attempts', d.attempts, 'origin', ${ORIGIN_SQL}, 'url', locked.url, 'part', d.part, 'parts', d.parts,
    'isAmbiguous', locked.was = 'sending' and d.parts > 0,
    'waitMs', greatest(0, extract(epoch from timed_accounts.next_at - clock_timestamp()) * 1000 - ${ACCOUNT_GAP_MS})) as part
)
select claimed.part, gated.session_id as "sessionId", extract(epoch from gated.free_at - clock_timestamp())::float8 * 1000 as "inMs"
from (select) as one left join claimed on true left join gated on claimed.id is null order by gated.free_at limit 1`,
  values: (claim: { sessionId: SessionId; url: string | null; owner: string; leaseMs: number }) => claim,
  answer: ([row]: { part: ClaimedPart | null; sessionId: SessionId | null; inMs: number }[]): PartClaim => {
    if (row?.part) return { part: row.part };
    const sessionId = row?.sessionId ?? null;
    return { part: null, next: sessionId === null ? null : { sessionId, inMs: row!.inMs } };
  },
});

export const storeParts = literalQuery({
  name: 'divide-delivery',
  purpose:
    'Replace a claimed delivery ($id) that was not divided by its parts ($payloads), the first of which stays claimed.',
  locking: 'The delivery.',
  text: `with new_parts as materialized (
  select part.n::int as n, part.payload, ($ids::uuid[])[part.n] as id from json_array_elements($payloads::json) with ordinality as part (payload, n)
),
divided as (
  update holdfast.deliveries d set payload = new_parts.payload, parts = json_array_length($payloads::json) from new_parts
  where d.id = $id::uuid and d.owner = $owner and d.status = 'sending' and d.parts = 0 and new_parts.n = 1
  returning d.*
),
inserted_deliveries as (
  insert into holdfast.deliveries (id, session_id, turn_id, seq, part, parts, channel, target, payload, expires_at, created_at)
  select new_parts.id, divided.session_id, divided.turn_id, divided.seq, new_parts.n, divided.parts, divided.channel, divided.target, new_parts.payload,
    divided.expires_at, divided.created_at
  from divided join new_parts on new_parts.n > 1
)
-- The answer to an earlier try of this statement may have been lost.
select ((select count(*) from divided) + (select count(*) from holdfast.deliveries d
  where d.id = $id::uuid and d.owner = $owner and d.status = 'sending' and d.parts > 0))::int as count`,
  values: ({
    delivery,
    owner,
    payloads,
  }: {
    delivery: ClaimedPart;
    owner: string;
    payloads: readonly DeliveryPayload[];
  }) => ({
    id: delivery.id,
    owner,
    payloads: JSON.stringify(payloads),
    ids: payloads.map(() => newId<DeliveryId>()),
  }),
  /** False: another relay has claimed it. */
  answer: ([row]: { count: number }[]) => row?.count === 1,
});

export interface PartSettlement {
  delivery: ClaimedPart;
  owner: string;
  status: 'sent' | 'pending' | 'failed' | 'unknown';
  /** True: its sender died, or had no answer. */
  isUnknown: boolean;
  /**
   * Of `pending`: nothing has decided yet whether it was sent. It stays in `sending`, with a lease
   * that ends when it is due, so its next claim is ambiguous, too.
   */
  staysAmbiguous: boolean;
  platformId: string | null;
  lastStatus: number | null;
  lastError: string | null;
  /** For `pending`: not before this many milliseconds have passed. */
  delayMs: number;
  /** Nothing is sent to the chat before this many milliseconds have passed. */
  chatMs: number;
  /** Nothing is sent by the account before that; null: nothing keeps it. */
  accountMs: number | null;
  /** Of the dead letter of a part that was given up; null: none. */
  code: 'delivery_failed' | 'delivery_unknown' | null;
  /** What the agent reads at its next turn; null: nothing. */
  news: string | null;
  /** What is sent to the chat after the last part; null: nothing. */
  gap: DeliveryPayload | null;
}

const settledPlaces = placesOfUrlSql("settled.target ->> 'url'");

export const storeSettlement = literalQuery({
  name: 'settle-part',
  purpose:
    'Store the result of an attempt to send a part, with its event; of one that was given up also its dead letter, the news for the agent and the part that names the gap.',
  locking: 'The delivery, then the gate of its chat and that of its account.',
  text: `with settled as (
  update holdfast.deliveries d
  set status = case when $staysAmbiguous::boolean then 'sending' else $status end, owner = null, last_status = $lastStatus::int, last_error = $lastError,
    platform_id = $platformId, due_at = clock_timestamp() + $delayMs::bigint * interval '1 millisecond',
    lease_expires_at = case when $staysAmbiguous::boolean then clock_timestamp() + $delayMs::bigint * interval '1 millisecond' end,
    settled_at = case when $status <> 'pending' then clock_timestamp() end
  where d.id = $id::uuid and d.owner = $owner and d.status = 'sending'
  returning d.*
),
timed_chats as (
  insert into holdfast.channel_gates as gate (place, next_at)
  select ${settledPlaces.chat}, clock_timestamp() + $chatMs::bigint * interval '1 millisecond' from settled
  on conflict (place) do update set next_at = excluded.next_at
  returning place
),
timed_accounts as (
  insert into holdfast.channel_gates as gate (place, next_at)
  select ${settledPlaces.account}, clock_timestamp() + $accountMs::bigint * interval '1 millisecond' from settled, timed_chats
  where $accountMs::bigint is not null
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
  values: (settlement: PartSettlement) => ({
    ...settlement,
    id: settlement.delivery.id,
    lastError: settlement.lastError === null ? null : cutHead(storableText(settlement.lastError), 1000),
    delayMs: Math.ceil(settlement.delayMs),
    chatMs: Math.ceil(settlement.chatMs),
    accountMs: settlement.accountMs === null ? null : Math.ceil(settlement.accountMs),
    letterId: newId<string>(),
    newsId: newId<string>(),
    news: settlement.news === null ? null : storableText(settlement.news),
    gapId: newId<DeliveryId>(),
    gap: settlement.gap === null ? null : JSON.stringify(settlement.gap),
    event: eventOf(settlement),
  }),
});

function eventOf({ status, isUnknown }: PartSettlement): 'delivery.sent' | 'delivery.failed' | 'delivery.unknown' {
  if (status === 'sent') return 'delivery.sent';
  return isUnknown ? 'delivery.unknown' : 'delivery.failed';
}

/** Stores the result of an attempt. No effect when another relay has claimed the part. */
export async function settlePart(database: Database, settlement: PartSettlement): Promise<Committed<object>> {
  await storeSettlement(database, settlement);
  return { after: buildChange(settlement.delivery.sessionId) };
}
