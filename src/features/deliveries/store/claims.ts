// The outbox: replies on their way out, in order per session. Only the oldest open delivery of a
// session can be claimed, so a later one never overtakes it; a claim is a lease, so a delivery that
// a crashed process was sending can be claimed again.
//
//   pending ──claim──▶ sending ──2xx──▶ sent
//      ▲                 │  ├─ may pass ──▶ pending (due later)       until it expires: expired + dead letter
//      │                 │  └─ will not  ──▶ failed + dead letter
//      └── lease expired ┘  (the receiver knows it by its dedupe key)
//
// A chat gets the deliveries of a session in their order, part after part, and those of several
// sessions in the order in which the oldest of each was stored, so the parts of one answer stay
// together. Only the first of a chat, its head, can be claimed. The row of `channel_gates` of a
// chat is held by the relay that sends to it, and says afterwards when the next message may follow;
// that of the account spaces the messages of a bot.
import { placesOfUrlSql } from '../../../core/channel-address.ts';
import type { DeliveryPayload } from '../../../core/delivery-payload.ts';
import type { DeliveryId, SessionId } from '../../../core/ids.ts';
import type { TracedOrigin } from '../../../core/telemetry.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { newId } from '../../../ids.ts';

/** A delivery that this process has claimed until its lease expires. */
export interface ClaimedDelivery {
  id: DeliveryId;
  sessionId: SessionId;
  turnId: string | null;
  channel: string;
  target: unknown;
  payload: unknown;
  /** Counts this attempt. */
  attempts: number;
  /** The first input of its turn, which decides its trace; null: it is of no turn. */
  origin: TracedOrigin | null;
}

/** SQL of whether a delivery `d` is due: it waits no longer, or the lease of its relay is over. */
export const IS_DUE_SQL = `(d.status = 'pending' and d.due_at <= clock_timestamp()
    or d.status = 'sending' and d.lease_expires_at <= clock_timestamp())`;

/** SQL of the first input of the turn of a delivery `d`. */
const ORIGIN_SQL = `(select json_build_object('id', i.id, 'seq', i.seq, 'traceparent', i.traceparent)
    from holdfast.inbox i where i.turn_id = d.turn_id and i.status <> 'dropped' order by i.seq limit 1)`;

export const claimDelivery = literalQuery({
  name: 'claim-delivery',
  purpose: 'Claim the oldest open webhook of a session, if it is due and no relay is sending it.',
  locking: 'The delivery, unless it is locked.',
  // Sent again, it would find the delivery being sent.
  retryMs: 0,
  text: `with oldest as materialized (
  select d.id from holdfast.deliveries d
  where d.session_id = $sessionId and d.channel = 'webhook' and d.status in ('pending', 'sending') order by d.seq limit 1
),
locked as materialized (
  select d.id from holdfast.deliveries d join oldest on oldest.id = d.id
  where d.expires_at > clock_timestamp() and ${IS_DUE_SQL}
  for update of d skip locked
)
update holdfast.deliveries d
set status = 'sending', owner = $owner, attempts = d.attempts + 1,
  lease_expires_at = clock_timestamp() + $leaseMs * interval '1 millisecond'
from locked where d.id = locked.id
returning d.id, d.session_id as "sessionId", d.turn_id as "turnId", d.channel, d.target, d.payload, d.attempts,
  ${ORIGIN_SQL} as origin`,
  values: (claim: { sessionId: SessionId; owner: string; leaseMs: number }) => claim,
  answer: ([delivery]: ClaimedDelivery[]) => delivery ?? null,
});

/** The condition of the index `deliveries_of_chats`. */
const OPEN_IN_CHAT_SQL = `d.channel <> 'webhook' and d.status in ('pending', 'sending')`;

/** SQL of the head of each chat that `condition` names. */
export const headsOfChatsSql = (condition: string): string => `select distinct on (url) * from (
    select distinct on (d.target ->> 'url', d.session_id) d.target ->> 'url' as url, d.session_id, d.id, d.created_at, d.seq, d.attempts,
      case d.status when 'pending' then d.due_at else d.lease_expires_at end as due_at
    from holdfast.deliveries d where ${OPEN_IN_CHAT_SQL} and ${condition}
    order by d.target ->> 'url', d.session_id, d.seq, d.part
  ) as oldest_of_sessions order by url, created_at, session_id`;

/** A relay waits this long for its turn among the messages of an account. */
const TURN_WAIT_SQL = `interval '1 second'`;

const { chat, account } = placesOfUrlSql('heads.url');

/**
 * SQL of the rows of the CTE `heads`, each with the time from which it and its chat may be claimed,
 * and its account too; none of an account that is paused.
 */
export const GATED_HEADS_SQL = `select heads.*, greatest(heads.due_at, chat.next_at) as chat_free_at,
    greatest(heads.due_at, chat.next_at, account.next_at - ${TURN_WAIT_SQL}) as free_at
  from heads
  left join holdfast.channel_gates chat on chat.place = ${chat}
  left join holdfast.channel_gates account on account.place = ${account}
  where not exists (select from holdfast.channel_accounts paused
    where paused.is_paused and starts_with(heads.url, 'channel:' || paused.channel || '/' || paused.account || '/'))`;

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
    and ${IS_DUE_SQL}
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
