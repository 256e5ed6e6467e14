// Reads what Slack sends: what a person said, changed, reacted with or pressed, as the core has it.
// What says nothing is read as nothing. What a person types arrives twice: as blocks, which say
// what is bold, and as text with marks, in which a star that was typed looks like one that makes
// bold. So the blocks come first. Apps send blocks of other kinds, and attachments.
import { defaultEmojiResolver } from 'chat';
import { given, isObject } from '../../../core/json.ts';
import type { ChatPerson, ChatPlace, Received, ReceivedMessage, RemoteFile } from '../platform.ts';
import { slackMrkdwnToMarkdown, unescapeSlackText } from '@chat-adapter/slack/format';

interface SlackFile {
  id?: string;
  name?: string;
  mimetype?: string;
  size?: number;
}

/** A message as events and the history have it. */
export interface SlackMessage {
  type?: string;
  subtype?: string;
  channel?: string;
  user?: string;
  bot_id?: string;
  username?: string;
  text?: string;
  ts?: string;
  thread_ts?: string;
  parent_user_id?: string;
  blocks?: SlackBlock[];
  attachments?: (SlackAttachment & { files?: SlackFile[] })[];
  files?: SlackFile[];
  edited?: { ts?: string };
  latest_reply?: string;
  metadata?: object;
  user_profile?: { display_name?: string; real_name?: string; name?: string };
}

interface SlackEvent extends SlackMessage {
  message?: SlackMessage;
  previous_message?: SlackMessage;
  reaction?: string;
  item?: { type?: string; channel?: string; ts?: string };
  event_ts?: string;
}

/**
 * Subtypes of messages that someone has written. All others tell of a channel: who joined, what was
 * renamed.
 */
const WRITTEN: ReadonlySet<string | undefined> = new Set([
  undefined,
  'file_share',
  'thread_broadcast',
  'me_message',
  'bot_message',
]);

/** Reads events for the bot of this user id. */
export function createEventReader(botUserId: string) {
  /** Users that have written as bots. A reaction does not say what its user is. */
  const bots = new Set<string>();

  function readMessage(message: SlackMessage, channel: string, team: string | undefined): Received[] {
    const { ts, subtype, attachments = [] } = message;
    const own = readOwnText(message, botUserId);
    const shared = attachments.filter(isShared);
    const added = attachments.filter((each) => !isShared(each) && !isPreview(each)).map(attachmentToMarkdown);
    const said = [own.text, ...added].filter((text) => text !== '').join('\n');
    const passedOn = shared.map(attachmentToMarkdown).join('\n');
    const text = said || passedOn;
    const files = [message, ...shared].flatMap((each) => each.files ?? []).flatMap(toFile);
    if (ts === undefined || !WRITTEN.has(subtype) || (text === '' && files.length === 0)) return [];
    const sender = personOf(message);
    if (sender === null) return [];
    if (sender.isBot) bots.add(sender.id);
    const place = placeOf(channel, { thread: message.thread_ts, team });
    const isAnswer = message.parent_user_id === botUserId;
    return [
      {
        kind: 'message',
        place,
        sender,
        at: toMs(ts),
        messageId: ts,
        text,
        // What an app writes for a person has both ids.
        isOwnText: message.bot_id === undefined && message.edited === undefined && own.isTyped && text === own.text,
        isForBot: place.chatType === 'direct' || isAnswer || own.isMentioned,
        ...(own.isMentioned ? { isMentioned: true } : {}),
        files,
        ...(shared[0] === undefined
          ? {}
          : said === ''
            ? { forwarded: originOf(shared[0]) }
            : { replyTo: quoteOf(shared[0], passedOn) }),
      },
    ];
  }

  /** The body of a request or an envelope of the Events API. */
  function readEvent(body: unknown): Received[] {
    if (!isObject(body) || body['type'] !== 'event_callback' || !isObject(body['event'])) return [];
    // The shape that Slack documents; every field that is used is checked.
    const event = body['event'] as SlackEvent;
    const team = typeof body['team_id'] === 'string' ? body['team_id'] : undefined;
    if (event.type === 'reaction_added' || event.type === 'reaction_removed') return readReaction(event, team, bots);
    if (event.channel === undefined || (event.type !== 'message' && event.type !== 'app_mention')) return [];
    return event.subtype === 'message_changed'
      ? readEdit(event, (message, channel) => readMessage(message, channel, team))
      : readMessage(event, event.channel, team);
  }

  return {
    readEvent: (body: unknown) => readOrName(body, () => readEvent(body)),
    readMessage: (message: SlackMessage, channel: string, team: string | undefined) =>
      readOrName(message, () => readMessage(message, channel, team)),
  };
}

