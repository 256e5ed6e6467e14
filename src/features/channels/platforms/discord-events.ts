// Reads what Discord sends: what a person said, changed, reacted with or pressed, as the core has it. What says nothing is read as nothing.
import {
  ChannelType,
  ComponentType,
  GatewayDispatchEvents,
  InteractionType,
  MessageReferenceType,
  MessageType,
  Routes,
  type APIChannel,
  type APIMessage,
  type APIMessageComponentInteraction,
  type APIRole,
  type APIUser,
  type GatewayDispatchPayload,
  type GatewayMessageReactionAddDispatchData,
} from 'discord-api-types/v10';
import { given } from '../../../core/given.ts';
import { PlatformError, type ChatPerson, type ChatPlace, type Received, type ReceivedMessage } from '../platform.ts';
import type { AskDiscord } from './discord-wire.ts';

const KEPT_MAX = 1_000;
/** The first millisecond of Discord's ids. */
const EPOCH_MS = 1_420_070_400_000;

/** What is read of an event, and what its download and its answer need later, which are no ids. */
export interface DiscordReader {
  read: (event: GatewayDispatchPayload, signal: AbortSignal) => Promise<Received[]>;
  /** `guild`: the history does not say it. */
  readMessage: (message: APIMessage, guild: string | undefined, signal: AbortSignal) => Promise<Received[]>;
  /** The addresses of files by their ids. */
  urls: ReadonlyMap<string, string>;
  /** The tokens of interactions by their ids. */
  tokens: ReadonlyMap<string, string>;
}

type Channel = Partial<Pick<APIChannel, 'type'>> & { name?: string | null; parent_id?: string | null };
type Member = { nick?: string | null } | null | undefined;

/** Reads for the bot of this user id. */
// oxlint-disable-next-line max-lines-per-function
export function createReader(ask: AskDiscord, botId: string): DiscordReader {
  const channels = new Map<string, Channel>();
  const roles = new Map<string, string>();
  const urls = new Map<string, string>();
  const tokens = new Map<string, string>();

  async function channelOf(id: string, signal: AbortSignal): Promise<Channel> {
    const known = channels.get(id);
    if (known !== undefined) return known;
    const channel = await ask<Channel>('GET', Routes.channel(id), { signal }).catch((error: unknown) => {
      // The bot was removed from the channel meanwhile.
      if (error instanceof PlatformError && error.kind === 'refused') return {};
      throw error;
    });
    return keep(channels, id, channel);
  }

  /** A thread is a channel of its own on Discord; here it is a thread of its channel. */
  async function placeOf(id: string, guild: string | undefined, signal: AbortSignal): Promise<ChatPlace> {
    if (guild === undefined) return { chatId: id, chatType: 'direct' };
    const { type, name, parent_id: parent } = await channelOf(id, signal);
    if (parent == null || !isThread(type)) return { chatId: id, chatType: 'channel', guild, ...named(name) };
    const { name: subject } = await channelOf(parent, signal);
    return {
      chatId: parent,
      threadId: id,
      chatType: 'channel',
      guild,
      ...given({ threadLabel: name ?? undefined }),
      ...named(subject),
    };
  }

  /** The role that Discord made for the bot in a server: people mention it like the bot. */
  async function roleOf(guild: string, signal: AbortSignal): Promise<string | undefined> {
    const known = roles.get(guild);
    if (known !== undefined) return known;
    const all = await ask<APIRole[]>('GET', Routes.guildRoles(guild), { signal });
    const role = all.find(({ tags }) => tags?.bot_id === botId)?.id;
    return role === undefined ? undefined : keep(roles, guild, role);
  }

  async function readMessage(message: APIMessage, guild: string | undefined, signal: AbortSignal): Promise<Received[]> {
    const { id, type, author, mentions, mention_roles: mentioned, referenced_message: answered } = message;
    if (type !== MessageType.Default && type !== MessageType.Reply) return [];
    const isForward = message.message_reference?.type === MessageReferenceType.Forward;
    const { content, attachments } = (isForward ? message.message_snapshots?.[0]?.message : undefined) ?? message;
    const files = attachments.map(({ id: file, url, filename: name, content_type: mime, size: bytes }) => {
      keep(urls, file, url);
      return { id: file, name, bytes, ...given({ type: mime }) };
    });
    if (content === '' && files.length === 0) return [];
    const place = await placeOf(message.channel_id, guild, signal);
    const role = guild !== undefined && mentioned.length > 0 ? await roleOf(guild, signal) : undefined;
    const marks = [`<@${botId}>`, `<@!${botId}>`, ...(role === undefined ? [] : [`<@&${role}>`])];
    const isMentioned = mentions.some((user) => user.id === botId) || marks.some((mark) => content.includes(mark));
    const said: ReceivedMessage = {
      kind: 'message',
      place,
      sender: personOf(author, (message as { member?: Member }).member, message.webhook_id !== undefined),
      at: timeOf(id),
      messageId: id,
      text: textOf(content, marks, mentions),
      isForBot: guild === undefined || isMentioned || answered?.author.id === botId,
      files,
      ...(isForward ? { forwarded: {} } : {}),
      ...(answered == null
        ? {}
        : {
            replyTo: {
              id: answered.id,
              senderLabel: nameOf(answered.author),
              body: textOf(answered.content, [], answered.mentions),
            },
          }),
    };
    return [said];
  }

  async function readPress(press: APIMessageComponentInteraction, signal: AbortSignal): Promise<Received[]> {
    const { id, token, channel, guild_id: guild, message, data } = press;
    const user = press.member?.user ?? press.user;
    if (user === undefined || data.component_type !== ComponentType.Button) return [];
    keep(tokens, id, token);
    const place = await placeOf(channel.id, guild, signal);
    const sender = personOf(user, press.member, false);
    return [
      { kind: 'press', place, sender, at: timeOf(id), messageId: message.id, pressId: id, value: data.custom_id },
    ];
  }

  async function read({ t, d, s }: GatewayDispatchPayload, signal: AbortSignal): Promise<Received[]> {
    // There are 80 more, which are not read.
    // oxlint-disable-next-line typescript/switch-exhaustiveness-check
    switch (t) {
      case GatewayDispatchEvents.MessageCreate:
        return readMessage(d, d.guild_id, signal);
      case GatewayDispatchEvents.MessageUpdate: {
        const { edited_timestamp: editedAt } = d;
        // Without this time a preview was added. With it, a preview makes the same news as the edit before, which is stored once.
        if (editedAt == null) return [];
        const said = await readMessage(d, d.guild_id, signal);
        return said.map((each) => ({ ...(each as ReceivedMessage), kind: 'edit', at: Date.parse(editedAt) }));
      }
      case GatewayDispatchEvents.MessageReactionAdd:
      case GatewayDispatchEvents.MessageReactionRemove: {
        const { channel_id: channel, guild_id: guild, message_id: messageId, emoji, user_id: id } = d;
        const { member } = d as Partial<GatewayMessageReactionAddDispatchData>;
        const place = await placeOf(channel, guild, signal);
        const sender = member?.user === undefined ? { id, isBot: false } : personOf(member.user, member, false);
        const shown = emoji.id === null ? (emoji.name ?? '') : `:${emoji.name ?? emoji.id}:`;
        // Discord does not say when. The number of the event tells one that is sent again from a second reaction.
        const at = timeOf(messageId) + s;
        return [
          {
            kind: 'reaction',
            place,
            sender,
            at,
            messageId,
            emoji: shown,
            isAdded: t === GatewayDispatchEvents.MessageReactionAdd,
          },
        ];
      }
      case GatewayDispatchEvents.InteractionCreate:
        return d.type === InteractionType.MessageComponent ? readPress(d, signal) : [];
      default:
        return [];
    }
  }

  return {
    urls,
    tokens,
    read: (event, signal) => readOrName(event.d, () => read(event, signal)),
    readMessage: (message, guild, signal) => readOrName(message, () => readMessage(message, guild, signal)),
  };
}

