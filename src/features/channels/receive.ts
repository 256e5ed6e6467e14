// What platforms have sent becomes rows: messages of the inbox, context, requests for pairing,
// system events. Each is committed before the next of its chat is begun, and before the caller
// acknowledges any of it. What is received again changes nothing: messages are unique by the
// platform's id for ever, and events by their content.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { systemClock } from '../../clock.ts';
import { UnknownAgentError } from '../../config.ts';
import { formatChannelUrl } from '../../core/channel-address.ts';
import { given } from '../../core/json.ts';
import type { SessionKey } from '../../core/ids.ts';
import { CHANNEL_MEDIA, type InboundMessage } from '../../core/inbound.ts';
import { cutHead, storableText, storableValue } from '../../core/text.ts';
import { isPassingFault } from '../../database/passing-faults.ts';
import { isKeyTaken, type KeyedRequest } from '../../database/idempotency.ts';
import type { Logger } from '../../logger.ts';
import { readMessage } from '../../kernel/rules/chat-command.ts';
import { acceptMessage, type AcceptResult } from '../../kernel/use-cases/accept-message.ts';
import { findChatWord } from '../../kernel/use-cases/chat-commands.ts';
import { deliverMessages } from '../../kernel/use-cases/deliver-delayed.ts';
import { enqueueEvent } from '../../kernel/use-cases/post-message.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { newId } from '../../ids.ts';
import { thumbOfEmoji } from '../scores/rules.ts';
import { scoreReaction } from '../scores/store/scores.ts';
import { platformOf, type BotAccount } from './accounts.ts';
import { addressOf, eventText, keepFiles, mergeParts, messageBody, reactionData } from './message-body.ts';
import { askForPairing } from './pairings.ts';
import {
  PlatformError,
  type Platform,
  type Received,
  type ReceivedMessage,
  type ReceivedPress,
  type ReceivedReaction,
  type ReceivedUnreadable,
} from './platform.ts';
import { decideAccess } from './rules/access.ts';
import { findBinding } from './rules/bindings.ts';
import { sessionKeyOf } from './rules/session-key.ts';
import { noteReceived, readPause } from './store/accounts.ts';
import { dropContext, keepContext, readContext, type ContextPlace } from './store/context.ts';
import { ALBUM_MS, countBotMessages, endAlbums, extendAlbum, holdAlbum, type AlbumKey } from './store/inbox.ts';
import { isPaired } from './store/pairings.ts';

const ASK_MS = 10_000;
const EVENT_CHARS_MAX = 1_000;
/** How often it is noted that an account without a reader has received something. */
const NOTED_EVERY_MS = 5_000;
const NOT_ALLOWED = 'You may not do this.';

/**
 * Commits what an account has received, in its order. `isHeld` says whether the process may still
 * read the account: `lost` when it may not. Rejects when the database or the platform cannot be
 * reached; then nothing may be acknowledged either.
 */
export type Receive = (
  account: BotAccount,
  received: readonly Received[],
  isHeld?: () => boolean | Promise<boolean>,
) => Promise<ReceiveResult>;

interface Receiving {
  service: Service;
  logger: Logger;
}

export function createReceive(process: Receiving): Receive {
  const bots = new WeakMap<Platform, Promise<{ id: string }>>();
  const chats = new Map<string, Promise<unknown>>();

  async function botOf(platform: Platform): Promise<string> {
    const asked = bots.get(platform) ?? platform.identify(AbortSignal.timeout(ASK_MS));
    bots.set(platform, asked);
    // A failure is not kept.
    asked.catch(() => bots.delete(platform));
    return (await asked).id;
  }

  /**
   * Requests of a platform come at the same time; those of a chat are carried out one after the
   * other.
   */
  async function inOrder<Result>(chat: string, work: () => Promise<Result>): Promise<Result> {
    const done = (chats.get(chat) ?? Promise.resolve()).then(work, work);
    chats.set(chat, done);
    try {
      return await done;
    } finally {
      if (chats.get(chat) === done) chats.delete(chat);
    }
  }

  return async (account, received, isHeld = () => true) => {
    if (received.length === 0) return { kind: 'done' };
    const platform = await platformOf(process.service.config, account);
    const botId = await botOf(platform);
    const { channel, account: name } = account;
    for (const said of received) {
      if (said.kind === 'unreadable') {
        const about = { channel, account: name, id: said.id, err: said.error };
        process.logger.error(about, 'Update of a channel cannot be read');
        continue;
      }
      const { chatId } = said.place;
      const result = await inOrder(JSON.stringify([channel, name, chatId]), async () =>
        (await isHeld()) ? receiveOne(process, { account, platform, botId }, said) : { kind: 'lost' as const },
      );
      if (result.kind !== 'done') return result;
    }
    return { kind: 'done' };
  };
}