/**
 * What Slack has sent in a form that is not known must not keep the rest waiting, however often it
 * comes.
 */
function readOrName(sent: unknown, read: () => Received[]): Received[] {
  try {
    return read();
  } catch (error) {
    const { event_id: event, ts } = (isObject(sent) ? sent : {}) as { event_id?: unknown; ts?: unknown };
    return [{ kind: 'unreadable', id: [event, ts].find((each) => typeof each === 'string') ?? 'without an id', error }];
  }
}

function readEdit(
  { message, previous_message: before, event_ts: at, channel = '' }: SlackEvent,
  read: (message: SlackMessage, channel: string) => Received[],
): Received[] {
  if (message?.edited === undefined) return [];
  const textOf = ([said]: Received[]) => (said?.kind === 'message' ? said.text : '');
  const now = read(message, channel);
  // A link preview that Slack adds is a change of the message, too.
  if (before !== undefined && textOf(now) === textOf(read(before, channel))) return [];
  return now.map((said): Received => {
    const changedAt = toMs(at ?? message.ts ?? '');
    return said.kind === 'message' ? { ...said, kind: 'edit', at: changedAt } : said;
  });
}

/** Who has written what a person passes on. */
function originOf({
  author_name: name,
  author_id: id,
  ts,
}: SlackAttachment): NonNullable<ReceivedMessage['forwarded']> {
  return given({ from: name ?? id, date: ts === undefined ? undefined : toMs(ts) });
}

/** Quotes an attachment below the person's text: words of others stay apart from it. */
function quoteOf(
  { author_name: name, author_id: id }: SlackAttachment,
  body: string,
): NonNullable<ReceivedMessage['replyTo']> {
  return { isQuote: true, ...given({ senderLabel: name ?? id, body: body || undefined }) };
}

function readReaction(
  { type, user, item, reaction, event_ts: at }: SlackEvent,
  team: string | undefined,
  bots: ReadonlySet<string>,
): Received[] {
  if (item?.type !== 'message' || item.channel === undefined || item.ts === undefined) return [];
  if (user === undefined || reaction === undefined) return [];
  return [
    {
      kind: 'reaction',
      place: placeOf(item.channel, { team }),
      sender: { id: user, isBot: bots.has(user) },
      at: toMs(at ?? item.ts),
      messageId: item.ts,
      emoji: emojiOf(reaction),
      isAdded: type === 'reaction_added',
    },
  ];
}

interface Interaction {
  type?: string;
  user?: { id?: string; name?: string; username?: string };
  team?: { id?: string } | null;
  channel?: { id?: string };
  message?: { ts?: string; thread_ts?: string };
  actions?: { value?: string; action_ts?: string }[];
}

/** What `answerPress` needs, as the id of the press. */
export interface SlackPress {
  channel: string;
  user: string;
  ts: string;
}

/** The payload of a press of a button. */
export function readInteraction(payload: unknown): Received[] {
  return readOrName(payload, () => readPresses(payload));
}

function readPresses(payload: unknown): Received[] {
  if (!isObject(payload)) return [];
  const { type, user, team, channel, message, actions = [] } = payload as Interaction;
  if (type !== 'block_actions' || user?.id === undefined || channel?.id === undefined || message?.ts === undefined)
    return [];
  const place = placeOf(channel.id, { thread: message.thread_ts, team: team?.id });
  const sender: ChatPerson = { id: user.id, isBot: false, ...given({ name: user.name, username: user.username }) };
  return actions.flatMap(({ value, action_ts: at }): Received[] => {
    if (value === undefined || at === undefined) return [];
    const press: SlackPress = { channel: channel.id ?? '', user: user.id ?? '', ts: at };
    return [
      {
        kind: 'press',
        place,
        sender,
        at: toMs(at),
        messageId: message.ts ?? '',
        pressId: JSON.stringify(press),
        value,
      },
    ];
  });
}

/** Only the id says the type of a chat in every event: those of direct chats begin with D. */
function placeOf(
  chatId: string,
  { thread, team }: { thread?: string | undefined; team?: string | undefined },
): ChatPlace {
  return { chatId, chatType: chatId.startsWith('D') ? 'direct' : 'channel', ...given({ threadId: thread, team }) };
}

function personOf({ user, bot_id: bot, username, user_profile: profile }: SlackMessage): ChatPerson | null {
  const id = user ?? bot;
  if (id === undefined) return null;
  const name = profile?.display_name || profile?.real_name || username;
  return { id, isBot: bot !== undefined, ...given({ name, username: profile?.name }) };
}

function toFile({ id, name, mimetype, size }: SlackFile): RemoteFile[] {
  return id === undefined ? [] : [{ id, ...given({ name, type: mimetype, bytes: size }) }];
}

