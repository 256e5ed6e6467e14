// Discord, and what is written there. Its own clients send the requests and hold the gateway. The
// adapter of the Chat SDK is not used: it needs the whole of discord.js, and answers what it
// receives before it is kept.
import { readFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { defaultEmojiResolver, parseMarkdown, stringifyMarkdown, walkAst } from 'chat';
import {
  ApplicationFlags,
  ButtonStyle,
  ComponentType,
  InteractionResponseType,
  MessageFlags,
  PermissionFlagsBits,
  Routes,
  type APIMessage,
} from 'discord-api-types/v10';
import { pause } from '../../../clock.ts';
import { given } from '../../../core/json.ts';
import { cutHead } from '../../../core/text.ts';
import {
  PlatformError,
  type AccountSettings,
  type Destination,
  type OutgoingPart,
  type Platform,
} from '../platform.ts';
import { createReader, readMissed, type DiscordReader } from './discord-events.ts';
import { createAsk, ENABLE_INTENT, listenToGateway, type AskDiscord, type Gap } from './discord-wire.ts';
import { type MarkdownNode, resolveReferences } from '../rules/markdown.ts';
import { fetchFile, isOfPlatform } from './requests.ts';
import { tableToText } from './styled-text.ts';

/** In UTF-16 units, which are at least as many as the characters that Discord counts. */
const TEXT_MAX = 2_000;
const BUTTONS_IN_ROW = 5;
/**
 * For how long after the first request Discord certainly recognises a part that is sent again;
 * Discord says "a few minutes".
 */
const NONCE_MS = 120_000;
/** A request whose answer was lost is repeated once, after this time. */
const REPEAT_AFTER_MS = 1_000;
/** Files of messages are there. */
const FILE_HOSTS = /^(?:cdn\.discordapp\.com|media\.discordapp\.net)$/;

/** What the bot does needs these rights in a server. */
const RIGHTS: Readonly<Record<string, bigint>> = {
  'View Channels': PermissionFlagsBits.ViewChannel,
  'Send Messages': PermissionFlagsBits.SendMessages,
  'Send Messages in Threads': PermissionFlagsBits.SendMessagesInThreads,
  'Read Message History': PermissionFlagsBits.ReadMessageHistory,
  'Attach Files': PermissionFlagsBits.AttachFiles,
  'Add Reactions': PermissionFlagsBits.AddReactions,
};

/** The bot of one token. */
export function openPlatform({ token, baseUrl }: AccountSettings): Platform {
  const ask = createAsk(token, baseUrl);
  let reader: DiscordReader | undefined;

  async function identify(signal: AbortSignal) {
    const { id, username: name } = await ask<{ id: string; username: string }>('GET', Routes.user(), { signal });
    reader ??= createReader(ask, id);
    return { id, name };
  }

  return {
    name: 'discord',
    textLimit: { max: TEXT_MAX, measure: (markdown) => toDiscord(markdown).length },
    findsFiles: true,
    identify,
    async listen(position, commit, signal) {
      if (reader === undefined) await identify(signal);
      const { read, readMessage } = reader!;
      const missed = (since: Gap) => readMissed(ask, readMessage, { ...since, signal });
      return listenToGateway({ ask, token, read, readMissed: missed, position, commit, signal });
    },
    ...writer(ask),
    // What is sent again is the same message, so there is nothing to search for: see `nonceOf`.
    async findSent(_, deliveryId) {
      if (ageOf(deliveryId) < NONCE_MS) return null;
      throw new PlatformError('refused', 'Discord recognises a message that is sent again for a few minutes only');
    },
    async answerPress(pressId, text, signal) {
      const interaction = reader?.tokens.get(pressId);
      if (interaction === undefined) return;
      // Without a text, only the sign that it is being worked on goes away.
      const body =
        text === ''
          ? { type: InteractionResponseType.DeferredMessageUpdate }
          : {
              type: InteractionResponseType.ChannelMessageWithSource,
              data: { content: cutHead(text, TEXT_MAX), flags: MessageFlags.Ephemeral },
            };
      await ask('POST', Routes.interactionCallback(pressId, interaction), { body, auth: false, signal });
    },
    async download({ id }, bytesMax, signal) {
      const url = reader?.urls.get(id);
      if (!isOfPlatform(url, baseUrl, FILE_HOSTS))
        throw new PlatformError('refused', 'Discord does not have the file itself');
      return fetchFile(url, { platform: 'Discord', bytesMax, signal });
    },
    check: (signal) => check(ask, signal),
  };
}

async function check(ask: AskDiscord, signal: AbortSignal): Promise<string[]> {
  const get = <Result>(route: `/${string}`) => ask<Result>('GET', route, { signal });
  const { flags = 0 } = await get<{ flags?: number }>(Routes.currentApplication());
  const servers = await get<{ name: string; permissions: string }[]>(Routes.userGuilds());
  const hasIntent =
    (flags & (ApplicationFlags.GatewayMessageContent | ApplicationFlags.GatewayMessageContentLimited)) !== 0;
  return [
    ...(hasIntent ? [] : [ENABLE_INTENT]),
    ...servers.flatMap(({ name, permissions }) => {
      const own = BigInt(permissions);
      const isAdministrator = (own & PermissionFlagsBits.Administrator) !== 0n;
      const missing = Object.keys(RIGHTS).filter((right) => !isAdministrator && (own & RIGHTS[right]!) === 0n);
      if (missing.length === 0) return [];
      return [
        `In the server "${name}" the bot lacks the rights ${missing.join(', ')}. Give them to its role, or invite it again with the link in docs/channels.md#discord.`,
      ];
    }),
  ];
}

/** What writes into chats. */
function writer(ask: AskDiscord): Pick<Platform, 'send' | 'edit' | 'remove' | 'react' | 'showTyping'> {
  return {
    async send(to, part, signal) {
      const files = part.file === undefined ? [] : [{ name: part.file.name, data: await readFile(part.file.path) }];
      const route = Routes.channelMessages(channelOf(to));
      const post = () => ask<APIMessage>('POST', route, { body: bodyOf(part), files, signal });
      const repeatUntil = Date.now() + NONCE_MS;
      const { id } = await post().catch(async (error: unknown) => {
        if (!(error instanceof PlatformError) || error.kind !== 'unknown') throw error;
        // What is sent again is the same message. Why that fails, if it does, says nothing of the
        // first request.
        await pause(REPEAT_AFTER_MS, signal);
        if (Date.now() > repeatUntil) throw error;
        return post().catch(() => Promise.reject(error));
      });
      return { platformId: id };
    },
    async edit(to, platformId, { markdown, buttons }, signal) {
      const body = { content: toDiscord(markdown), allowed_mentions: { parse: [] }, components: rowsOf(buttons) };
      await ask('PATCH', Routes.channelMessage(channelOf(to), platformId), { body, signal });
    },
    async remove(to, platformId, signal) {
      await ask('DELETE', Routes.channelMessage(channelOf(to), platformId), { signal });
    },
    async react(to, messageId, emoji, signal) {
      const channel = channelOf(to);
      const own = (name: string) => Routes.channelMessageOwnReaction(channel, messageId, encodeURIComponent(name));
      if (emoji !== '') return void (await ask('PUT', own(emojiOf(emoji)), { signal }));
      const { reactions = [] } = await ask<APIMessage>('GET', Routes.channelMessage(channel, messageId), { signal });
      for (const { emoji: set } of reactions.filter(({ me }) => me))
        await ask('DELETE', own(set.id === null ? `${set.name}` : `${set.name}:${set.id}`), { signal });
    },
    async showTyping(to, signal) {
      await ask('POST', Routes.channelTyping(channelOf(to)), { signal });
    },
  };
}

/** A thread is a channel of its own. */
function channelOf({ chatId, threadId }: Destination): string {
  return threadId ?? chatId;
}

function rowsOf(buttons: OutgoingPart['buttons'] = []) {
  const components = buttons.map(({ label, value }) => ({
    type: ComponentType.Button,
    style: ButtonStyle.Secondary,
    label: cutHead(label, 80),
    custom_id: value,
  }));
  return Array.from({ length: Math.ceil(components.length / BUTTONS_IN_ROW) }, (_, row) => ({
    type: ComponentType.ActionRow,
    components: components.slice(row * BUTTONS_IN_ROW, (row + 1) * BUTTONS_IN_ROW),
  }));
}

function bodyOf({ markdown, replyToMessageId, buttons, deliveryId }: OutgoingPart) {
  return {
    content: toDiscord(markdown),
    nonce: nonceOf(deliveryId),
    enforce_nonce: true,
    // An agent notifies the person that it answers, and no one else.
    allowed_mentions: { parse: [], replied_user: true },
    ...given({
      components: buttons && rowsOf(buttons),
      message_reference: replyToMessageId && { message_id: replyToMessageId, fail_if_not_exists: false },
    }),
  };
}

/**
 * Discord answers a request with the nonce of an earlier one with the message of that one. It takes
 * 25 characters.
 */
function nonceOf(deliveryId: string): string {
  return createHash('sha256').update(deliveryId).digest('base64url').slice(0, 25);
}

/**
 * The time since a part was made, which is before it was first sent: its id begins with that time
 * (UUIDv7).
 */
function ageOf(deliveryId: string): number {
  return Date.now() - Number.parseInt(deliveryId.replaceAll('-', '').slice(0, 12), 16);
}

/** Discord shows neither tables nor images nor small headings; all else is markdown. */
function toDiscord(markdown: string): string {
  if (!/\||!\[|^#{4,6} /m.test(markdown)) return markdown;
  let isChanged = false;
  const parsed = parseMarkdown(markdown);
  // The tree has the form of mdast.
  parsed.children = resolveReferences(
    parsed.children as unknown as MarkdownNode[],
  ) as unknown as typeof parsed.children;
  const root = walkAst(parsed, (node) => {
    isChanged ||= node.type === 'table' || node.type === 'image' || (node.type === 'heading' && node.depth > 3);
    if (node.type === 'table') return { type: 'code', value: tableToText(node as unknown as MarkdownNode) };
    if (node.type === 'image')
      return { type: 'link', url: node.url, children: [{ type: 'text', value: node.alt || node.url }] };
    if (node.type === 'heading' && node.depth > 3) return { ...node, depth: 3 };
    return node;
  });
  return isChanged ? stringifyMarkdown(root, { bullet: '-' }).trimEnd() : markdown;
}

/** A character, also by its name, or one of a server: `name:id`. */
function emojiOf(emoji: string): string {
  const name = emoji.replaceAll(/^:|:$/g, '');
  return name.includes(':') ? name : defaultEmojiResolver.toDiscord(defaultEmojiResolver.fromGChat(name));
}
