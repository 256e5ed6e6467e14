// Telegram, and what is written there. grammY's client sends the requests; the adapter of the Chat
// SDK reads messages. Its own handling of updates and its sending are not used: it acknowledges
// before anything is committed, cuts long texts, and loses addresses, boxes and footnotes of
// markdown.
import { createHash, timingSafeEqual } from 'node:crypto';
import { Api, InputFile } from 'grammy';
import type { Message, MessageEntity, Update } from 'grammy/types';
import { given } from '../../../core/json.ts';
import { cutHead } from '../../../core/text.ts';
import {
  PlatformError,
  type AccountSettings,
  type Destination,
  type OutgoingPart,
  type Platform,
  type Received,
  type RemoteFile,
  type OutgoingFile,
} from '../platform.ts';
import { fetchFile } from './requests.ts';
import { toStyledText } from './styled-text.ts';
import { ABOUT_STYLES, ask, intoChat, wire } from './telegram-wire.ts';
import { createUpdateReader, formatMessageId, parseMessageId, type TelegramBot } from './telegram-updates.ts';
import { stat } from 'node:fs/promises';

const API = 'https://api.telegram.org';
/** In UTF-16 units, without the marks of formatting. */
const TEXT_MAX = 4_096;
/** The limit of a message. */
const STYLES_MAX = 100;
/** Telegram makes no links of other addresses, nor of those with a space. */
const LINK = /^(?:https?|tg):\/\/\S+$/i;
const POLL = { seconds: 25, updates: 100 };
/** Longer than a poll takes. */
const REQUEST_SECONDS_MAX = 60;
const UPDATES = [
  'message',
  'edited_message',
  'channel_post',
  'edited_channel_post',
  'message_reaction',
  'callback_query',
] as const;
/** The thread of the general topic of a forum, which a request must not name. */
const GENERAL_TOPIC = '1';

const NOT_MODIFIED = /message is not modified/i;

/** The bot of one token. */
export function openPlatform({ token, secretToken, mode, baseUrl = API, channel, account }: AccountSettings): Platform {
  const root = baseUrl.replace(/\/$/, '');
  const api = new Api(token, { apiRoot: root, timeoutSeconds: REQUEST_SECONDS_MAX });
  let reader: Promise<(update: Update) => Received[]> | undefined;

  async function identify(signal: AbortSignal): Promise<TelegramBot & { readsAll: boolean }> {
    const me = await ask('getMe', signal, (until) => api.getMe(wire(until)));
    return { id: String(me.id), username: me.username, readsAll: me.can_read_all_group_messages };
  }

  async function readUpdates(updates: readonly Update[], signal: AbortSignal): Promise<Received[]> {
    // Requests that come at the same time wait for the same answer, so that they stay in their
    // order.
    const asked = (reader ??= identify(signal).then(createUpdateReader));
    asked.catch(() => (reader = undefined));
    return updates.flatMap(await asked);
  }

  return {
    name: 'telegram',
    textLimit: { max: TEXT_MAX, measure: measureText },
    hasAlbums: true,
    async identify(signal) {
      const { id, username } = await identify(signal);
      return { id, name: username };
    },
    async readWebhook({ headers, rawBody }) {
      if (!isSecret(headers['x-telegram-bot-api-secret-token'], secretToken)) return null;
      const update = parseUpdate(rawBody);
      if (update === null) return { answer: { status: 400 }, received: [] };
      return { answer: { status: 200 }, received: await readUpdates([update], AbortSignal.timeout(10_000)) };
    },
    async poll(position, signal) {
      const updates = await ask('getUpdates', signal, (until) =>
        api.getUpdates(
          {
            timeout: POLL.seconds,
            limit: POLL.updates,
            allowed_updates: [...UPDATES],
            ...given({ offset: position === null ? undefined : Number(position) }),
          },
          wire(until),
        ),
      );
      const last = updates.at(-1);
      // This poll has confirmed what lies before its position. After a week of silence Telegram
      // numbers updates anew, from a lower number perhaps, so the position is not kept longer than
      // it is needed.
      return {
        received: await readUpdates(updates, signal),
        position: last === undefined ? null : String(last.update_id + 1),
      };
    },
    ...writer(api),
    download: (file, bytesMax, signal) => download(api, root, file, { bytesMax, signal }),
    async check(signal) {
      const { readsAll } = await identify(signal);
      const { url = '' } = await ask('getWebhookInfo', signal, (until) => api.getWebhookInfo(wire(until)));
      return listFaults({
        readsAll,
        url,
        mode,
        hasSecret: isSet(secretToken),
        path: `/v1/channels/${channel}/${account}/webhook`,
      });
    },
  };
}

