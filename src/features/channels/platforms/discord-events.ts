// Reads what Discord sends, and asks it for what was written while no session could be resumed:
// what a person said, changed, reacted with or pressed, as the core has it. What says nothing is
// read as nothing.
import {
  ChannelType,
  ComponentType,
  EmbedType,
  GatewayDispatchEvents,
  InteractionType,
  MessageReferenceType,
  MessageType,
  Routes,
  type APIAttachment,
  type APIChannel,
  type APIEmbed,
  type APIMessage,
  type APIMessageComponentInteraction,
  type APIRole,
  type APIUser,
  type GatewayDispatchPayload,
  type GatewayMessageReactionAddDispatchData,
  type GatewayMessageReactionRemoveDispatchData,
} from 'discord-api-types/v10';
import { given } from '../../../core/json.ts';
import {
  PlatformError,
  type ChatPerson,
  type ChatPlace,
  type Received,
  type ReceivedMessage,
  type RemoteFile,
} from '../platform.ts';
import { nullIfRefused, type AskDiscord, type Gap } from './discord-wire.ts';
import { GAP, patiently, startOfGap } from './requests.ts';

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

/**
 * Where something was said, and what mentions the bot there; what Discord has answered once is
 * kept.
 */
function createLookups(ask: AskDiscord, botId: string) {
  const channels = new Map<string, Channel>();
  const roles = new Map<string, string>();

  async function channelOf(id: string, signal: AbortSignal): Promise<Channel> {
    const known = channels.get(id);
    if (known !== undefined) return known;
    const channel = await nullIfRefused(ask<Channel>('GET', Routes.channel(id), { signal }));
    // It may be shown to the bot again.
    return channel === null ? {} : keep(channels, id, channel);
  }

  /** A thread is a channel of its own on Discord; here it is a thread of its channel. */
  async function placeOf(id: string, guild: string | undefined, signal: AbortSignal): Promise<ChatPlace> {
    if (guild === undefined) return { chatId: id, chatType: 'direct' };
    const { type, name, parent_id: parent } = await channelOf(id, signal);
    const own = given({ subject: name ?? undefined });
    if (parent == null || !isThread(type)) return { chatId: id, chatType: 'channel', guild, ...own };
    const { name: subject } = await channelOf(parent, signal);
    const names = given({ threadLabel: name ?? undefined, subject: subject ?? undefined });
    return { chatId: parent, threadId: id, chatType: 'channel', guild, ...names };
  }

  /**
   * How a text mentions the bot. In a server it has a role of its own, which people mention like
   * the bot.
   */
  async function marksOf({ mention_roles: mentioned }: APIMessage, guild: string | undefined, signal: AbortSignal) {
    const own = [`<@${botId}>`, `<@!${botId}>`];
    if (guild === undefined || mentioned.length === 0) return own;
    const known = roles.get(guild);
    if (known !== undefined) return [...own, `<@&${known}>`];
    const all = await nullIfRefused(ask<APIRole[]>('GET', Routes.guildRoles(guild), { signal }));
    const role = all?.find(({ tags }) => tags?.bot_id === botId)?.id;
    return role === undefined ? own : [...own, `<@&${keep(roles, guild, role)}>`];
  }

  return { placeOf, marksOf };
}

