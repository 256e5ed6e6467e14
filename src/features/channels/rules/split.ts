// Divides a text in markdown into messages of a platform, by its syntax tree. What is cut is closed
// and opened again: a fence with its language, bold text, a list with its numbers, a table with its
// head. Blocks that are not cut stay as they were written.
import { resolveReferences, type MarkdownNode } from './markdown.ts';

/** A text that would need more messages than this is sent as a file. */
export const PARTS_MAX = 10;

/**
 * How much one message may hold, in the platform's own count: 0 for a text of which nothing is
 * seen. Every single character must fit.
 */
export interface TextLimit {
  max: number;
  measure: (markdown: string) => number;
}

/** Reads and writes markdown. */
export interface MarkdownReader {
  parse: (markdown: string) => MarkdownNode;
  stringify: (root: MarkdownNode) => string;
}

/** Cuts are searched in the last part of what fits, from this share of it on. */
const SHARE_KEPT = 0.5;
/** A message that is as full as this is not made fuller. */
const SHARE_FILLED = 0.8;
const TRIES_MAX = 12;

/** The parts, each within the limit and none empty; null if there would be more than `partsMax`. */
export function splitMarkdown(
  markdown: string,
  { max, measure }: TextLimit,
  { parse, stringify }: MarkdownReader,
  partsMax = PARTS_MAX,
): string[] | null {
  if (measure(markdown) <= max) return [markdown];
  const blocks = resolveReferences(parse(markdown).children ?? []);
  const text = { markdown, stringify, tokens: tokensOf(blocks), changed: new Set<MarkdownNode | undefined>() };
  const parts: string[] = [];
  for (let from = 0; from < text.tokens.length;) {
    if (parts.length === partsMax) return null;
    const to = findCut(text, from, { max, measure });
    const part = render(text, from, to);
    if (part !== '' && measure(part) > 0) parts.push(part);
    from = to;
  }
  return parts;
}

interface Text {
  markdown: string;
  stringify: MarkdownReader['stringify'];
  /** The tokens; one that fits into no message is replaced by smaller ones. */
  tokens: MarkdownToken[];
  /** The blocks that had one of those. */
  changed: Set<MarkdownNode | undefined>;
}

/** The number of the token before which the message that begins with `from` ends. */
function findCut(text: Text, from: number, { max, measure }: TextLimit): number {
  const { tokens } = text;
  let most = from;
  let tooMany = tokens.length + 1;
  let guess = countFor(tokens, from, max);
  for (let tries = 0; tries < TRIES_MAX || most === from; tries += 1) {
    const measured = measure(render(text, from, guess));
    if (measured <= max) most = guess;
    else tooMany = guess;
    if (most + 1 >= tooMany || most === tokens.length || (measured <= max && measured >= max * SHARE_FILLED)) {
      if (most > from) break;
      // Not even one token fits.
      const first = tokens[from];
      const smaller = first === undefined ? [] : expandToken(first);
      if (smaller.length < 2 && smaller[0] === first) return from + 1;
      text.changed.add(blockOf(first));
      tokens.splice(from, 1, ...smaller);
      tooMany = tokens.length + 1;
      guess = countFor(tokens, from, max);
      continue;
    }
    const size = tokens.slice(from, guess).reduce((sum, token) => sum + token.size, 0);
    const target = countFor(tokens, from, (size * max * 0.95) / Math.max(1, measured));
    guess = Math.min(Math.max(target, most + 1), tooMany - 1);
  }
  if (most === tokens.length) return most;
  let place = choosePlace(tokens, from, most);
  // Less text may need more marks.
  while (place < most && place > from + 1 && measure(render(text, from, place)) > max) place -= 1;
  return place;
}

/**
 * How many tokens from one on have this size together, at least one: as the number of the token
 * after them.
 */
function countFor(tokens: readonly MarkdownToken[], from: number, size: number): number {
  let to = from;
  for (let left = size; to < tokens.length && left >= 0; to += 1) left -= tokens[to]?.size ?? 0;
  return Math.max(from + 1, to - 1);
}

/** The best place for a cut that is not too near to the beginning. */
function choosePlace(tokens: readonly MarkdownToken[], from: number, most: number): number {
  const size = tokens.slice(from, most).reduce((sum, token) => sum + token.size, 0);
  let best = most;
  let bestEnd = -1;
  for (let [at, left] = [most, size]; at > from && left >= size * SHARE_KEPT; at -= 1) {
    const token = tokens[at - 1];
    const next = tokens[at];
    if (token === undefined || next === undefined) break;
    const end = token.end > ENDS.letter || isBetweenCharacters(token, next) ? token.end : -1;
    if (end > bestEnd) [best, bestEnd] = [at, end];
    if (end === ENDS.block) break;
    left -= token.size;
  }
  return best;
}

