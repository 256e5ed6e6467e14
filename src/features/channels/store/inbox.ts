// What channels read and change in the inbox: albums, what a bot has said lately, and files that
// are awaited. An album is what a person sends as one message and a platform as several. The first
// of them is a message that is delivered a little later, and those that follow are added to it
// until then; the Idempotency-Key of the album names it. So no process keeps a part of an album in
// memory, and each is committed when it is acknowledged.
import type { SessionKey } from '../../../core/ids.ts';
import type { InboundMessage } from '../../../core/inbound.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import type { DueMessage } from '../../../kernel/inbox/delayed-messages.ts';

/**
 * How long an album waits for its next message, for one whose file is being downloaded, and for all
 * of them, in milliseconds.
 */
export const ALBUM_MS = { next: 1_500, download: 35_000, all: 60_000 };

export interface AlbumKey {
  scope: string;
  key: string;
}

export interface StoredAlbum {
  id: string;
  /** The source as it is stored. */
  source: string;
  /** True: it has not arrived in its session yet. */
  isOpen: boolean;
}

const waitSql = (ms: number) =>
  `least(clock_timestamp() + interval '${ms} milliseconds', i.received_at + interval '${ALBUM_MS.all} milliseconds')`;

export const holdAlbum = literalQuery({
  name: 'hold-album',
  purpose: 'Read the message of an album, and delay it while another file of it is downloaded. Null: there is none.',
  locking: 'The message.',
  text: `with found as materialized (
  select i.id from holdfast.idempotency_keys k join holdfast.inbox i on i.id = k.resource_id where k.scope = $scope and k.key = $key
),
held as (
  update holdfast.inbox i set deliver_at = greatest(i.deliver_at, ${waitSql(ALBUM_MS.download)})
  from found where i.id = found.id and i.status = 'delayed' returning i.id
)
select i.id, i.body::text as source, exists (select from held) as "isOpen" from found join holdfast.inbox i on i.id = found.id`,
  values: (key: AlbumKey) => ({ ...key }),
  answer: ([row]: StoredAlbum[]) => row ?? null,
});

export const extendAlbum = literalQuery({
  name: 'extend-album',
  purpose: 'Add a message to that of its album, unless it has arrived or has changed. Answers whether it was added.',
  locking: 'The message.',
  text: `update holdfast.inbox i set body = $body::json, deliver_at = ${waitSql(ALBUM_MS.next)}
where i.id = $id::uuid and i.status = 'delayed' and i.body::text = $source returning true`,
  values: ({ id, source }: StoredAlbum, body: InboundMessage) => ({ id, source, body: JSON.stringify(body) }),
  answer: (rows: object[]) => rows.length > 0,
});

export const endAlbums = literalQuery({
  name: 'end-albums',
  purpose:
    'End the wait of the albums of a chat, because a message follows them that is of none of them. Answers those that have to arrive.',
  locking: 'The messages.',
  text: `with ended as (
  update holdfast.inbox i set deliver_at = clock_timestamp() from holdfast.sessions s
  where s.key = $sessionKey and i.session_id = s.id and i.status = 'delayed' and i.body -> 'albumParts' is not null and i.body ->> 'chatId' = $chatId
    -- Another process may just have begun the album of the message itself.
    and not exists (select from holdfast.idempotency_keys k where k.scope = $scope and k.key = $key and k.resource_id = i.id)
  returning i.id, i.session_id as "sessionId", i.body, i.route, i.mode, i.platform_key as "platformKey"
)
select * from ended order by id`,
  values: (sessionKey: SessionKey, chatId: string, own: AlbumKey) => ({ sessionKey, chatId, ...own }),
  answer: (rows: DueMessage[]) => rows,
});

/** How many messages of a session are read, newest first. */
const SEARCHED = 200;

export const countBotMessages = literalQuery({
  name: 'count-bot-messages',
  purpose:
    'Count what a bot has said to an agent within an hour, up to a message of it. None, if that message is stored: it comes again.',
  text: `select case when bool_or(said.id = $messageId) then 0 else count(*)::int end as count from (
  select i.body -> 'sender' ->> 'id' as sender, i.body ->> 'messageId' as id, i.received_at from holdfast.inbox i
  where i.session_id = (select s.id from holdfast.sessions s where s.key = $sessionKey) order by i.seq desc limit ${SEARCHED}
) as said where said.sender = $senderId and said.received_at > clock_timestamp() - interval '1 hour'`,
  values: (message: { sessionKey: SessionKey; senderId: string; messageId: string }) => message,
  answer: ([row]: { count: number }[]) => row!.count,
});

export const readAwaitedFiles = literalQuery({
  name: 'read-awaited-files',
  purpose: 'Read the paths of the files that messages have which wait, or which an open turn answers.',
  text: `select file ->> 'path' as path from (
  select i.body from holdfast.inbox i where i.status = 'waiting'
  union all select i.body from holdfast.inbox i where i.status = 'delayed'
  union all select i.body from holdfast.turns t join holdfast.inbox i on i.turn_id = t.id where t.ended_at is null
) as awaited cross join lateral json_array_elements(awaited.body -> 'media') as file where file ->> 'path' is not null`,
  answer: (rows: { path: string }[]) => rows.map(({ path }) => path),
});
