// A message of a chat as the inbox keeps it, and its files in the data directory. Its texts are
// bounded as those of a request to the API are.
import { createHash } from 'node:crypto';
import { mkdir, readdir, rename, stat, writeFile } from 'node:fs/promises';
import { extname, join, resolve } from 'node:path';
import type { Config } from '../../config.ts';
import { formatChannelUrl } from '../../core/channel-address.ts';
import { given } from '../../core/json.ts';
import { CHANNEL_MEDIA, type InboundMessage, type Media } from '../../core/inbound.ts';
import { cutHead, storableValue } from '../../core/text.ts';
import type { Database } from '../../database/database.ts';
import { confinedTo } from '../../files/confines.ts';
import { removeInside } from '../../files/inside.ts';
import { newId } from '../../ids.ts';
import { sniffFormat } from '../../images/fit-image.ts';
import type { BotAccount } from './accounts.ts';
import {
  tooLarge,
  type ChatPerson,
  type ChatPlace,
  type Platform,
  type ReceivedMessage,
  type ReceivedReaction,
  type RemoteFile,
} from './platform.ts';
import type { ContextMessage } from './store/context.ts';
import { readAwaitedFiles } from './store/inbox.ts';

const NAME_CHARS_MAX = 200;
const DOWNLOAD_MS = 30_000;
const FILE_BYTES_MAX = 20 * 1024 * 1024;

/** The fields of a message that say where it was said and by whom, and where its answer goes. */
export function addressOf({ channel, account: accountId, adapter }: BotAccount, place: ChatPlace, sender: ChatPerson) {
  const { chatId, threadId, chatType, subject, threadLabel, guild, team } = place;
  const isDirect = chatType === 'direct';
  const { id, name, username, tag, e164 } = sender;
  return {
    channel,
    accountId,
    chatId,
    chatType,
    provider: adapter,
    surface: adapter,
    sender: { id, ...shortened({ name, username, tag, e164 }) },
    ...(isDirect
      ? {}
      : {
          group: shortened({ subject, space: guild ?? team }),
          conversationLabel: cutHead(subject === undefined ? chatId : `${subject} id:${chatId}`, NAME_CHARS_MAX),
        }),
    ...(threadId === undefined ? {} : { thread: { id: threadId, ...shortened({ label: threadLabel }) } }),
    deliver: { url: formatChannelUrl({ channel, accountId, chatId, ...given({ threadId }) }) },
  } satisfies Partial<InboundMessage>;
}

/** The body of a message with its files and with what was said before it. */
export function messageBody(
  account: BotAccount,
  message: ReceivedMessage,
  { media, notes, history }: { media: Media[]; notes: string[]; history: readonly ContextMessage[] },
): InboundMessage {
  const { place, sender, messageId, at, isForBot, isOwnText = false, replyTo, forwarded } = message;
  return storableValue({
    ...addressOf(account, place, sender),
    text: [message.text, ...notes].filter((text) => text !== '').join('\n'),
    messageId,
    timestamp: at,
    ...(isOwnText && !sender.isBot ? {} : { isOwnText: false }),
    ...(place.chatType === 'direct' ? {} : { wasMentioned: isForBot }),
    ...given({ replyTo, forwarded, media: media.length === 0 ? undefined : media }),
    ...(history.length === 0 ? {} : { history: history.map(toHistory) }),
  });
}

/** The message of an album with a further message of it. */
export function mergeParts(album: InboundMessage, part: InboundMessage, partId: string): InboundMessage {
  const media = [...(album.media ?? []), ...(part.media ?? [])];
  return {
    ...album,
    text: [album.text, part.text].filter((text) => text !== '').join('\n'),
    albumParts: [...(album.albumParts ?? []), partId],
    ...(media.length === 0 ? {} : { media }),
    ...(part.isOwnText === false ? { isOwnText: false } : {}),
  };
}

function toHistory({ sender, body, saidAt }: ContextMessage): NonNullable<InboundMessage['history']>[number] {
  return { body, timestamp: saidAt, ...(sender === null ? {} : { sender }) };
}

function shortened<Names extends Record<string, string | undefined>>(names: Names) {
  const short = Object.entries(names).map(([key, name]) => [key, name && cutHead(name, NAME_CHARS_MAX)] as const);
  return Object.fromEntries(short.filter(([, name]) => name)) as { [Key in keyof Names]?: string };
}