/** Seconds with six decimals, as milliseconds. */
function toMs(ts: string): number {
  return Math.floor(Number(ts) * 1_000) || 0;
}

/** The character for a name of Slack; a name without one stays, as `:name:`. */
function emojiOf(name: string): string {
  const character = defaultEmojiResolver.toDiscord(defaultEmojiResolver.fromSlack(name));
  return character === name ? `:${name}:` : character;
}

/** The name of Slack for a character or a name. */
export function slackEmoji(emoji: string): string {
  return defaultEmojiResolver.toSlack(defaultEmojiResolver.fromGChat(emoji.replaceAll(':', '')));
}

interface TextObject {
  type?: string;
  text?: string;
}

interface Style {
  bold?: boolean;
  italic?: boolean;
  strike?: boolean;
  code?: boolean;
}

/** A block, or a piece of one. Every field that is used is checked by its use. */
interface SlackBlock {
  type?: string;
  text?: string | TextObject;
  title?: string | TextObject;
  elements?: SlackBlock[];
  fields?: TextObject[];
  rows?: SlackBlock[][];
  style?: string | Style;
  indent?: number;
  offset?: number;
  border?: number;
  url?: string;
  user_id?: string;
  usergroup_id?: string;
  channel_id?: string;
  range?: string;
  name?: string;
  fallback?: string;
  value?: string;
  alt_text?: string;
  image_url?: string;
  title_url?: string;
}

interface SlackAttachment {
  pretext?: string;
  title?: string;
  title_link?: string;
  text?: string;
  fields?: { title?: string; value?: string }[];
  fallback?: string;
  image_url?: string;
  blocks?: SlackBlock[];
  /** The blocks of a shared message. */
  message_blocks?: { message?: { blocks?: SlackBlock[] } }[];
  author_name?: string;
  author_id?: string;
  ts?: string;
  is_share?: boolean;
  is_msg_unfurl?: boolean;
  is_app_unfurl?: boolean;
  from_url?: string;
  original_url?: string;
}

/** A message that someone passes on. */
function isShared({ is_share: isShare, is_msg_unfurl: isMessage }: SlackAttachment): boolean {
  return isShare === true || isMessage === true;
}

/** What Slack or an app shows of an address in the text. */
function isPreview(attachment: SlackAttachment): boolean {
  const { is_app_unfurl: isOfApp, from_url: from, original_url: original } = attachment;
  return !isShared(attachment) && (isOfApp === true || from !== undefined || original !== undefined);
}

/** What the sender has written; `isTyped`: as a person types it, not as an app lays it out. */
function readOwnText(
  { text = '', blocks = [] }: { text?: string; blocks?: SlackBlock[] },
  bot: string,
): { text: string; isMentioned: boolean; isTyped: boolean } {
  const isTyped = blocks.every(({ type }) => type === 'rich_text');
  // Some programs add the name.
  const mention = new RegExp(`<@${bot}(?:\\|[^>]*)?>`);
  const markdown = blocksToMarkdown(blocks).trimEnd() || mrkdwnToMarkdown(text.replace(mention, `<@${bot}>`));
  const source = JSON.stringify(blocks);
  const isInBlocks = source.includes(`"user_id":"${bot}"`) || (!isTyped && mention.test(source));
  // `@bot /stop` is `/stop`: Slack keeps what begins with a slash for its own commands.
  const own = markdown.replace(new RegExp(`^@${bot}(?![A-Z0-9])\\s*`), '');
  return { text: own, isMentioned: isInBlocks || mention.test(text), isTyped };
}

function attachmentToMarkdown(attachment: SlackAttachment): string {
  const { pretext, title, title_link: link, text, fields = [], fallback, image_url: image, blocks = [] } = attachment;
  const shared = (attachment.message_blocks ?? []).flatMap(({ message }) => message?.blocks ?? []);
  const name = title === undefined ? undefined : unescapeSlackText(title);
  const pieces = [
    mrkdwnToMarkdown(pretext ?? ''),
    link === undefined ? name : `[${name ?? link}](${link})`,
    blocksToMarkdown(shared.length > 0 ? shared : blocks) || mrkdwnToMarkdown(text ?? ''),
    ...fields.map((field) => mrkdwnToMarkdown([field.title, field.value].filter(Boolean).join(': '))),
    image,
  ].filter(Boolean);
  return pieces.length > 0 ? pieces.join('\n') : mrkdwnToMarkdown(fallback ?? '');
}

function blocksToMarkdown(blocks: readonly SlackBlock[]): string {
  return blocks
    .map(blockToMarkdown)
    .filter((text) => text !== '')
    .join('\n');
}