async function download(
  api: Api,
  root: string,
  { id }: RemoteFile,
  { bytesMax, signal }: { bytesMax: number; signal: AbortSignal },
): Promise<{ bytes: Buffer }> {
  const { file_path: path } = await ask('getFile', signal, (until) => api.getFile(id, wire(until)));
  if (path === undefined) throw new PlatformError('refused', 'Telegram has no path for this file');
  const url = `${root}/file/bot${api.token}/${path}`;
  const { bytes: content } = await fetchFile(url, { platform: 'Telegram', bytesMax, signal });
  return { bytes: content };
}

/** What writes into chats. */
function writer(api: Api): Pick<Platform, 'send' | 'edit' | 'remove' | 'react' | 'showTyping' | 'answerPress'> {
  return {
    send: (to, part, signal) => sendPart(api, to, part, signal),
    async edit({ chatId }, platformId, { markdown, buttons }, signal) {
      const edited = (text: string, entities: MessageEntity[]) =>
        ask('editMessageText', signal, (until) =>
          api.editMessageText(
            chatId,
            parseMessageId(platformId),
            text,
            { entities, ...keyboardOf(buttons) },
            wire(until),
          ),
        );
      await withStyles(markdown, edited).catch((error: unknown) => {
        if (!(error instanceof PlatformError && NOT_MODIFIED.test(error.message))) throw error;
      });
    },
    async remove({ chatId }, platformId, signal) {
      await ask('deleteMessage', signal, (until) => api.deleteMessage(chatId, parseMessageId(platformId), wire(until)));
    },
    async react({ chatId }, messageId, emoji, signal) {
      const reaction = emoji === '' ? [] : [{ type: 'emoji', emoji } as never];
      await ask('setMessageReaction', signal, (until) =>
        api.setMessageReaction(chatId, parseMessageId(messageId), reaction, {}, wire(until)),
      );
    },
    async showTyping({ chatId, threadId }, signal) {
      const thread = given({ message_thread_id: threadId === undefined ? undefined : Number(threadId) });
      await ask('sendChatAction', signal, (until) => api.sendChatAction(chatId, 'typing', thread, wire(until)));
    },
    async answerPress(pressId, text, signal) {
      await ask('answerCallbackQuery', signal, (until) =>
        api.answerCallbackQuery(pressId, { text: cutHead(text, 200) }, wire(until)),
      );
    },
  };
}

function listFaults(bot: { readsAll: boolean; url: string; mode: string; hasSecret: boolean; path: string }): string[] {
  const { readsAll, url, mode, hasSecret, path } = bot;
  const isPushed = mode === 'webhook';
  const faults: [boolean, string][] = [
    [
      !readsAll,
      'The bot sees only those messages of groups that mention or answer it. To let it see all, write /setprivacy to @BotFather, or make it an administrator of the group.',
    ],
    [
      !isPushed && url !== '',
      'A webhook is set, so Telegram refuses polls. Call deleteWebhook, or set mode to "webhook".',
    ],
    [
      isPushed && !url.endsWith(path),
      `The webhook is not set to ${path}. Call setWebhook with that address and with secret_token.`,
    ],
    [
      isPushed && !hasSecret,
      'secretToken is not set, so every request of Telegram is refused. Set it here and with setWebhook.',
    ],
  ];
  return faults.filter(([isSo]) => isSo).map(([, text]) => text);
}

/**
 * What is counted is the text without marks and addresses. Of more styles than it takes, Telegram
 * leaves out the last ones.
 */
function measureText(markdown: string): number {
  const { text, spans } = toTelegramText(markdown);
  return Math.max(text.length, Math.ceil((spans.length / STYLES_MAX) * TEXT_MAX));
}

function toTelegramText(markdown: string) {
  return toStyledText(markdown, { links: LINK, hasBlocks: true });
}

