// What a scripted Telegram knows: its bots, chats, files, and the messages of each chat.
import { Refused } from './refused.ts';
import type { Entity } from './formatted-text.ts';

export type Json = Record<string, unknown>;

export interface User extends Json {
  id: number;
  is_bot: boolean;
  first_name: string;
  last_name?: string;
  username?: string;
}

export interface ChatInfo extends Json {
  id: number;
  type: 'private' | 'group' | 'supergroup' | 'channel';
  title?: string;
  username?: string;
  is_forum?: boolean;
}

export interface Message extends Json {
  message_id: number;
  date: number;
  chat: ChatInfo;
  from?: User;
  text?: string;
  entities?: Entity[];
  caption?: string;
  caption_entities?: Entity[];
  reply_markup?: Json;
  message_thread_id?: number;
}

export interface Chat {
  info: ChatInfo;
  /** In the order in which they were written, by their ids. */
  messages: Map<number, Message>;
  /** The topics that exist. */
  threads: Set<number>;
  /** The people blocked or removed the bot. */
  isBlocked: boolean;
  /** The newest id of a supergroup or channel, which counts by itself. */
  lastMessageId: number;
}

export interface StoredFile {
  id: string;
  path: string;
  bytes: Buffer;
  name: string;
  type: string;
}

/** A press of a button that its bot has not yet answered. */
export interface Press {
  bot: string;
  text: string | null;
}

export class World {
  readonly files = new Map<string, StoredFile>();
  readonly presses = new Map<string, Press>();
  readonly #chats = new Map<string, Chat>();
  #lastMessageId = 0;
  #ids = 0;

  newId(prefix: string): string {
    return `${prefix}${(this.#ids += 1)}`;
  }

  /** Private chats exist once for each bot, with the same id. */
  #keyOf(bot: string, id: number): string {
    return id > 0 ? `${bot} ${id}` : String(id);
  }

  /** The chat as the bot sees it; it is created, or gets what is new in `info`. */
  openChat(bot: string, info: ChatInfo): Chat {
    const key = this.#keyOf(bot, info.id);
    const known = this.#chats.get(key);
    if (known !== undefined) {
      Object.assign(known.info, info);
      return known;
    }
    const chat: Chat = { info, messages: new Map(), threads: new Set(), isBlocked: false, lastMessageId: 0 };
    this.#chats.set(key, chat);
    return chat;
  }

  /** `id` is a number, a number as a text, or `@name`. */
  findChat(bot: string, id: unknown): Chat | undefined {
    if (typeof id === 'string' && id.startsWith('@'))
      return [...this.#chats.values()].find(({ info }) => info.username === id.slice(1));
    return this.#chats.get(this.#keyOf(bot, Number(id)));
  }

  /** Throws `Refused`. */
  chatOf(bot: string, id: unknown): Chat {
    if (id === undefined || id === '') throw new Refused(400, 'chat_id is empty');
    const chat = this.findChat(bot, id);
    if (chat === undefined) throw new Refused(400, 'chat not found');
    if (chat.isBlocked)
      // prettier-ignore
      throw new Refused(403, chat.info.type === 'private' ? 'bot was blocked by the user' : `bot was kicked from the ${chat.info.type} chat`);
    return chat;
  }

  /** As they are now, oldest first. */
  messagesOf(bot: string, chat: number): Message[] {
    return [...(this.findChat(bot, chat)?.messages.values() ?? [])];
  }

  /** Adds a message to a chat, with an id and a date. */
  write(chat: Chat, content: Json): Message {
    const hasOwnIds = chat.info.type === 'supergroup' || chat.info.type === 'channel';
    const id = hasOwnIds ? (chat.lastMessageId += 1) : (this.#lastMessageId += 1);
    const message: Message = { message_id: id, date: Math.floor(Date.now() / 1000), chat: chat.info, ...content };
    chat.messages.set(id, message);
    return message;
  }

  /** Stores a file; returns what messages say of it. */
  addFile(file: { name: string; type: string; bytes: Buffer }, folder: string): { stored: StoredFile; info: Json } {
    const id = this.newId('scripted-file-');
    const extension = /\.\w+$/.exec(file.name)?.[0] ?? '';
    const stored = { ...file, id, path: `${folder}/${id}${extension}` };
    this.files.set(id, stored);
    return { stored, info: { file_id: id, file_unique_id: `unique-${id}`, file_size: file.bytes.length } };
  }
}
