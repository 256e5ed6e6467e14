// The routes of the REST API that a scripted Discord answers, as a table. Each reads a call and
// returns the body of the answer, or throws `DiscordRefusal`.
import type { UploadedFile } from '../call-log.ts';
import { isRecord } from '../read-parameters.ts';
import { replyOf, setReaction, tellMessage, type DiscordStage } from './people.ts';
import { DiscordRefusal, invalidForm, unknownChannel, unknownMessage } from './refused.ts';
import { GUILD, roleOf, type DiscordBot, type DiscordChannel, type DiscordMessage, type Json } from './world.ts';

export interface DiscordCall {
  stage: DiscordStage;
  bot: DiscordBot;
  /** The parts of the path in braces. */
  path: Readonly<Record<string, string>>;
  parameters: Json;
  files: UploadedFile[];
  /** The messages of the last minutes by the bot and its nonce. */
  nonces: Map<string, { message: DiscordMessage; until: number }>;
  nonceMs: number;
  gatewayUrl: string;
}

type Method = (call: DiscordCall) => Json | Json[] | null;

const TEXT_CHARS_MAX = 2_000;
const NONCE_CHARS_MAX = 25;
const PAGE_MAX = 100;
const ANSWER_MS = 3_000;
/** All rights of a bot. */
const PERMISSIONS = '8';
const CONTENT_FLAG = 1 << 19;

export const METHODS: Readonly<Record<string, Method>> = {
  // prettier-ignore
  'GET /gateway/bot': ({ gatewayUrl }) => ({ url: gatewayUrl, shards: 1, session_start_limit: { total: 1000, remaining: 1000, reset_after: 0, max_concurrency: 1 } }),
  'GET /users/@me': ({ stage, bot }) => ({ ...stage.world.people.get(bot.id) }),
  'GET /users/@me/guilds': () => [{ ...GUILD, owner: false, permissions: PERMISSIONS }],
  'POST /users/@me/channels': ({ stage: { world }, bot, parameters }) => {
    const user = String(parameters.recipient_id);
    if (!world.people.has(user)) throw invalidForm('recipient_id is not a user');
    return world.showChannel(world.directChat(bot, user));
  },
  'GET /applications/@me': ({ bot }) => ({
    id: bot.id,
    name: 'scripted',
    flags: bot.hasContentIntent ? CONTENT_FLAG : 0,
  }),
  'GET /guilds/{guild}/channels': ({ stage: { world } }) => channelsOf(world, 0),
  'GET /guilds/{guild}/threads/active': ({ stage: { world } }) => ({ threads: channelsOf(world, 11), members: [] }),
  'GET /guilds/{guild}/roles': ({ stage: { world } }) => [
    { id: GUILD.id, name: '@everyone' },
    ...world.bots.map((bot) => ({ id: roleOf(bot), name: 'scripted', managed: true, tags: { bot_id: bot.id } })),
  ],
  'GET /channels/{channel}': (call) => call.stage.world.showChannel(channelOf(call)),
  'GET /channels/{channel}/messages': (call) => {
    const { parameters, stage, bot } = call;
    const query = parameters as { before?: string; after?: string };
    const before = BigInt(query.before ?? '9223372036854775807');
    const after = BigInt(query.after ?? 0);
    const limit = Math.min(Number(parameters.limit ?? 50), PAGE_MAX);
    const found = [...channelOf(call).messages.values()].filter(({ id }) => BigInt(id) < before && BigInt(id) > after);
    // Those nearest to the message that was named; always newest first. Nonces are not kept.
    const page = parameters.after === undefined ? found.slice(-limit) : found.slice(0, limit);
    return page.toReversed().map((message) => ({ ...stage.world.show(message, bot), nonce: undefined }));
  },
  'POST /channels/{channel}/messages': sendMessage,
  'GET /channels/{channel}/messages/{message}': (call) => call.stage.world.show(messageOf(call), call.bot),
  'PATCH /channels/{channel}/messages/{message}': (call) => {
    const message = ownMessage(call);
    const { content, components } = call.parameters;
    if (content !== undefined) message.content = textWithin(content);
    if (components !== undefined) message.components = componentsOf(components);
    message.edited_timestamp = new Date().toISOString();
    tellMessage(call.stage, channelOf(call), 'MESSAGE_UPDATE', message);
    return call.stage.world.show(message, call.bot);
  },
  'DELETE /channels/{channel}/messages/{message}': (call) => {
    channelOf(call).messages.delete(ownMessage(call).id);
    return null;
  },
  'PUT /channels/{channel}/messages/{message}/reactions/{emoji}/@me': (call) => react(call, true),
  'DELETE /channels/{channel}/messages/{message}/reactions/{emoji}/@me': (call) => react(call, false),
  'POST /channels/{channel}/typing': (call) => (channelOf(call), null),
  'POST /interactions/{interaction}/{token}/callback': ({ stage: { world }, path }) => {
    const press = world.presses.get(path.token ?? '');
    if (press?.id !== path.interaction || Date.now() - press!.at > ANSWER_MS)
      throw new DiscordRefusal(404, 10_062, 'Unknown interaction');
    if (press!.isAnswered) throw new DiscordRefusal(400, 40_060, 'Interaction has already been acknowledged.');
    press!.isAnswered = true;
    return null;
  },
};