/**
 * The same as `createReceive`, for accounts that no process holds: `lost` while an account is
 * paused.
 */
export function createPush(process: Parameters<typeof createReceive>[0]): Receive {
  const { database } = process.service;
  const receive = createReceive(process);
  const notedAtMs = new Map<string, number>();
  return async (account, received) => {
    const name = { channel: account.channel, account: account.account };
    // Asked when it is the turn of the message, so that what arrives first is stored first.
    const result = await receive(account, received, async () => !(await readPause(database, name)));
    const key = JSON.stringify(name);
    const now = systemClock.monotonicMs();
    // Each request would write the row of the account otherwise.
    if (result.kind === 'done' && now - (notedAtMs.get(key) ?? Number.NEGATIVE_INFINITY) > NOTED_EVERY_MS) {
      notedAtMs.set(key, now);
      noteReceived(database, name).catch(() => undefined);
    }
    return result;
  };
}

interface From {
  account: BotAccount;
  platform: Platform;
  botId: string;
}

type Said = Exclude<Received, ReceivedUnreadable>;

/**
 * What cannot be stored whatever is tried is logged and left: it must not keep all others waiting.
 */
async function receiveOne(process: Receiving, from: From, said: Said): Promise<ReceiveResult> {
  const { channel, account } = from.account;
  const about = { channel, account, chatId: said.place.chatId, kind: said.kind, messageId: said.messageId };
  try {
    const result = await store(process, from, storableValue(said));
    if (result.kind !== 'refused') return result;
    process.logger.warn({ ...about, reason: result.message }, 'Message of a channel is refused');
  } catch (error) {
    if (isPassingFault(error) || (error instanceof PlatformError && !(error.kind === 'refused'))) throw error;
    process.logger.error({ ...about, err: error }, 'Message of a channel cannot be stored');
  }
  return DONE;
}

async function store(process: Receiving, from: From, received: Said): Promise<Stored> {
  const { service } = process;
  // Only one message of an album has its words, which may mention the bot: the others are for it,
  // too.
  const isOfAlbum = received.kind === 'message' && (await albumOf(service, from.account, received)) !== null;
  const said = isOfAlbum ? { ...received, isForBot: true } : received;
  const access = decideAccess(from.account.settings, said, {
    channel: from.account.channel,
    ownerIds: service.config.owner.ids,
    isPaired: await readPaired(service, from.account, said),
    isOwnBot: said.sender.id === from.botId,
    botMessages: await readBotMessages(service, from.account, said),
  });
  switch (access.to) {
    case 'agent':
      return storeForAgent(process, from, said);
    case 'context':
      if (said.kind === 'message' || said.kind === 'edit') await storeContext(service, from.account, said);
      return DONE;
    case 'pairing':
      if (said.kind === 'message') await askForPairing(service, from.account, said);
      return DONE;
    case 'ignored':
      process.logger.debug({ channel: from.account.channel, why: access.why }, 'Message of a channel is for no agent');
      return DONE;
    default:
      return access satisfies never;
  }
}

async function readPaired(
  { database }: Service,
  { channel, account, settings }: BotAccount,
  { place, sender }: Said,
): Promise<boolean> {
  if (place.chatType !== 'direct' || settings.dm !== 'pairing' || settings.allowFrom.includes(sender.id)) return false;
  return isPaired(database, channel, account, sender.id);
}

/** Reads only messages of bots that may write; 0 for people and for other bots. */
async function readBotMessages(service: Service, account: BotAccount, said: Said): Promise<number> {
  const { id: senderId, isBot } = said.sender;
  if (!isBot || !account.settings.allowFrom.includes(senderId)) return 0;
  const sessionKey = sessionOf(service, account, said);
  return countBotMessages(service.database, { sessionKey, senderId, messageId: said.messageId });
}

