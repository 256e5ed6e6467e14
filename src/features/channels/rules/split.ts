// Divides a text in markdown into messages of a platform, by its syntax tree. What is cut is closed and opened again: a fence with its language,
// bold text, a list with its numbers, a table with its head. Blocks that are not cut stay as they were written.
import {
  buildTree,
  ENDS,
  expandToken,
  isBetweenCharacters,
  tokensOf,
  type MarkdownNode,
  type MarkdownToken,
} from './markdown-tokens.ts';
import { resolveReferences } from './resolve-references.ts';

/** A text that would need more messages than this is sent as a file. */
export const PARTS_MAX = 10;

/** How much one message may hold, in the platform's own count: 0 for a text of which nothing is seen. Every single character must fit. */
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
  /** Those that fit into no message are replaced by smaller ones. */
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

/** How many tokens from one on have this size together, at least one: as the number of the token after them. */
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

/** A block as it was written, with the spaces before its first line; null for one that was not written so. */
function sourceOf(block: MarkdownNode | undefined, markdown: string): string | null {
  let start = block?.position?.start.offset;
  const end = block?.position?.end.offset;
  if (start === undefined || end === undefined) return null;
  while (start > 0 && /[ \t]/.test(markdown.charAt(start - 1))) start -= 1;
  return markdown.slice(start, end);
}
