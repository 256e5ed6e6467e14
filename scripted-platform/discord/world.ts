// What a scripted Discord knows: its bots, people, servers and channels, and the messages of each
// channel.
import { randomUUID } from 'node:crypto';

export type Json = Record<string, unknown>;

export interface DiscordBot {
  /** That of its user and of its application. */
  id: string;
  token: string;
  /** "Message Content Intent" of the developer portal. */
  hasContentIntent: boolean;
}

export interface DiscordUser extends Json {
  id: string;
  username: string;
  bot: boolean;
}

export interface DiscordMessage extends Json {
  id: string;
  channel_id: string;
  author: DiscordUser;
  content: string;
  edited_timestamp: string | null;
  attachments: Json[];
  components: Json[];
  reactions: { emoji: { id: string | null; name: string }; users: string[] }[];
}

export interface DiscordChannel {
  id: string;
  name: string;
  /** As Discord numbers them: 0 a channel of a server, 1 a direct chat, 11 a thread. */
  type: 0 | 1 | 11;
  /** Of a thread. */
  parent?: string;
  /** The bot and the person of a direct chat. */
  bot?: string;
  user?: string;
  /** False: bots may not see it. */
  isVisible: boolean;
  /** By their ids, oldest first. */
  messages: Map<string, DiscordMessage>;
}

export const GUILD = { id: '7000', name: 'Scripted' };

/** The role that Discord makes for a bot in a server. */
export const roleOf = ({ id }: DiscordBot): string => `9${id}`;

const EPOCH_MS = 1_420_070_400_000;

export class World {
  readonly bots: readonly DiscordBot[];
  readonly people = new Map<string, DiscordUser>();
  readonly channels = new Map<string, DiscordChannel>();
  readonly files = new Map<string, { name: string; type: string; bytes: Buffer }>();
  /** Presses that wait for their answer, by their tokens. */
  readonly presses = new Map<string, { id: string; at: number; isAnswered: boolean }>();
  #last = 0n;

  constructor(bots: readonly DiscordBot[]) {
    this.bots = bots;
    for (const { id } of bots) this.people.set(id, { id, username: 'scripted', global_name: null, bot: true });
  }

  /** The bot of this id; absent: the first. */
  bot(id = this.bots[0]?.id): DiscordBot {
    const found = this.bots.find((bot) => bot.id === id);
    // prettier-ignore
    if (found === undefined) throw new Error(`There is no bot ${id}: the bots are ${this.bots.map((bot) => bot.id).join(', ')}`);
    return found;
  }

  /** An id that contains the time, larger than all before. */
  newId(): string {
    const id = BigInt(Date.now() - EPOCH_MS) << 22n;
    this.#last = id > this.#last ? id : this.#last + 1n;
    return String(this.#last);
  }

  directChat(bot: DiscordBot, user: string): DiscordChannel {
    return this.openChannel({ id: `5${bot.id}${user}`, name: user, type: 1, bot: bot.id, user });
  }

  openChannel(given: Pick<DiscordChannel, 'id'> & Partial<DiscordChannel>): DiscordChannel {
    const known = this.channels.get(given.id);
    if (known !== undefined) return Object.assign(known, given);
    const type = given.parent === undefined ? 0 : 11;
    const channel: DiscordChannel = {
      name: `channel-${given.id}`,
      type,
      isVisible: true,
      messages: new Map(),
      ...given,
    };
    this.channels.set(channel.id, channel);
    return channel;
  }

  write(channel: DiscordChannel, author: DiscordUser, content: Json & { content: string }): DiscordMessage {
    const id = this.newId();
    const message: DiscordMessage = {
      id,
      type: 0,
      channel_id: channel.id,
      author,
      timestamp: new Date().toISOString(),
      edited_timestamp: null,
      tts: false,
      pinned: false,
      flags: 0,
      embeds: [],
      attachments: [],
      components: [],
      reactions: [],
      ...this.mentionsOf(content.content),
      ...content,
    };
    channel.messages.set(id, message);
    return message;
  }

  /** What a text says of people and roles. */
  mentionsOf(text: string): Json {
    const ids = (form: RegExp): string[] => [...new Set([...text.matchAll(form)].map(([, id = '']) => id))];
    const mentions = ids(/<@!?(\d+)>/g).flatMap((id) => this.people.get(id) ?? []);
    return { mentions, mention_roles: ids(/<@&(\d+)>/g), mention_everyone: false };
  }

  addFile(channel: DiscordChannel, file: { name: string; type: string; bytes: Buffer }, origin: string): Json {
    const id = this.newId();
    this.files.set(id, file);
    const url = `${origin}/attachments/${channel.id}/${id}/${encodeURIComponent(file.name)}?ex=${randomUUID()}`;
    return { id, filename: file.name, size: file.bytes.length, url, proxy_url: url, content_type: file.type };
  }

  /** A message as Discord shows it to a bot. */
  show({ reactions, ...message }: DiscordMessage, bot: DiscordBot): Json {
    const counted = reactions.map(({ emoji, users }) => ({ emoji, count: users.length, me: users.includes(bot.id) }));
    return structuredClone({ ...message, ...(counted.length === 0 ? {} : { reactions: counted }) });
  }

  showChannel({ id, name, type, parent, user, messages }: DiscordChannel): Json {
    const last = { last_message_id: [...messages.keys()].at(-1) ?? null };
    if (type === 1) return { id, type, ...last, recipients: [this.people.get(user ?? '')] };
    return { id, type, ...last, name, guild_id: GUILD.id, parent_id: parent ?? null };
  }
}