async function storeForAgent(process: Receiving, from: From, said: Said): Promise<Stored> {
  const { service } = process;
  const sessionKey = sessionOf(service, from.account, said);
  switch (said.kind) {
    case 'message':
      return storeMessage(process, { ...from, sessionKey }, said);
    case 'press':
      return storePress(process, { ...from, sessionKey }, said);
    case 'edit':
    case 'reaction':
      return storeEvent(service, { ...from, sessionKey }, said);
    default:
      return said satisfies never;
  }
}

function sessionOf({ config }: Service, { channel, account: accountId }: BotAccount, said: Said): SessionKey {
  const { chatId, threadId, guild, team } = said.place;
  const { agent } = findBinding(config, { channel, accountId, chatId, ...given({ threadId, guild, team }) });
  return sessionKeyOf(config, { agent, channel, accountId, message: said }, (text) =>
    createHash('sha256').update(text).digest('hex'),
  );
}

type To = From & { sessionKey: SessionKey };

async function storeMessage({ service, logger }: Receiving, to: To, message: ReceivedMessage): Promise<Stored> {
  const { account, platform } = to;
  const { channel, account: name } = account;
  const place = contextPlace(account, message);
  const { dataDir } = service.config.runtime;
  const folder = join(dataDir, CHANNEL_MEDIA, encodeURIComponent(channel), encodeURIComponent(name));
  const files = await keepFiles(platform, account, { files: message.files, folder });
  // It will be added to the message of its album, which waits for it.
  const isPart = (await albumOf(service, account, message))?.isOpen === true;
  // What follows an album must not arrive before it.
  if (platform.hasAlbums === true && !isPart) await letAlbumsArrive(service, to, message);
  const history =
    isPart || message.place.chatType === 'direct' ? [] : await readContext(service.database, place, message.at);
  const body = messageBody(account, message, { ...files, history });
  const result =
    (await storeInAlbum(service, to, { message, body })) ?? toStored(await accept(service, to.sessionKey, body));
  if (result.kind !== 'done') return result;
  logFailure(logger, platform.confirmRead?.(message, AbortSignal.timeout(ASK_MS)));
  if (history.length > 0)
    await dropContext(service.database, { ...place, messageIds: history.map(({ messageId }) => messageId) });
  return result;
}

/**
 * A press says what its button was sent with, once. What an agent has sent with it is not written
 * by the person.
 */
async function storePress({ service, logger }: Receiving, to: To, press: ReceivedPress): Promise<Stored> {
  const { account, platform } = to;
  const { place, sender, at, pressId, value } = press;
  const said = { text: value, messageId: `press:${pressId}`, timestamp: at, wasMentioned: place.chatType !== 'direct' };
  const body: InboundMessage = {
    ...addressOf(account, place, sender),
    ...said,
    ...(isOwnButton(value) ? {} : { isOwnText: false }),
  };
  const isAllowed = mayPress(service, body);
  const result = isAllowed ? toStored(await accept(service, to.sessionKey, body)) : DONE;
  if (result.kind === 'done')
    logFailure(logger, platform.answerPress?.(pressId, isAllowed ? '' : NOT_ALLOWED, AbortSignal.timeout(ASK_MS)));
  return result;
}

/** What was received is kept, whether its sender is shown that or not. */
function logFailure(logger: Logger, shown: Promise<void> | undefined): void {
  shown?.catch((error: unknown) => logger.debug({ err: error }, 'Sender could not be shown what became of a message'));
}

/**
 * A message that was accepted does not change, so its edit is news of its own, and a reaction too.
 */
async function storeEvent(service: Service, to: To, said: ReceivedMessage | ReceivedReaction): Promise<Stored> {
  const { account, sessionKey } = to;
  const { channel, account: name } = account;
  const scope = `channel ${channel} ${name}`;
  const key = createHash('sha256')
    .update(JSON.stringify([said, sessionKey]))
    .digest('hex');
  try {
    await enqueueEvent(service, {
      sessionKey,
      text: cutHead(eventText(said, channel), EVENT_CHARS_MAX),
      contextKey: `${said.kind}:${said.messageId}`,
      trusted: false,
      idempotency: { scope, key, sha256: key },
      event: said.kind === 'reaction' ? { type: 'reaction.received', data: reactionData(account, said) } : undefined,
    });
  } catch (error) {
    if (error instanceof UnknownAgentError) return { kind: 'refused', message: error.message };
    if (!isKeyTaken(error)) throw error;
  }
  if (said.kind === 'reaction')
    await scoreAnswer(service, account, said, { scope: `${scope} score`, key, sha256: key });
  return DONE;
}

