// The text of a message of Slack in markdown. What a person types arrives twice: as blocks, which say what is bold, and as text with marks, in which a star
// that was typed looks like one that makes bold. So the blocks come first. Apps send blocks of other kinds, and attachments.
import { slackMrkdwnToMarkdown, unescapeSlackText } from '@chat-adapter/slack/format';

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
export interface SlackBlock {
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

export interface SlackAttachment {
  pretext?: string;
  title?: string;
  title_link?: string;
  text?: string;
  fields?: { title?: string; value?: string }[];
  fallback?: string;
  image_url?: string;
  blocks?: SlackBlock[];
  /** Of a message that is shared. */
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
export function isShared({ is_share: isShare, is_msg_unfurl: isMessage }: SlackAttachment): boolean {
  return isShare === true || isMessage === true;
}

/** What Slack or an app shows of an address in the text. */
export function isPreview(attachment: SlackAttachment): boolean {
  const { is_app_unfurl: isOfApp, from_url: from, original_url: original } = attachment;
  return !isShared(attachment) && (isOfApp === true || from !== undefined || original !== undefined);
}

/** What the sender has written; `isTyped`: as a person types it, not as an app lays it out. */
export function readOwnText(
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

export function attachmentToMarkdown(attachment: SlackAttachment): string {
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

/** Code, then what is bold, then what is struck, then marks that are none: a mark stands at the edge of a word. */
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

/** What Slack would take for a mention or for a link with another text. */
const TOKEN =
  /<(?=!(?:here|channel|everyone|subteam|date)\b|@[UWB][A-Z0-9]+[|>]|#[CDG][A-Z0-9]+[|>]|[A-Za-z][\w+.-]*:[^\s<>|]*\|)/g;

/** Markdown of an agent without the marks of Slack, by which it would notify people or hide where a link leads. */
export function escapeTokens(markdown: string): string {
  return markdown.replaceAll(TOKEN, '&lt;');
}