function blockToMarkdown(block: SlackBlock): string {
  const { type, text, title, elements = [], fields = [], rows = [] } = block;
  switch (type ?? '') {
    case 'rich_text':
      return elements.map(richToMarkdown).join('\n');
    case 'table':
    case 'data_table':
      return rows.map((row) => row.map((cell) => blockToMarkdown(cell)).join(' | ')).join('\n');
    case 'image':
    case 'video':
      return [block.alt_text ?? objectToMarkdown(title), block.image_url ?? block.title_url].filter(Boolean).join(' ');
    case 'context':
      return elements.map(blockToMarkdown).filter(Boolean).join(' ');
    case 'actions':
      return '';
    case 'markdown':
    case 'raw_text':
      return objectToMarkdown(text);
    default:
      return [objectToMarkdown(type === 'mrkdwn' ? (block as TextObject) : text), ...fields.map(objectToMarkdown)]
        .filter(Boolean)
        .join('\n');
  }
}

function objectToMarkdown(text: string | TextObject | undefined): string {
  if (typeof text !== 'object') return unescapeSlackText(text ?? '');
  return text.type === 'mrkdwn' ? mrkdwnToMarkdown(text.text ?? '') : unescapeSlackText(text.text ?? '');
}

/** A paragraph, a list, a quote or code of a block of rich text. */
function richToMarkdown(element: SlackBlock): string {
  const { type, border } = element;
  const text =
    type === 'rich_text_list'
      ? listToMarkdown(element)
      : type === 'rich_text_preformatted'
        ? `\`\`\`\n${piecesToMarkdown(element)}\n\`\`\``
        : piecesToMarkdown(element);
  return type === 'rich_text_quote' || border === 1 ? text.replaceAll(/^/gm, '> ') : text;
}

function listToMarkdown({ elements = [], style, indent = 0, offset = 0 }: SlackBlock): string {
  const markOf = (at: number) => (style === 'ordered' ? `${offset + at + 1}.` : '-');
  return elements.map((item, at) => `${'   '.repeat(indent)}${markOf(at)} ${richToMarkdown(item)}`).join('\n');
}

function piecesToMarkdown({ elements = [] }: SlackBlock): string {
  return elements.map(pieceToMarkdown).join('').replace(/\n$/, '');
}

function pieceToMarkdown(piece: SlackBlock): string {
  const { text, url, style } = piece;
  const words = typeof text === 'string' ? text : (url ?? nameOf(piece));
  const shown = url === undefined || words === url ? words : `[${words}](${url})`;
  return typeof style === 'object' ? withMarks(shown, style) : shown;
}

function nameOf({ type, name, range, value, fallback, ...ids }: SlackBlock): string {
  if (type === 'emoji') return `:${name ?? ''}:`;
  if (type === 'channel') return `#${ids.channel_id ?? ''}`;
  const person = ids.user_id ?? ids.usergroup_id ?? range;
  return person === undefined ? (fallback ?? value ?? '') : `@${person}`;
}

/** Marks stand next to words. */
function withMarks(text: string, { bold, italic, strike, code }: Style): string {
  const words = text.trim();
  if (words === '') return text;
  let marked = code === true ? `\`${words}\`` : words;
  if (strike === true) marked = `~~${marked}~~`;
  if (italic === true) marked = `_${marked}_`;
  if (bold === true) marked = `**${marked}**`;
  return text.replace(words, () => marked);
}

/**
 * Code, then what is bold, then what is struck, then marks that are none: a mark stands at the edge
 * of a word.
 */
const MARKS =
  /```.*?```|`[^`\n]+`|(?<![\p{L}\p{N}_\\*])\*(?=[^\s*])[^*\n]*(?<=[^\s*])\*(?![\p{L}\p{N}_*]|[^\s\p{L}\p{N}]\p{L})|(?<![\p{L}\p{N}_\\~])~(?=[^\s~])[^~\n]*(?<=[^\s~])~(?![\p{L}\p{N}_~]|[^\s\p{L}\p{N}]\p{L})|[*~]/gsu;

/** Characters for private use, which no one types. */
const KEPT = { '*': '\uE000', '~': '\uE001' } as const;

/** The converter takes every pair of stars and tildes for marks, also in code. */
function mrkdwnToMarkdown(mrkdwn: string): string {
  const marked = mrkdwn.replaceAll(MARKS, (piece) =>
    piece.length > 1 && !piece.startsWith('`') ? piece : piece.replaceAll('*', KEPT['*']).replaceAll('~', KEPT['~']),
  );
  return slackMrkdwnToMarkdown(marked).replaceAll(KEPT['*'], '*').replaceAll(KEPT['~'], '~');
}
