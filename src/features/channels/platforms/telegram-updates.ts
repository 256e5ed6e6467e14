// Reads updates of Telegram: what a person said, changed, or pressed, as the core has it. An update
// that says nothing is read as nothing.
import { TelegramAdapter, type TelegramMessage } from '@chat-adapter/telegram';
import type {
  CallbackQuery,
  Chat,
  Message,
  MessageOrigin,
  ReactionType,
  Update,
  User,
  MessageEntity,
} from 'grammy/types';
import type { InboundMessage } from '../../../core/inbound.ts';
import { given } from '../../../core/json.ts';
import type { ChatPerson, ChatPlace, Received, ReceivedMessage, RemoteFile } from '../platform.ts';

export interface TelegramBot {
  id: string;
  username: string;
}

type MessageFacts = Pick<Message, 'message_id' | 'chat'>;

/**
 * The id of a message within its account. Telegram counts the messages of direct chats and of small
 * groups for each bot, so the id has that of the bot in front there: after a change of the token,
 * message 7 is another message.
 */
export function formatMessageId({ message_id: id, chat }: MessageFacts, botId: string): string {
  return chat.type === 'supergroup' || chat.type === 'channel' ? String(id) : `${botId}.${id}`;
}

/** Telegram's own number of it. */
export function parseMessageId(id: string): number {
  return Number(id.slice(id.indexOf('.') + 1));
}

/** The parser of the adapter without its cache of messages, which has no bound. */
class MessageParser extends TelegramAdapter {
  constructor({ id, username }: TelegramBot) {
    super({
      botToken: `${id}:`,
      userName: username,
      mode: 'polling',
      mentionOnReply: false,
      apiUrl: 'http://invalid',
      secretToken: '',
      allowedUserIds: [],
    });
    this._botUserId = id;
  }

  parse(message: Message) {
    return this.parseTelegramMessage(withPlainEntities(message) as unknown as TelegramMessage, '');
  }
}

/** Reads updates for one bot. */
export function createUpdateReader(bot: TelegramBot): (update: Update) => Received[] {
  const parser = new MessageParser(bot);

  function readMessage(message: Message, kind: ReceivedMessage['kind']): ReceivedMessage[] {
    const parsed = parser.parse(message);
    const files: RemoteFile[] = message.sticker ? [] : parsed.attachments.map(toFile);
    const text = stripBotName(parsed.text, message, bot);
    if (text === '' && files.length === 0) return [];
    const isMentioned = parsed.isMention === true;
    return [
      {
        kind,
        place: placeOf(message.chat, message),
        sender: senderOf(message),
        at: (message.edit_date ?? message.date) * 1_000,
        messageId: formatMessageId(message, bot.id),
        text,
        isOwnText: text === '' || isOwnText(message),
        isForBot: isMentioned || isAnswerTo(bot, message),
        ...(isMentioned ? { isMentioned } : {}),
        files,
        ...given({
          albumId: message.media_group_id,
          replyTo: readReply(message, { parser, bot }),
          forwarded: message.forward_origin === undefined ? undefined : readOrigin(message.forward_origin),
        }),
      },
    ];
  }

  function readUpdate(update: Update): Received[] {
    const said = update.message ?? update.channel_post;
    if (said !== undefined) return readMessage(said, 'message');
    const edited = update.edited_message ?? update.edited_channel_post;
    if (edited !== undefined) return readMessage(edited, 'edit');
    if (update.message_reaction !== undefined) return readReactions(update.message_reaction, bot.id);
    return update.callback_query === undefined ? [] : readPress(update.callback_query, bot.id);
  }

  return (update) => {
    try {
      return readUpdate(update);
    } catch (error) {
      return [{ kind: 'unreadable', id: String(update.update_id), error }];
    }
  };
}