/** Sends it with its styles, or without them when Telegram does not accept them. */
async function withStyles<Result>(
  markdown: string,
  sendText: (text: string, entities: MessageEntity[]) => Promise<Result>,
): Promise<Result> {
  const { text, spans } = toTelegramText(markdown);
  // Those with an address are links.
  const sent = sendText(text || markdown, spans as MessageEntity[]);
  if (spans.length === 0) return sent;
  return sent.catch((error: unknown) => {
    if (!(error instanceof PlatformError && ABOUT_STYLES.test(error.message))) throw error;
    const plain = toStyledText(markdown, {}).text;
    return sendText(plain.length > TEXT_MAX ? text : plain, []);
  });
}

function keyboardOf(buttons: OutgoingPart['buttons']) {
  if (buttons === undefined) return {};
  const row = buttons.map(({ label, value }) => ({ text: label, callback_data: value }));
  return { reply_markup: { inline_keyboard: [row] } };
}

async function sendPart(
  api: Api,
  { chatId, threadId }: Destination,
  part: OutgoingPart,
  signal: AbortSignal,
): Promise<{ platformId: string }> {
  const { markdown, file, replyToMessageId, buttons } = part;
  const common = given({
    message_thread_id: threadId === undefined || threadId === GENERAL_TOPIC ? undefined : Number(threadId),
    reply_parameters:
      replyToMessageId === undefined
        ? undefined
        : { message_id: parseMessageId(replyToMessageId), allow_sending_without_reply: true },
    ...keyboardOf(buttons),
  });
  const message = await intoChat(chatId, (chat) =>
    withStyles<Message>(markdown, (text, entities) =>
      file === undefined
        ? ask('sendMessage', signal, (until) => api.sendMessage(chat, text, { ...common, entities }, wire(until)))
        : sendFile({ api, chat, file, signal, options: { ...common, caption: text, caption_entities: entities } }),
    ),
  );
  return { platformId: formatMessageId(message, api.token.split(':', 1)[0] ?? '') };
}

function parseUpdate(rawBody: Buffer): Update | null {
  try {
    const update: unknown = JSON.parse(rawBody.toString('utf8'));
    return typeof update === 'object' && update !== null && 'update_id' in update ? (update as Update) : null;
  } catch {
    return null;
  }
}

/**
 * Without a secret of its own, an account believes no request. Hashes have one length, so that the
 * comparison takes the same time for any text.
 */
function isSecret(sent: string | undefined, expected: string | undefined): boolean {
  if (!isSet(expected) || sent === undefined) return false;
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(sent), hash(expected));
}

function isSet(text: string | undefined): text is string {
  return text !== undefined && text !== '';
}

/** A larger picture is a document. */
const PHOTO_BYTES_MAX = 10 * 1024 * 1024;

type Method = 'sendPhoto' | 'sendVoice' | 'sendAudio' | 'sendVideo' | 'sendDocument';

const METHODS: readonly (readonly [RegExp, Method])[] = [
  [/^image\/(?:jpeg|png|webp)$/, 'sendPhoto'],
  [/^audio\/ogg$/, 'sendVoice'],
  [/^audio\/(?:mpeg|mp4)$/, 'sendAudio'],
  [/^video\/mp4$/, 'sendVideo'],
];

/**
 * Sends a file as what its type says. What Telegram does not take as such, a picture of another
 * shape for instance, is a document.
 */
async function sendFile(call: {
  api: Api;
  chat: string;
  file: OutgoingFile;
  options: object;
  signal: AbortSignal;
}): Promise<Message> {
  const { api, chat, file, options, signal } = call;
  const { path, name, type = '' } = file;
  const send = (method: Method): Promise<Message> =>
    ask<Message>(method, signal, (until) => api[method](chat, new InputFile(path, name), options, wire(until)));
  const method = METHODS.find(([types]) => types.test(type))?.[1] ?? 'sendDocument';
  if (method === 'sendDocument') return send(method);
  if (method === 'sendPhoto' && (await stat(path)).size > PHOTO_BYTES_MAX) return send('sendDocument');
  return send(method).catch((error: unknown) => {
    if (error instanceof PlatformError && error.kind === 'refused' && !ABOUT_STYLES.test(error.message))
      return send('sendDocument');
    throw error;
  });
}