/** The text of tokens: whole blocks as they were written, cut ones from their trees. */
function render({ markdown, stringify, tokens, changed }: Text, from: number, to: number): string {
  if (from === 0 && to === tokens.length) return markdown.trim();
  const pieces: string[] = [];
  for (let at = from; at < to;) {
    const block = blockOf(tokens[at]);
    let end = at + 1;
    while (end < to && blockOf(tokens[end]) === block) end += 1;
    const isWhole = blockOf(tokens[at - 1]) !== block && blockOf(tokens[end]) !== block && !changed.has(block);
    pieces.push((isWhole ? sourceOf(block, markdown) : null) ?? stringify(buildTree(tokens.slice(at, end))).trimEnd());
    at = end;
  }
  return pieces.filter((piece) => piece !== '').join('\n\n');
}

function blockOf(token: MarkdownToken | undefined): MarkdownNode | undefined {
  return token?.path[0] ?? token?.leaf;
}

/**
 * A block as it was written, with the spaces before its first line; null for one that was not
 * written so.
 */
function sourceOf(block: MarkdownNode | undefined, markdown: string): string | null {
  let start = block?.position?.start.offset;
  const end = block?.position?.end.offset;
  if (start === undefined || end === undefined) return null;
  while (start > 0 && /[ \t]/.test(markdown.charAt(start - 1))) start -= 1;
  return markdown.slice(start, end);
}

// A text as a row of tokens between which it may be cut: words, lines of code, rows of tables,
// whole links. Each knows the nodes around it, so that a run of tokens can be built into a tree
// again, in which everything that was cut is closed, and opened again in the next.

/** How good a place the end of a token is for a cut. */
export const ENDS = { letter: 0, word: 1, sentence: 2, line: 3, item: 4, block: 5 } as const;

interface MarkdownToken {
  /** The nodes around it, the block of the text first. */
  path: readonly MarkdownNode[];
  /** What it is, or a part of. */
  leaf: MarkdownNode;
  /** Its part of the leaf's value; absent: it is the whole leaf. */
  value?: string;
  end: number;
  /** Roughly what it adds to the length of a message. */
  size: number;
}

const WORDS = /(?<=\s)(?=[^\s\p{M}\p{Grapheme_Extend}\p{Emoji_Modifier}\u200d])/u;
const LINES = /(?<=\n)/;
const BLOCKS = new Set(['blockquote', 'list', 'listItem', 'table', 'footnoteDefinition']);
/** What lies between two blocks. */
const GAP = 2;

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** The tokens of the blocks of a text, in their order. */
export function tokensOf(blocks: readonly MarkdownNode[]): MarkdownToken[] {
  const tokens: MarkdownToken[] = [];
  for (const block of blocks) addTokens(block, [], tokens, ENDS.block);
  return tokens;
}

function addTokens(node: MarkdownNode, path: readonly MarkdownNode[], tokens: MarkdownToken[], end: number): void {
  const { type, children = [], value } = node;
  const before = tokens.length;
  if (type === 'text' && value !== undefined) addPieces(value.split(WORDS), node, path, tokens);
  else if (type === 'code' && value !== undefined) addPieces(value.split(LINES), node, path, tokens);
  else if (type === 'html' && value !== undefined && path.some((around) => !BLOCKS.has(around.type)))
    // A tag in a line is text: at the beginning of a part it would make raw HTML of what follows.
    addPieces([value], { type: 'text', value }, path, tokens);
  else if (children.length === 0 || type === 'tableRow' || type === 'link')
    tokens.push({ path, leaf: node, end: type === 'break' ? ENDS.line : ENDS.letter, size: lengthOf(node) });
  else
    for (const child of children) addTokens(child, [...path, node], tokens, BLOCKS.has(type) ? ENDS.item : ENDS.letter);
  const last = tokens.at(-1);
  if (last === undefined || tokens.length === before || end < ENDS.item) return;
  // A heading stays with what follows it.
  last.end = type === 'heading' ? ENDS.letter : end;
  last.size += GAP;
}

function addPieces(values: string[], leaf: MarkdownNode, path: readonly MarkdownNode[], tokens: MarkdownToken[]): void {
  for (const value of values) tokens.push({ path, leaf, value, end: endOf(value), size: value.length });
}

