// What a scripted Slack knows: its apps, people, channels, files, and the messages of each channel.
import { randomUUID } from 'node:crypto';

export type Json = Record<string, unknown>;

export interface App {
  id: string;
  team: string;
  botToken: string;
  appToken: string;
  signingSecret: string;
  /** The bot as people see it, and as an app. */
  botUser: string;
  botId: string;
}

export interface Message extends Json {
  type: 'message';
  ts: string;
  user: string;
  text: string;
  thread_ts?: string;
  blocks?: Json[];
  metadata?: Json;
  files?: Json[];
  reactions?: { name: string; users: string[]; count: number }[];
}

export interface Channel {
  id: string;
  kind: 'im' | 'channel' | 'group' | 'mpim';
  name: string;
  /** The person of a direct chat. */
  user?: string;
  isMember: boolean;
  isArchived: boolean;
  /** By their time, oldest first. */
  messages: Map<string, Message>;
}

export interface StoredFile {
  id: string;
  name: string;
  type: string;
  bytes: Buffer | null;
}

export interface Person extends Json {
  id: string;
  name: string;
  is_bot: boolean;
}

export class Workspace {
  readonly apps: readonly App[];
  readonly people = new Map<string, Person>();
  readonly channels = new Map<string, Channel>();
  readonly files = new Map<string, StoredFile>();
  #second = 0;
  #inSecond = 0;
  #ids = 0;

  constructor(apps: readonly App[]) {
    this.apps = apps;
    for (const { botUser } of apps) this.people.set(botUser, { id: botUser, name: 'scripted', is_bot: true });
  }

  newId(prefix: string): string {
    return `${prefix}${String((this.#ids += 1)).padStart(9, '0')}`;
  }

  /** The id of the app; absent: the first. */
  app(id = this.apps[0]?.id): App {
    const found = this.apps.find((app) => app.id === id);
    if (found === undefined)
      throw new Error(`There is no app ${id}: the apps are ${this.apps.map((app) => app.id).join(', ')}`);
    return found;
  }

  /** A time that no other message has, as Slack names messages. */
  newTs(): string {
    const second = Math.max(Math.floor(Date.now() / 1000), this.#second);
    this.#inSecond = second === this.#second ? this.#inSecond + 1 : 0;
    this.#second = second;
    return `${second}.${String(this.#inSecond).padStart(6, '0')}`;
  }

  /** The direct chat of a person with an app, which is created. */
  directChat(app: App, user: string): Channel {
    const index = this.apps.indexOf(app);
    return this.openChannel({ id: `D${index}${user}`, kind: 'im', name: user, user });
  }

  openChannel(given: Pick<Channel, 'id'> & Partial<Channel>): Channel {
    const known = this.channels.get(given.id);
    if (known !== undefined) return Object.assign(known, given);
    const kind = given.id.startsWith('D') ? 'im' : given.id.startsWith('G') ? 'group' : 'channel';
    // prettier-ignore
    const channel: Channel = { kind, name: given.id.toLowerCase(), isMember: true, isArchived: false, messages: new Map(), ...given };
    this.channels.set(channel.id, channel);
    return channel;
  }

  /** Adds a message to a channel, with a time. */
  write(channel: Channel, app: App, content: Json & { user: string; text: string }): Message {
    const message: Message = {
      type: 'message',
      ts: this.newTs(),
      team: app.team,
      client_msg_id: randomUUID(),
      ...content,
    };
    channel.messages.set(message.ts, message);
    return message;
  }

  /** What messages say of a file. */
  describeFile({ id, name, type, bytes }: StoredFile, origin: string): Json {
    const extension = /\.(\w+)$/.exec(name)?.[1] ?? 'text';
    const url = `${origin}/files-pri/${id}/${encodeURIComponent(name)}`;
    // prettier-ignore
    return { id, name, title: name, mimetype: type, filetype: extension, size: bytes?.length ?? 0, mode: 'hosted', url_private: url, url_private_download: url };
  }
}