function readReactions(change: NonNullable<Update['message_reaction']>, botId: string): Received[] {
  const { chat, date, old_reaction: before, new_reaction: after, user, actor_chat: actor } = change;
  const sender = user === undefined ? actor && personOfChat(actor) : personOf(user);
  if (sender === undefined) return [];
  const common = {
    kind: 'reaction' as const,
    place: placeOf(chat, {}),
    sender,
    at: date * 1_000,
    messageId: formatMessageId(change, botId),
  };
  const only = (these: ReactionType[], others: ReactionType[]) => {
    const known = new Set(others.map(formatReaction));
    return these.map(formatReaction).filter((emoji) => !known.has(emoji));
  };
  return [
    ...only(after, before).map((emoji) => ({ ...common, emoji, isAdded: true })),
    ...only(before, after).map((emoji) => ({ ...common, emoji, isAdded: false })),
  ];
}

function formatReaction(reaction: ReactionType): string {
  if (reaction.type === 'emoji') return reaction.emoji;
  return reaction.type === 'custom_emoji' ? `custom:${reaction.custom_emoji_id}` : '⭐';
}

function readPress({ id, from, message, data }: CallbackQuery, botId: string): Received[] {
  if (message === undefined || data === undefined) return [];
  return [
    {
      kind: 'press',
      place: placeOf(message.chat, message),
      sender: personOf(from),
      // Telegram does not say when it was pressed.
      at: Date.now(),
      messageId: formatMessageId(message, botId),
      pressId: id,
      value: data,
    },
  ];
}

const CHAT_TYPES = { private: 'direct', group: 'group', supergroup: 'group', channel: 'channel' } as const;

type ThreadFacts = Partial<Pick<Message, 'is_topic_message' | 'message_thread_id' | 'reply_to_message'>>;

// Outside forums the thread is that of the replies to a message, which nothing can be sent to.
function placeOf(
  chat: Chat,
  { is_topic_message: isTopic, message_thread_id: thread, reply_to_message: first }: ThreadFacts,
): ChatPlace {
  return {
    chatId: String(chat.id),
    chatType: CHAT_TYPES[chat.type],
    ...given({
      threadId: isTopic === true && thread !== undefined ? String(thread) : undefined,
      subject: chat.type === 'private' ? undefined : chat.title,
      threadLabel: first?.forum_topic_created?.name,
    }),
  };
}

/**
 * Who speaks for a chat (an anonymous administrator, a channel) has its id, not that of the account
 * of Telegram that stands for it.
 */
function senderOf({ from, sender_chat: sender, chat }: Message): ChatPerson {
  if (sender !== undefined) return personOfChat(sender);
  return from === undefined ? personOfChat(chat) : personOf(from);
}

function personOf({ id, is_bot: isBot, username, ...names }: User): ChatPerson {
  return { id: String(id), name: nameOf(names), isBot, ...given({ username }) };
}

function personOfChat(chat: Chat): ChatPerson {
  const { title, username, first_name, last_name } = chat;
  return {
    id: String(chat.id),
    isBot: false,
    ...given({ name: title ?? (first_name === undefined ? undefined : nameOf({ first_name, last_name })), username }),
  };
}

function nameOf({
  first_name: first,
  last_name: last,
}: {
  first_name: string;
  last_name?: string | undefined;
}): string {
  return [first, last].filter(Boolean).join(' ');
}

type Attachment = ReturnType<MessageParser['parse']>['attachments'][number];

function toFile({ fetchMetadata, name, mimeType, size }: Attachment): RemoteFile {
  return { id: fetchMetadata?.['fileId'] ?? '', ...given({ name, type: mimeType, bytes: size }) };
}

/** The message that began the topic of a forum is answered by all of it. */
function isAnswerTo({ id }: TelegramBot, { reply_to_message: answered, message_thread_id: topic }: Message): boolean {
  return String(answered?.from?.id) === id && answered?.message_id !== topic;
}

/**
 * A contact, a poll or a place has a text that the adapter makes. What a bot wrote for its sender
 * (inline) is sent via that bot.
 */
function isOwnText({
  text,
  caption,
  forward_origin: origin,
  via_bot: viaBot,
  sender_business_bot: businessBot,
  edit_date: editedAt,
}: Message): boolean {
  return (text ?? caption) !== undefined && [origin, viaBot, businessBot, editedAt].every((by) => by === undefined);
}

