// Requests of people to write in direct chats: one row for each person, and at most three that are
// open for each account of a channel.
import type { DeliveryId, SessionId } from '../../../core/ids.ts';
import { keyedSql, type KeyedRequest } from '../../../database/idempotency.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { insertEventsSql } from '../../../kernel/events/events.ts';
import type { Committed } from '../../../kernel/queue/after-commit.ts';
import { deliveryRing } from '../../../kernel/queue/rings.ts';

/** The most requests that are open for one account. */
export const OPEN_MAX = 3;
/** How long a code is valid, in milliseconds. */
export const CODE_MS = 60 * 60_000;

/** A person, as the platform of an account knows it. */
interface AskingPerson {
  channel: string;
  account: string;
  senderId: string;
}

/** SQL of whether the code of a request `p` is not valid any more, and nothing was decided. */
export const IS_LATE_SQL = `p.status = 'open' and p.expires_at <= clock_timestamp()`;
const OF_ACCOUNT_SQL = 'p.channel = $channel and p.account = $account';

export const isPaired = literalQuery({
  name: 'is-paired',
  purpose: 'Read whether a person may write to an account of a channel.',
  text: `select from holdfast.pairings p where ${OF_ACCOUNT_SQL} and p.sender_id = $senderId and p.status = 'approved'`,
  values: (channel: string, account: string, senderId: string) => ({ channel, account, senderId }),
  answer: (rows: object[]) => rows.length > 0,
});

/** What a person is sent about its request. */
interface Notice {
  deliveryId: DeliveryId;
  /** The address of the chat. */
  url: string;
  payload: object;
}

const noticeSql = (rows: string): string => `inserted_deliveries as (
  insert into holdfast.deliveries (id, session_id, turn_id, seq, channel, target, payload, expires_at)
  select $deliveryId::uuid, locked.id, null, locked.delivery_seq + 1, $channel, json_build_object('url', $url::text), $payload::json,
    clock_timestamp() + ${CODE_MS} * interval '1 millisecond'
  from locked, ${rows}
  returning session_id, seq
),
updated_sessions as (
  update holdfast.sessions s set delivery_seq = inserted_deliveries.seq, updated_at = clock_timestamp()
  from inserted_deliveries where s.id = inserted_deliveries.session_id
)`;

interface NoticeRow {
  sessionId: SessionId | null;
  seq: string | null;
}

const afterNotice = ({ sessionId, seq }: NoticeRow) =>
  sessionId === null ? {} : { after: { changed: [], rings: [deliveryRing(sessionId, seq)] } };

export const readPairingRoom = literalQuery({
  name: 'read-pairing-room',
  purpose: 'Read whether a person has asked already, and how many requests of the account are open.',
  text: `select count(*) filter (where p.sender_id = $senderId and not (${IS_LATE_SQL}))::int as own,
  count(*) filter (where p.status = 'open' and p.expires_at > clock_timestamp())::int as open
from holdfast.pairings p where ${OF_ACCOUNT_SQL} and (p.sender_id = $senderId or p.slot is not null)`,
  values: ({ channel, account, senderId }: AskingPerson) => ({ channel, account, senderId }),
  answer: ([row]: { own: number; open: number }[]) => ({ hasAsked: row!.own > 0, hasRoom: row!.open < OPEN_MAX }),
});

export interface NewPairing extends AskingPerson, Notice {
  id: string;
  sessionId: SessionId;
  senderName: string | null;
  chatId: string;
  threadId: string | null;
  code: string;
}

/**
 * Stores a request with what the person is sent about it. `isStored` is false when the person has
 * asked already, when there is no room, or when another request was stored at the same time;
 * `isErased`: the session does not exist any more.
 */
