// Previews: messages of chats that show the answer of a turn while it is written. A row is inserted
// before its message is sent, and has the platform's id before the message shows any text.
// `busy_until` keeps the relay from a message while an edit is under way, and `is_final` keeps the
// worker from it afterwards.
import { placesOfUrlSql } from '../../../core/channel-address.ts';
import { literalQuery } from '../../../database/literal-query.ts';

/** How long a request about a preview may take, in milliseconds. */
export const PREVIEW_REQUEST_MS = 4_000;
/** The margin is for the way to the platform and back. */
const BUSY_SQL = `clock_timestamp() + interval '${PREVIEW_REQUEST_MS + 1_000} milliseconds'`;
const DELETED_AT_ONCE = 1_000;
const SETTLED_AT_ONCE = 100;

interface PreviewName {
  turnId: string;
  /** The address of the chat. */
  url: string;
}

const OF_PREVIEW_SQL = 'p.turn_id = $turnId::uuid and p.url = $url';
const places = placesOfUrlSql('$url::text');
/**
 * Messages of the outbox come first: previews neither move the time of a gate nor overtake what
 * waits.
 */
const FREE_SQL = `not exists (
    select from holdfast.channel_gates g where g.place in (${places.chat}, ${places.account}) and g.next_at > clock_timestamp()
  ) and not exists (
    select from holdfast.deliveries d where d.target ->> 'url' = $url and d.channel <> 'webhook' and d.status in ('pending', 'sending')
  )`;

/**
 * `new`: its message may be sent. `known`: another worker has sent its message. `closed`: no text
 * is shown. `wait`: the chat is not free.
 */
export type PreviewBegin = { kind: 'new' | 'wait' | 'closed' } | { kind: 'known'; platformId: string };

export const beginPreview = literalQuery({
  name: 'begin-channel-preview',
  purpose:
    'Store that the preview of a turn is being sent to a chat that is free, or read the one that was stored before.',
  text: `with inserted as (
  insert into holdfast.channel_previews (turn_id, url, busy_until) select $turnId::uuid, $url::text, ${BUSY_SQL} where ${FREE_SQL}
  on conflict do nothing returning true
)
select exists (select from inserted) as "isNew", p.turn_id is not null as "isKnown", p.platform_id as "platformId", p.is_final as "isFinal"
from (select) as one left join holdfast.channel_previews p on ${OF_PREVIEW_SQL}`,
  values: (name: PreviewName) => name,
  answer: ([row]: {
    isNew: boolean;
    isKnown: boolean;
    platformId: string | null;
    isFinal: boolean | null;
  }[]): PreviewBegin => {
    const { isNew, isKnown, platformId, isFinal } = row!;
    if (isNew) return { kind: 'new' };
    if (!isKnown) return { kind: 'wait' };
    return platformId === null || isFinal === true ? { kind: 'closed' } : { kind: 'known', platformId };
  },
});

export const holdPreview = literalQuery({
  name: 'hold-channel-preview',
  purpose:
    'Store that an edit of a preview is under way, if its chat is free and the outbox does not have the message.',
  locking: 'The preview.',
  text: `update holdfast.channel_previews p set busy_until = ${BUSY_SQL} where ${OF_PREVIEW_SQL} and not p.is_final and ${FREE_SQL} returning true`,
  values: (name: PreviewName) => name,
  answer: (rows: object[]) => rows.length > 0,
});

export const releasePreview = literalQuery({
  name: 'release-channel-preview',
  purpose:
    'Store that no request about a preview is under way, and the id of its message. Answers whether it is still a preview.',
  locking: 'The preview.',
  text: `update holdfast.channel_previews p set busy_until = null, platform_id = $platformId
where ${OF_PREVIEW_SQL} and not p.is_final returning true`,
  values: (name: PreviewName & { platformId: string | null }) => name,
  answer: (rows: object[]) => rows.length > 0,
});

export const takePreview = literalQuery({
  name: 'take-channel-preview',
  purpose:
    'Give the message of a preview to the outbox. Answers its id, and whether a request about it may be under way.',
  locking: 'The preview.',
  text: `update holdfast.channel_previews p set is_final = p.busy_until is null or p.busy_until <= clock_timestamp()
where ${OF_PREVIEW_SQL} returning p.platform_id as "platformId", not p.is_final as "isBusy"`,
  values: (name: PreviewName) => name,
  answer: ([row]: { platformId: string | null; isBusy: boolean }[]) => row ?? null,
});

export const settlePreviews = literalQuery({
  name: 'settle-channel-previews',
  purpose:
    'Close previews of turns that have ended and that the outbox has nothing for ($turnId: of this turn). Answers their messages.',
  locking: 'The previews, but none that another process has locked.',
  text: `with left_over as materialized (
  select p.turn_id, p.url from holdfast.channel_previews p join holdfast.turns t on t.id = p.turn_id
  where not p.is_final and t.ended_at is not null and ($turnId::uuid is null or p.turn_id = $turnId::uuid)
    and (p.busy_until is null or p.busy_until <= clock_timestamp())
    and not exists (select from holdfast.deliveries d where d.target ->> 'url' = p.url and d.turn_id = p.turn_id
      and d.channel <> 'webhook' and d.status in ('pending', 'sending'))
  limit ${SETTLED_AT_ONCE} for update of p skip locked
)
update holdfast.channel_previews p set is_final = true from left_over where p.turn_id = left_over.turn_id and p.url = left_over.url
returning p.url, p.platform_id as "platformId"`,
  values: (turnId: string | null) => ({ turnId }),
  answer: (rows: { url: string; platformId: string | null }[]) => rows,
});

export const trimPreviews = literalQuery({
  name: 'trim-channel-previews',
  purpose: 'Delete a portion of the previews of yesterday. Answers whether there may be more.',
  locking: 'These previews, but none that another process has locked.',
  text: `delete from holdfast.channel_previews where ctid = any (array(
  select ctid from holdfast.channel_previews where created_at < clock_timestamp() - interval '1 day' limit ${DELETED_AT_ONCE} for update skip locked
)) returning true`,
  answer: (rows: object[]) => rows.length === DELETED_AT_ONCE,
});