/**
 * Downloads the files of a message into `folder`. A file has one path however often the message
 * comes. For one that cannot be had there is a note, which stands in the text.
 */
export async function keepFiles(
  platform: Platform,
  { ofChannel: { mediaBytesMax = FILE_BYTES_MAX } }: BotAccount,
  { files, folder }: { files: readonly RemoteFile[]; folder: string },
): Promise<{ media: Media[]; notes: string[] }> {
  const kept: { media: Media[]; notes: string[] } = { media: [], notes: [] };
  for (const file of files) {
    try {
      if (platform.download === undefined) throw new Error(`${platform.name} has no files`);
      if ((file.bytes ?? 0) > mediaBytesMax) throw tooLarge(mediaBytesMax);
      const { bytes, type } = await platform.download(file, mediaBytesMax, AbortSignal.timeout(DOWNLOAD_MS));
      const format = sniffFormat(bytes);
      const known = format === null ? (type ?? file.type) : `image/${format}`;
      const path = join(
        folder,
        createHash('sha256').update(file.id).digest('hex').slice(0, 32) + suffixOf(file, known),
      );
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const draft = `${path}.${newId<string>()}`;
      await writeFile(draft, bytes, { mode: 0o600 });
      await rename(draft, path);
      kept.media.push({ path, ...given({ type: known }) });
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      kept.notes.push(`[A file of this message was not kept: ${cutHead(why, NAME_CHARS_MAX)}]`);
    }
  }
  return kept;
}

/** Letters and digits only: the name is the sender's. */
function suffixOf({ name = '' }: RemoteFile, type = ''): string {
  const [suffix] = /^\.[a-z0-9]{1,8}$/.exec(extname(name).toLowerCase()) ?? [];
  const [, subtype] = /^[a-z]+\/([a-z0-9]{1,8})(?:;|$)/.exec(type) ?? [];
  return suffix ?? (subtype === undefined ? '' : `.${subtype}`);
}

/** The data of the event `reaction.received`. */
export function reactionData(
  { channel, account: accountId }: BotAccount,
  said: ReceivedReaction,
): Record<string, unknown> {
  const { place, sender, messageId, emoji, isAdded } = said;
  return { channel, accountId, chatId: place.chatId, messageId, emoji, isAdded, senderId: sender.id };
}

/** What the agent reads about an edit or a reaction. */
export function eventText(said: ReceivedMessage | ReceivedReaction, channel: string): string {
  const { sender, messageId } = said;
  const who = [sender.name, `(${sender.username === undefined ? sender.id : `@${sender.username}`})`].filter(Boolean);
  const by = who.join(' ');
  const text =
    said.kind === 'reaction'
      ? `${channel} reaction ${said.isAdded ? 'added' : 'removed'}: ${said.emoji} by ${by} on message ${messageId}`
      : `${channel} message ${messageId} by ${by} was edited. It says now: ${said.text}`;
  return text.replaceAll(/\s+/g, ' ');
}

/**
 * Deletes the files of this machine that are older than messages are kept (`retention.messages`).
 * One that a message names which is not answered yet stays.
 */
export async function trimFiles({ config, database }: { config: Config; database: Database }): Promise<void> {
  const { messages: keptMs } = config.retention;
  if (keptMs === undefined) return;
  const folder = resolve(config.runtime.dataDir, CHANNEL_MEDIA);
  const old: string[] = [];
  // With their types, links to folders are not followed.
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }).catch(noneYet)) {
    const path = join(entry.parentPath, entry.name);
    const found = entry.isFile() ? await stat(path).catch(() => null) : null;
    if (found !== null && found.mtimeMs < Date.now() - keptMs) old.push(path);
  }
  if (old.length === 0) return;
  const awaited = new Set((await readAwaitedFiles(database)).map((path) => resolve(path)));
  for (const path of old) if (!awaited.has(path)) await removeInside(path, confinedTo(folder));
}

/** Without a file there is no folder. */
function noneYet(error: NodeJS.ErrnoException): [] {
  if (error.code === 'ENOENT') return [];
  throw error;
}