export const insertPairing = literalQuery({
  name: 'insert-pairing',
  purpose:
    'Store the request of a person to write, in the first free place of its account, with the notice to the person.',
  locking: 'The session row, then requests that are over.',
  text: `with locked as materialized (select s.id, s.delivery_seq from holdfast.sessions s where s.id = $sessionId for no key update),
late as (delete from holdfast.pairings p where ${OF_ACCOUNT_SQL} and ${IS_LATE_SQL} returning p.id),
free_places as materialized (
  select min(n) as slot from generate_series(1, ${OPEN_MAX}) as n, (select count(*) from late) as deleted
  where not exists (select from holdfast.pairings p where ${OF_ACCOUNT_SQL} and p.slot = n and not (${IS_LATE_SQL}))
),
inserted_pairings as (
  insert into holdfast.pairings (id, channel, account, sender_id, sender_name, chat_id, thread_id, session_id, code, slot, expires_at)
  select $id::uuid, $channel, $account, $senderId, $senderName, $chatId, $threadId, locked.id, $code, free_places.slot,
    clock_timestamp() + ${CODE_MS} * interval '1 millisecond'
  from free_places, locked where free_places.slot is not null
  on conflict do nothing
  returning *
),
${noticeSql('inserted_pairings')},
inserted_events as (${insertEventsSql(`select session_id, null::uuid as turn_id, 'pairing.requested' as type,
    json_build_object('pairingId', id, 'channel', channel, 'accountId', account, 'senderId', sender_id, 'expiresInMs', ${CODE_MS}) as data, 0 as n
  from inserted_pairings`)})
select exists (select from locked) as "isFound", exists (select from inserted_pairings) as "isStored", d.session_id as "sessionId", d.seq
from (values (1)) as one left join inserted_deliveries d on true`,
  values: (pairing: NewPairing) => ({ ...pairing, payload: JSON.stringify(pairing.payload) }),
  answer: ([row]: (NoticeRow & { isFound: boolean; isStored: boolean })[]): Committed<{
    isErased: boolean;
    isStored: boolean;
  }> => ({ isErased: !row!.isFound, isStored: row!.isStored, ...afterNotice(row!) }),
});

export interface PairingDecision {
  id: string;
  status: 'approved' | 'denied';
  by: string;
}

/**
 * Decides about a request that is open. The first decision holds; `isFirst` is false for another.
 * The person is sent `notice`, if there is one.
 */
export const decidePairing = literalQuery({
  name: 'decide-pairing',
  purpose: 'Decide about the request of a person to write whose time is not over, and store the notice to the person.',
  locking: 'The session row, then the request.',
  text: `with locked as materialized (
  select s.id, s.delivery_seq from holdfast.pairings p join holdfast.sessions s on s.id = p.session_id where p.id = $id for no key update of s
),
decided as (
  update holdfast.pairings p set status = $status, slot = null, decided_at = clock_timestamp(), decided_by = $by
  from (select count(*) from locked) as after_lock
  where p.id = $id and p.status = 'open' and p.expires_at > clock_timestamp()
  returning p.*
),
${noticeSql('decided where $deliveryId::uuid is not null')},
${keyedSql(`select json_build_object('status', status) from decided`)}
select d.session_id as "sessionId", d.seq from decided left join inserted_deliveries d on true`,
  values: (
    decision: PairingDecision,
    { notice, idempotency }: { notice: (Notice & { channel: string }) | null; idempotency: KeyedRequest | null },
  ) => ({
    ...decision,
    ...notice,
    payload: notice === null ? null : JSON.stringify(notice.payload),
    ...idempotency,
  }),
  answer: ([row]: NoticeRow[]): Committed<{ isFirst: boolean }> =>
    row === undefined ? { isFirst: false } : { isFirst: true, ...afterNotice(row) },
});

export const deletePairing = literalQuery({
  name: 'delete-pairing',
  purpose: 'Delete the request of a person. Answers whether it was there.',
  locking: 'The request.',
  text: 'delete from holdfast.pairings where id = $id returning id',
  values: (id: string) => ({ id }),
  answer: (rows: object[]) => rows.length > 0,
});