/** A thumb at an answer is a score of its turn. */
async function scoreAnswer(
  { database }: Service,
  { channel, account }: BotAccount,
  said: ReceivedReaction,
  received: KeyedRequest,
): Promise<void> {
  const { place, sender, messageId: platformId, emoji, isAdded } = said;
  const value = thumbOfEmoji(emoji);
  if (value === null || sender.isBot) return;
  const url = formatChannelUrl({ channel, accountId: account, chatId: place.chatId });
  const author = `${channel}:${sender.id}`;
  const reaction = { id: newId<string>(), url, platformId, value, isAdded, author, source: channel };
  try {
    await scoreReaction(database, reaction, received);
  } catch (error) {
    if (!isKeyTaken(error)) throw error;
  }
}

async function storeContext({ database }: Service, account: BotAccount, message: ReceivedMessage): Promise<void> {
  const { sender, messageId, text, files, at } = message;
  const shown = files.map(({ name, type }) => `[file: ${name ?? type ?? 'unnamed'}]`);
  await keepContext(database, {
    ...contextPlace(account, message),
    messageId,
    sender: sender.name ?? sender.username ?? sender.id,
    body: storableText([text, ...shown].filter((part) => part !== '').join(' ')),
    saidAt: at,
  });
}

function contextPlace(
  { channel, account }: BotAccount,
  { place: { chatId, threadId } }: ReceivedMessage,
): ContextPlace {
  return { channel, account, chatId, threadId: threadId ?? '' };
}

/**
 * `full`: too many messages wait. What was received must come again; what of it is committed is a
 * duplicate then.
 */
export type ReceiveResult = { kind: 'done' } | { kind: 'full'; retryAfterMs: number } | { kind: 'lost' };

/** `refused`: it can never be stored. */
type Stored = ReceiveResult | { kind: 'refused'; message: string };

const DONE: ReceiveResult = { kind: 'done' };

/** Accepts a message of a chat. */
async function accept(
  service: Service,
  sessionKey: SessionKey,
  body: InboundMessage,
  idempotency: KeyedRequest | null = null,
): Promise<AcceptResult> {
  try {
    return await acceptMessage(service, { sessionKey, body, idempotency });
  } catch (error) {
    if (error instanceof UnknownAgentError) return { kind: 'refused', message: error.message };
    throw error;
  }
}

function toStored(result: AcceptResult): Stored {
  switch (result.kind) {
    case 'accepted':
    case 'duplicate':
      return DONE;
    case 'full':
      return result;
    case 'refused':
      return { kind: 'refused', message: result.message };
    case 'mismatch':
      throw new Error('a message was compared with another one of its key');
    default:
      return result satisfies never;
  }
}

// Albums: what a person sends as one message and the platform as several, which are stored as one
// (store/inbox.ts).

const ALBUM_TRIES_MAX = 10;

/**
 * The stored album that a message belongs to, which waits for its file from now on; null: there is
 * none.
 */
async function albumOf({ database }: Service, account: BotAccount, message: ReceivedMessage) {
  return message.albumId === undefined ? null : holdAlbum(database, albumKey(account, message));
}

/**
 * Lets the albums of a chat arrive that wait for further messages, but not that which the message
 * belongs to.
 */
export async function letAlbumsArrive(
  service: Service,
  { account, sessionKey }: Pick<To, 'account' | 'sessionKey'>,
  message: ReceivedMessage,
): Promise<void> {
  const own = albumKey(account, message);
  await deliverMessages(service, await endAlbums(service.database, sessionKey, message.place.chatId, own));
}

/** Adds a message to that of its album, or begins that. Null: it is a message of its own. */
async function storeInAlbum(
  service: Service,
  { account, sessionKey }: To,
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

// Who may press the buttons that stop a turn or decide about a request. Other people of the chat
// see them too; what they would write as text is a message for the agent, but their press is not.

const COMMAND = /^\/(?:stop|approve|deny)(?:\s|$)/;

/**
 * True for a value of a button that Holdfast has sent by itself: what agents send does not begin
 * with a slash.
 */
function isOwnButton(value: string): boolean {
  return COMMAND.test(value);
}

/** False: the value of the button is one of these commands, and the person may not give it. */
function mayPress(service: Service, body: InboundMessage): boolean {
  if (!isOwnButton(body.text) || findChatWord(service, body) !== null) return true;
  return readMessage(body, service.config.owner.ids).command !== null;
}
