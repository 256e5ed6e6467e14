// Albums: what a person sends as one message and the platform as several, which are stored as one (store/albums.ts).
import type { SessionKey } from '../../core/ids.ts';
import type { InboundMessage } from '../../core/inbound.ts';
import { deliverMessages } from '../../kernel/use-cases/deliver-delayed.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { accept, DONE, toStored, type Stored } from './accept-said.ts';
import type { BotAccount } from './accounts.ts';
import { mergeParts } from './message-body.ts';
import type { Received, ReceivedMessage, ReceivedUnreadable } from './platform.ts';
import { ALBUM_MS, endAlbums, extendAlbum, holdAlbum, type AlbumKey } from './store/albums.ts';

const ALBUM_TRIES_MAX = 10;

type Said = Exclude<Received, ReceivedUnreadable>;

/** Only one message of an album has its words, which may mention the bot: the others are for it, too. */
export async function asOfAlbum({ database }: Service, account: BotAccount, said: Said): Promise<Said> {
  if (said.kind !== 'message' || said.albumId === undefined) return said;
  return (await holdAlbum(database, albumKey(account, said))) === null ? said : { ...said, isForBot: true };
}

/** Whether a message will be added to that of its album, which waits for it. */
export async function isPartOfAlbum(
  { database }: Service,
  account: BotAccount,
  message: ReceivedMessage,
): Promise<boolean> {
  if (message.albumId === undefined) return false;
  return (await holdAlbum(database, albumKey(account, message)))?.isOpen === true;
}

/** Lets the albums of a chat arrive that wait for further messages, but not that which the message belongs to. */
export async function letAlbumsArrive(
  service: Service,
  { account, sessionKey }: { account: BotAccount; sessionKey: SessionKey },
  message: ReceivedMessage,
): Promise<void> {
  const own = albumKey(account, message);
  await deliverMessages(service, await endAlbums(service.database, sessionKey, message.place.chatId, own));
}

/** Adds a message to that of its album, or begins that. Null: it is a message of its own. */
export async function storeInAlbum(
  service: Service,
  { account, sessionKey }: { account: BotAccount; sessionKey: SessionKey },
  { message, body }: { message: ReceivedMessage; body: InboundMessage },
): Promise<Stored | null> {
  if (message.albumId === undefined) return null;
  const key = albumKey(account, message);
  const id = message.messageId;
  // Another process can store a message of the album at the same time.
  for (let tries = 0; tries < ALBUM_TRIES_MAX; tries += 1) {
    const album = await holdAlbum(service.database, key);
    if (album === null) {
      const first = { ...body, albumParts: [id], deliverAt: Date.now() + ALBUM_MS.next };
      const result = await accept(service, sessionKey, first, { ...key, sha256: key.key });
      // A command cannot be delivered later.
      if (result.kind === 'refused') return null;
      if (result.kind !== 'duplicate' || result.by === 'platform') return toStored(result);
      continue;
    }
    const first = JSON.parse(album.source) as InboundMessage;
    if (first.albumParts?.includes(id) === true) return DONE;
    if (!album.isOpen) return null;
    if (await extendAlbum(service.database, album, mergeParts(first, body, id))) return DONE;
  }
  return null;
}

function albumKey({ channel, account }: BotAccount, { place, albumId = '' }: ReceivedMessage): AlbumKey {
  return { scope: `channel ${channel} ${account}`, key: JSON.stringify(['album', place.chatId, albumId]) };
}
