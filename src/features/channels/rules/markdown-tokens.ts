// Markdown as a row of tokens between which a text may be cut: words, lines of code, rows of tables, whole links. Each knows the nodes around it, so
// that a run of tokens can be built into a tree again, in which everything that was cut is closed, and opened again in the next.

/** A node of a syntax tree in the form of mdast. */
export interface MarkdownNode {
  type: string;
  children?: MarkdownNode[];
  value?: string;
  position?: { start: { offset?: number }; end: { offset?: number } };
  [field: string]: unknown;
}

/** How good a place the end of a token is for a cut. */
export const ENDS = { letter: 0, word: 1, sentence: 2, line: 3, item: 4, block: 5 } as const;

export interface MarkdownToken {
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
 * Smaller tokens for one that fits into no message; the same token if there are none: a character that people see as one. A row of a table becomes
 * text in a fence, a link that is cut is whole in both parts.
 */
export function expandToken(token: MarkdownToken): MarkdownToken[] {
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
export function isBetweenCharacters(one: MarkdownToken, other: MarkdownToken): boolean {
  const [head, tail] = [one, other].map(({ leaf, value }) => value ?? textOf(leaf));
  if (!head || !tail) return true;
  const at = head.length;
  return graphemes.segment(head + tail).containing(at)?.index === at;
}

/** The tree of a run of tokens that a text was cut into, below one block. */
export function buildTree(tokens: readonly MarkdownToken[]): MarkdownNode {
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

/** A node without its children, for those from `first` on: a list counts on, a table begins with its head. */
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