function readReply(
  { reply_to_message: answered, external_reply: elsewhere, quote }: Message,
  { parser, bot }: { parser: MessageParser; bot: TelegramBot },
): InboundMessage['replyTo'] {
  const isQuote = quote === undefined ? {} : { isQuote: true };
  if (answered !== undefined && answered.forum_topic_created === undefined) {
    const { name, username } = senderOf(answered as Message);
    const body = quote?.text ?? parser.parse(answered as Message).text;
    return {
      id: formatMessageId(answered, bot.id),
      ...given({ senderLabel: name ?? username, body: body === '' ? undefined : body }),
      ...isQuote,
    };
  }
  if (elsewhere === undefined) return undefined;
  const { from, title } = readOrigin(elsewhere.origin);
  return { ...given({ senderLabel: from ?? title, body: quote?.text }), ...isQuote };
}

function readOrigin(origin: MessageOrigin): NonNullable<InboundMessage['forwarded']> {
  const date = origin.date * 1_000;
  if (origin.type === 'hidden_user') return { type: 'hidden_user', from: origin.sender_user_name, date };
  if (origin.type === 'user') {
    const { name, username } = personOf(origin.sender_user);
    return { type: 'user', date, ...given({ from: name, username }) };
  }
  const chat = origin.type === 'chat' ? origin.sender_chat : origin.chat;
  const { name, username } = personOfChat(chat);
  return {
    type: origin.type,
    chatType: chat.type,
    date,
    ...given({ from: name, username, title: name, signature: origin.author_signature }),
  };
}

/** `/stop@the_bot` is `/stop`. */
function stripBotName(text: string, { entities = [] }: Message, { username }: TelegramBot): string {
  const command = entities.find(({ type, offset }) => type === 'bot_command' && offset === 0);
  const suffix = `@${username}`.toLowerCase();
  const end = command?.length ?? 0;
  return text.slice(0, end).toLowerCase().endsWith(suffix)
    ? text.slice(0, end - suffix.length) + text.slice(end)
    : text;
}

const MARKED = new Set(['bold', 'italic', 'code', 'pre', 'strikethrough', 'text_link']);

/**
 * The entities of a text (marks, quotes, links) as the parser of the adapter can read them. It puts
 * marks at wrong places where one entity is within another: of these, only the outer one stays, or
 * the link. It leaves out that lines are a quote: they get the mark of Markdown.
 */
function withPlainEntities(message: Message): Message {
  const flat = (entities: MessageEntity[] | undefined) => {
    const marks = (entities ?? []).filter(({ type }) => MARKED.has(type));
    const first = [...marks].toSorted(
      (one, other) => Number(other.type === 'text_link') - Number(one.type === 'text_link'),
    );
    const kept: MessageEntity[] = [];
    for (const entity of first)
      if (
        kept.every((each) => entity.offset >= each.offset + each.length || each.offset >= entity.offset + entity.length)
      )
        kept.push(entity);
    return [...(entities ?? []).filter(({ type }) => !MARKED.has(type)), ...kept];
  };
  if (message.entities !== undefined) return { ...message, ...markQuotes(message.text ?? '', flat(message.entities)) };
  if (message.caption_entities === undefined) return message;
  const { text, entities } = markQuotes(message.caption ?? '', flat(message.caption_entities));
  return { ...message, caption: text, caption_entities: entities };
}

const QUOTE_MARK = '> ';

function markQuotes(text: string, entities: MessageEntity[]): { text: string; entities: MessageEntity[] } {
  const quotes = entities.filter(({ type }) => type === 'blockquote' || type === 'expandable_blockquote');
  const starts = quotes.flatMap(({ offset, length }) => {
    const breaks = text.slice(offset, offset + length - 1).matchAll(/\n/g);
    return [offset, ...Array.from(breaks, ({ index }) => offset + index + 1)];
  });
  const move = (at: number, isMoved: (start: number) => boolean) =>
    at + QUOTE_MARK.length * starts.filter(isMoved).length;
  return {
    text: starts
      .toSorted((one, other) => other - one)
      .reduce((marked, at) => marked.slice(0, at) + QUOTE_MARK + marked.slice(at), text),
    entities: entities.map((entity) => {
      const offset = move(entity.offset, (start) => start <= entity.offset);
      const end = entity.offset + entity.length;
      return { ...entity, offset, length: move(end, (start) => start < end) - offset };
    }),
  };
}