function endOf(value: string): number {
  if (value.endsWith('\n')) return ENDS.line;
  const word = value.trimEnd();
  if (word.length === value.length) return ENDS.letter;
  return /[.!?…。！？:;]["')\]»”’]?$/u.test(word) ? ENDS.sentence : ENDS.word;
}

/**
 * Smaller tokens for one that fits into no message; the same token if there are none: a character
 * that people see as one. A row of a table becomes text in a fence, a link that is cut is whole in
 * both parts.
 */
function expandToken(token: MarkdownToken): MarkdownToken[] {
  const { path, leaf, value = leaf.value } = token;
  const smaller: MarkdownToken[] = [];
  if (leaf.type === 'tableRow') {
    const text = (leaf.children ?? []).map(textOf).join(' | ');
    addTokens({ type: 'code', value: text }, path.slice(0, -1), smaller, ENDS.item);
  } else if (leaf.type === 'link') {
    for (const child of leaf.children ?? []) addTokens(child, [...path, leaf], smaller, ENDS.letter);
  } else if (value !== undefined) {
    const isRaw = leaf.type === 'html' || leaf.type === 'image';
    const kept = isRaw ? { type: 'text', value } : leaf;
    // Raw HTML between blocks becomes a paragraph: it is text for every platform.
    const around =
      isRaw && path.every(({ type }) => BLOCKS.has(type)) ? [...path, { type: 'paragraph', children: [] }] : path;
    const pieces = value.split(WORDS);
    const letters =
      pieces.length > 1 && token.value === undefined
        ? pieces
        : Array.from(graphemes.segment(value), ({ segment }) => segment);
    addPieces(letters, kept, around, smaller);
  }
  const last = smaller.at(-1);
  if (last === undefined) return [token];
  last.end = Math.max(last.end, token.end);
  return smaller;
}

/** True if no character that people see as one lies across the end of the first token. */
function isBetweenCharacters(one: MarkdownToken, other: MarkdownToken): boolean {
  const [head, tail] = [one, other].map(({ leaf, value }) => value ?? textOf(leaf));
  if (!head || !tail) return true;
  const at = head.length;
  return graphemes.segment(head + tail).containing(at)?.index === at;
}

/** The tree of a run of tokens that a text was cut into, below one block. */
function buildTree(tokens: readonly MarkdownToken[]): MarkdownNode {
  const root: MarkdownNode = { type: 'root', children: [] };
  let open: { node: MarkdownNode; copy: MarkdownNode }[] = [];
  let last: MarkdownNode | undefined;
  for (const { path, leaf, value } of trimEnds(tokens)) {
    const shared = open.findIndex(({ node }, at) => node !== path[at]);
    if (shared >= 0) open = open.slice(0, shared);
    for (const [at, node] of path.entries()) {
      if (at < open.length) continue;
      const copy = copyOf(node, path[at + 1] ?? leaf);
      (open.at(-1)?.copy ?? root).children?.push(copy);
      open.push({ node, copy });
      last = undefined;
    }
    const siblings = (open.at(-1)?.copy ?? root).children ?? [];
    const sibling = siblings.at(-1);
    if (value !== undefined && sibling !== undefined && last === leaf) sibling.value = (sibling.value ?? '') + value;
    else siblings.push(value === undefined ? leaf : { ...leaf, value });
    last = leaf;
  }
  return root;
}

/**
 * A node without its children, for those from `first` on: a list counts on, a table begins with its
 * head.
 */
function copyOf(node: MarkdownNode, first: MarkdownNode): MarkdownNode {
  const copy: MarkdownNode = { ...node, children: [] };
  if (node.type === 'list' && node['ordered'] === true)
    copy['start'] = Number(node['start'] ?? 1) + Math.max(0, node.children?.indexOf(first) ?? 0);
  const head = node.type === 'table' ? node.children?.[0] : undefined;
  if (head !== undefined && head !== first) copy.children?.push(head);
  return copy;
}

/** Without the spaces and line breaks that a cut leaves at both ends. */
function trimEnds(tokens: readonly MarkdownToken[]): MarkdownToken[] {
  const isEmpty = ({ leaf, value }: MarkdownToken) =>
    leaf.type === 'break' || (leaf.type === 'text' && value?.trim() === '');
  const from = tokens.findIndex((token) => !isEmpty(token));
  const kept = from < 0 ? [] : tokens.slice(from, tokens.findLastIndex((token) => !isEmpty(token)) + 1);
  return kept.map((token, at) => {
    let { value } = token;
    if (value === undefined) return token;
    if (token.leaf.type === 'text') {
      if (at === 0) value = value.trimStart();
      if (at === kept.length - 1) value = value.trimEnd();
    } else if (token.leaf.type === 'code' && at === kept.length - 1) value = value.replace(/\n$/, '');
    return value === token.value ? token : { ...token, value };
  });
}

function lengthOf(node: MarkdownNode): number {
  return textOf(node).length;
}

function textOf({ value, children = [] }: MarkdownNode): string {
  return value ?? children.map(textOf).join('');
}