/** The route of a request, with the parts of its path. */
export function routeOf(method: string, path: string): { name: string; path: Record<string, string> } | null {
  for (const [name, form] of FORMS) {
    const found = form.exec(`${method} ${path}`);
    if (found === null) continue;
    const parts = Object.entries(found.groups ?? {}).map(([key, value]) => [key, decodeURIComponent(value)]);
    return { name, path: Object.fromEntries(parts) as Record<string, string> };
  }
  return null;
}

// prettier-ignore
const FORMS = Object.keys(METHODS).map((name) => [name, new RegExp(`^${name.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`)] as const);

function sendMessage(call: DiscordCall): Json {
  const { stage, bot, parameters, files, nonces, nonceMs } = call;
  const { world } = stage;
  const channel = channelOf(call);
  const nonce = parameters.nonce as string | number | undefined;
  const { enforce_nonce: isEnforced, message_reference: reference, components = [] } = parameters;
  // prettier-ignore
  if (nonce !== undefined && String(nonce).length > NONCE_CHARS_MAX) throw invalidForm(`nonce must be ${NONCE_CHARS_MAX} or fewer in length`);
  const key = `${bot.id} ${String(nonce)}`;
  const known = nonces.get(key);
  if (isEnforced === true && known !== undefined && known.until > Date.now()) return world.show(known.message, bot);
  const content = textWithin(parameters.content ?? '');
  if (content === '' && files.length === 0) throw new DiscordRefusal(400, 50_006, 'Cannot send an empty message');
  const reply = isRecord(reference) ? reference : undefined;
  const replyTo = reply === undefined ? undefined : String(reply.message_id);
  const isThere = replyTo === undefined || channel.messages.has(replyTo);
  if (!isThere && reply?.fail_if_not_exists !== false) throw invalidForm('message_reference: Unknown message');
  // The bot has a user.
  const author = world.people.get(bot.id)!;
  const message = world.write(channel, author, {
    content,
    components: componentsOf(components),
    attachments: files.map((file) => world.addFile(channel, file, stage.origin())),
    ...replyOf(channel, isThere ? replyTo : undefined),
    ...(nonce === undefined ? {} : { nonce }),
  });
  if (nonce !== undefined) nonces.set(key, { message, until: Date.now() + nonceMs });
  tellMessage(stage, channel, 'MESSAGE_CREATE', message);
  return world.show(message, bot);
}

function channelsOf(world: DiscordStage['world'], type: number): Json[] {
  return [...world.channels.values()]
    .filter((channel) => channel.type === type && channel.isVisible)
    .map((channel) => world.showChannel(channel));
}

/** Throws `DiscordRefusal`. */
function channelOf({ stage: { world }, bot, path }: DiscordCall): DiscordChannel {
  const channel = world.channels.get(path.channel ?? '');
  if (channel === undefined || (channel.type === 1 && channel.bot !== bot.id)) throw unknownChannel();
  if (!channel.isVisible) throw new DiscordRefusal(403, 50_001, 'Missing Access');
  return channel;
}

function messageOf(call: DiscordCall): DiscordMessage {
  const message = channelOf(call).messages.get(call.path.message ?? '');
  if (message === undefined) throw unknownMessage();
  return message;
}

function ownMessage(call: DiscordCall): DiscordMessage {
  const message = messageOf(call);
  // prettier-ignore
  if (message.author.id !== call.bot.id) throw new DiscordRefusal(403, 50_005, 'Cannot edit a message authored by another user');
  return message;
}

function textWithin(content: unknown): string {
  const text = typeof content === 'string' ? content : '';
  if (Array.from(text).length > TEXT_CHARS_MAX)
    throw invalidForm(`content: Must be ${TEXT_CHARS_MAX} or fewer in length.`);
  return text;
}

/**
 * At most five rows of five buttons, with data of 1 to 100 characters that no two share, and labels
 * of at most 80.
 */
function componentsOf(components: unknown): Json[] {
  const rows = (Array.isArray(components) ? components : []) as {
    components?: { custom_id?: string; label?: string }[];
  }[];
  const buttons = rows.flatMap(({ components: row = [] }) => row);
  const data = buttons.map(({ custom_id: value = '' }) => value);
  // prettier-ignore
  if (rows.length > 5 || rows.some(({ components: row = [] }) => row.length < 1 || row.length > 5)) throw invalidForm('components: Must be between 1 and 5 in length.');
  // prettier-ignore
  if (data.some((value) => value.length < 1 || value.length > 100)) throw invalidForm('custom_id: Must be between 1 and 100 in length.');
  if (new Set(data).size < data.length) throw invalidForm('custom_id: Component custom id cannot be duplicated');
  if (buttons.some(({ label = '' }) => label.length > 80)) throw invalidForm('label: Must be 80 or fewer in length.');
  return rows as Json[];
}

function react(call: DiscordCall, isAdded: boolean): null {
  const emoji = call.path.emoji ?? '';
  if (!/^\w+:\d+$/.test(emoji) && /^[\x20-\x7f]*$/.test(emoji)) throw new DiscordRefusal(400, 10_014, 'Unknown Emoji');
  setReaction(messageOf(call), { emoji, user: call.bot.id, isAdded });
  return null;
}