/** What Discord has sent in a form that is not known must not keep the rest waiting, however often it comes. */
async function readOrName(sent: unknown, read: () => Promise<Received[]>): Promise<Received[]> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof PlatformError) throw error;
    const { id } = (sent ?? {}) as { id?: unknown };
    return [{ kind: 'unreadable', id: typeof id === 'string' ? id : 'without an id', error }];
  }
}

function keep<Value>(kept: Map<string, Value>, key: string, value: Value): Value {
  kept.set(key, value);
  const [oldest] = kept.keys();
  if (kept.size > KEPT_MAX && oldest !== undefined) kept.delete(oldest);
  return value;
}

function isThread(type: ChannelType | undefined): boolean {
  return (
    type === ChannelType.PublicThread || type === ChannelType.PrivateThread || type === ChannelType.AnnouncementThread
  );
}

function named(name: string | null | undefined) {
  return given({ subject: name ?? undefined });
}

function nameOf({ global_name: name, username }: APIUser): string {
  return name ?? username;
}

function personOf(user: APIUser, member: Member, isWebhook: boolean): ChatPerson {
  const { id, username, bot = false } = user;
  return { id, username, name: member?.nick ?? nameOf(user), isBot: bot || isWebhook };
}

/** `<@1> /stop` is `/stop`, other people have their names, and emoji of a server theirs. */
function textOf(content: string, marks: string[], mentions: readonly APIUser[]): string {
  const mark = marks.find((each) => content.startsWith(each));
  const text = mark === undefined ? content : content.slice(mark.length).trimStart();
  return text
    .replaceAll(/<@!?(\d+)>/g, (whole, id) => {
      const user = mentions.find((each) => each.id === id);
      return user === undefined ? whole : `@${nameOf(user)}`;
    })
    .replaceAll(/<a?(:\w+:)\d+>/g, '$1');
}

/** When an id was made, in epoch milliseconds. */
export function timeOf(id: string): number {
  return Number(BigInt(id) >> 22n) + EPOCH_MS;
}

/** The first id of a time. */
export function idAt(atMs: number): string {
  return String(BigInt(Math.max(Math.floor(atMs) - EPOCH_MS, 0)) << 22n);
}