/** Reads for the bot of this user id. */
export function createReader(ask: AskDiscord, botId: string): DiscordReader {
  const { placeOf, marksOf } = createLookups(ask, botId);
  const urls = new Map<string, string>();
  const tokens = new Map<string, string>();
  const bots = new Map<string, true>();

  async function readMessage(message: APIMessage, guild: string | undefined, signal: AbortSignal): Promise<Received[]> {
    const { id, type, author, mentions, referenced_message: answered, message_reference: reference } = message;
    if (type !== MessageType.Default && type !== MessageType.Reply) return [];
    const forwarded = reference?.type === MessageReferenceType.Forward ? message.message_snapshots?.[0] : undefined;
    const said = forwarded?.message ?? message;
    const { content, attachments } = said;
    const laidOut = readEmbeds(said, author.bot === true || message.webhook_id !== undefined);
    if (content === '' && attachments.length === 0 && laidOut === '') return [];
    for (const file of attachments) keep(urls, file.id, file.url);
    const marks = await marksOf(message, guild, signal);
    const isMentioned = marks.some((mark) => content.includes(mark));
    const sender = personOf(author, (message as { member?: Member }).member, message.webhook_id !== undefined);
    if (sender.isBot) keep(bots, sender.id, true);
    // Who is answered is among the mentions, too.
    const isMeant = isMentioned || mentions.some((user) => user.id === botId) || answered?.author.id === botId;
    return [
      {
        kind: 'message',
        place: await placeOf(message.channel_id, guild, signal),
        sender,
        at: timeOf(id),
        messageId: id,
        text: [textOf(content, marks, mentions), laidOut].filter(Boolean).join('\n'),
        isOwnText: forwarded === undefined && message.edited_timestamp === null && laidOut === '',
        isForBot: guild === undefined || isMeant,
        files: attachments.map(toFile),
        ...given({
          isMentioned: isMentioned || undefined,
          forwarded: forwarded && {},
          replyTo: answered == null ? undefined : toReply(answered),
        }),
      },
    ];
  }

  async function read({ t, d, s }: GatewayDispatchPayload, signal: AbortSignal): Promise<Received[]> {
    // There are 80 more, which are not read.
    // oxlint-disable-next-line typescript/switch-exhaustiveness-check
    switch (t) {
      case GatewayDispatchEvents.MessageCreate:
        return readMessage(d, d.guild_id, signal);
      case GatewayDispatchEvents.MessageUpdate:
        return toEdits(d, () => readMessage(d, d.guild_id, signal));
      case GatewayDispatchEvents.MessageReactionAdd:
      case GatewayDispatchEvents.MessageReactionRemove: {
        const place = await placeOf(d.channel_id, d.guild_id, signal);
        return [toReaction(d, { place, s, bots, isAdded: t === GatewayDispatchEvents.MessageReactionAdd })];
      }
      case GatewayDispatchEvents.InteractionCreate:
        if (d.type !== InteractionType.MessageComponent) return [];
        keep(tokens, d.id, d.token);
        return readPress(d, await placeOf(d.channel.id, d.guild_id, signal));
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

function readPress(press: APIMessageComponentInteraction, place: ChatPlace): Received[] {
  const { id, message, data } = press;
  const user = press.member?.user ?? press.user;
  if (user === undefined || data.component_type !== ComponentType.Button) return [];
  const sender = personOf(user, press.member, false);
  return [{ kind: 'press', place, sender, at: timeOf(id), messageId: message.id, pressId: id, value: data.custom_id }];
}

/**
 * Without the time of an edit, a preview was added. With it, a preview makes the same news as the
 * edit before, which is stored once.
 */
async function toEdits(
  { edited_timestamp: editedAt }: APIMessage,
  read: () => Promise<Received[]>,
): Promise<Received[]> {
  if (!editedAt) return [];
  return (await read()).map((each) => ({ ...(each as ReceivedMessage), kind: 'edit', at: Date.parse(editedAt) }));
}

/** What a bot lays out. Below the text of a person there are previews of links. */
function readEmbeds(
  { content, embeds = [] }: Partial<Pick<APIMessage, 'content' | 'embeds'>>,
  isOfBot: boolean,
): string {
  if (!isOfBot && content !== '') return '';
  return embeds
    .filter(({ type }) => type === EmbedType.Rich)
    .map(embedToMarkdown)
    .join('\n');
}

function embedToMarkdown({ author, title, url, description, fields = [], footer }: APIEmbed): string {
  const head = title !== undefined && url !== undefined ? `[${title}](${url})` : (title ?? url);
  const facts = fields.map(({ name, value }) => `${name}: ${value}`);
  return [author?.name, head, description, ...facts, footer?.text].filter(Boolean).join('\n');
}

function toFile({ id, filename: name, content_type: type, size: bytes }: APIAttachment): RemoteFile {
  return { id, name, bytes, ...given({ type }) };
}

function toReply({ id, author, content, mentions }: APIMessage): NonNullable<ReceivedMessage['replyTo']> {
  return { id, senderLabel: nameOf(author), body: textOf(content, [], mentions) };
}

/**
 * The end of a reaction does not say whether its user is a bot. Discord does not say when. The
 * number of the event (`s`) tells one that is sent again from a second reaction.
 */
function toReaction(
  data: GatewayMessageReactionRemoveDispatchData | GatewayMessageReactionAddDispatchData,
  { place, s, bots, isAdded }: { place: ChatPlace; s: number; bots: ReadonlyMap<string, true>; isAdded: boolean },
): Received {
  const { message_id: messageId, emoji, user_id: id } = data;
  const member = 'member' in data ? data.member : undefined;
  const sender = member?.user === undefined ? { id, isBot: bots.has(id) } : personOf(member.user, member, false);
  const shown = emoji.id === null ? (emoji.name ?? '') : `:${emoji.name ?? emoji.id}:`;
  return { kind: 'reaction', place, sender, at: timeOf(messageId) + s, messageId, emoji: shown, isAdded };
}

/**
 * What Discord has sent in a form that is not known must not keep the rest waiting, however often
 * it comes.
 */
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
function idAt(atMs: number): string {
  return String(BigInt(Math.max(Math.floor(atMs) - EPOCH_MS, 0)) << 22n);
}

const PAGE = 100;

type Get = <Result>(route: `/${string}`, query?: Record<string, string>) => Promise<Result>;

/** What was written since a time, in the order of each chat. */
export async function* readMissed(
  ask: AskDiscord,
  readMessage: DiscordReader['readMessage'],
  { at, direct, signal }: Gap & { signal: AbortSignal },
): AsyncGenerator<Received[]> {
  const since = idAt(startOfGap(at));
  const get: Get = (route, query = {}) =>
    patiently(signal, () => ask('GET', route, { signal, query: new URLSearchParams(query) }));
  const chats: { id: string; guild?: string }[] = direct.map((id) => ({ id }));
  for (const { id: guild } of await get<{ id: string }[]>(Routes.userGuilds())) {
    const channels = await get<APIChannel[]>(Routes.guildChannels(guild));
    const { threads } = await get<{ threads: APIChannel[] }>(Routes.guildActiveThreads(guild));
    for (const channel of [...channels, ...threads])
      if ('last_message_id' in channel && BigInt(channel.last_message_id ?? 0) > BigInt(since))
        chats.push({ id: channel.id, guild });
  }
  for (const { id, guild } of chats.slice(0, GAP.chatsMax)) {
    const received: Received[][] = [];
    for (const message of await readSince(id, since, get))
      received.push(await patiently(signal, () => readMessage(message, guild, signal)));
    yield received.flat();
  }
}

/** Read newest first, so that what is beyond the bound is the oldest; answered oldest first. */
async function readSince(id: string, since: string, get: Get): Promise<APIMessage[]> {
  const found: APIMessage[] = [];
  for (let before: string | undefined; found.length < GAP.messagesMax; before = found.at(-1)?.id) {
    const query = { limit: String(PAGE), ...(before === undefined ? {} : { before }) };
    const page = (await nullIfRefused(get<APIMessage[]>(Routes.channelMessages(id), query))) ?? [];
    const recent = page.filter((message) => BigInt(message.id) > BigInt(since));
    found.push(...recent);
    if (recent.length < PAGE) break;
  }
  return found.toReversed();
}
