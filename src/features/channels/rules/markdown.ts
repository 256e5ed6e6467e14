// What must be known of a text in markdown before a platform is sent it: its tree with the
// addresses of all links, whether it takes a parser too long, and whether people see anything of
// it.

/** A node of a syntax tree in the form of mdast. */
export interface MarkdownNode {
  type: string;
  children?: MarkdownNode[];
  value?: string;
  position?: { start: { offset?: number }; end: { offset?: number } };
  [field: string]: unknown;
}

const REFERENCE = /^(?:link|image)Reference$/;

/**
 * The blocks with the addresses of links in place: most platforms know no definitions, and a text
 * is cut between the two. A definition that is used goes; others stay: they are the only place of
 * their address.
 */
export function resolveReferences(blocks: readonly MarkdownNode[]): MarkdownNode[] {
  const definitions = new Map<unknown, MarkdownNode>();
  const used = new Set<unknown>();
  for (const block of blocks) collect(block, definitions, used);
  if (definitions.size === 0) return [...blocks];
  return blocks.flatMap((block) => resolve(block, definitions, used));
}

function collect(node: MarkdownNode, definitions: Map<unknown, MarkdownNode>, used: Set<unknown>): void {
  const { type, identifier, children = [] } = node;
  if (type === 'definition' && !definitions.has(identifier)) definitions.set(identifier, node);
  if (REFERENCE.test(type)) used.add(identifier);
  for (const child of children) collect(child, definitions, used);
}

function resolve(
  node: MarkdownNode,
  definitions: ReadonlyMap<unknown, MarkdownNode>,
  used: ReadonlySet<unknown>,
): MarkdownNode[] {
  const definition = definitions.get(node['identifier']);
  if (node === definition) return used.has(node['identifier']) ? [] : [node];
  const target = REFERENCE.test(node.type) ? definition : undefined;
  const children = node.children?.flatMap((child) => resolve(child, definitions, used));
  const isSame = children?.every((child, at) => child === node.children?.[at]) ?? true;
  if (target === undefined && isSame && children?.length === node.children?.length) return [node];
  const { position: _, ...rest } = node;
  const inner =
    target !== undefined && isNumber(node) ? [{ type: 'text', value: `[${String(node['label'])}]` }] : children;
  return [
    {
      ...rest,
      ...(target && { type: node.type.replace('Reference', ''), url: target['url'], title: target['title'] }),
      ...(inner === undefined ? {} : { children: inner }),
    },
  ];
}

/** `[1]`, which is the number of a source: without its brackets it would be one of the sentence. */
function isNumber({ type, referenceType, label }: MarkdownNode): boolean {
  return type === 'linkReference' && referenceType === 'shortcut' && /^\d+$/.test(String(label));
}

const DEPTH_MAX = 40;
const MARKS_MAX = 1000;

/**
 * True for a text that would take a parser too long: the time grows with the square of how deep
 * blocks lie in each other, and of how many marks one block has that are not closed at once. Such a
 * text is sent as a file. Takes time in proportion to its length.
 */
export function isCostlyMarkdown(markdown: string): boolean {
  let marks = 0;
  for (const line of markdown.split('\n')) {
    const depth = depthOf(line);
    if (depth > DEPTH_MAX) return true;
    marks = line.trim() === '' ? 0 : marks + marksOf(line) + depth;
    if (marks > MARKS_MAX) return true;
  }
  return false;
}

/** How many quotes and lists a line opens, at most. */
function depthOf(line: string): number {
  const head = /^[\s>+*\-\d.)]*/.exec(line)?.[0] ?? '';
  return head.match(/>|[-+*](?=\s)|\d{1,9}[.)](?=\s)/g)?.length ?? 0;
}

/**
 * Marks around a piece without marks: the end finds its beginning at once, so they do not count.
 */
const CLOSED =
  /(?<![\p{L}\p{N}*_~])(\*{1,3}|_{1,3}|~~)(?=[^\s*_~])(?:[^*_~]|(?<=[\p{L}\p{N}])_(?=[\p{L}\p{N}]))*(?<=[^\s*_~])\1(?![\p{L}\p{N}*_~])/gu;

function marksOf(line: string): number {
  return line.replaceAll(CLOSED, '').match(/\*+|~+|(?<![\p{L}\p{N}])_+|_+(?![\p{L}\p{N}_])/gu)?.length ?? 0;
}

/** Spaces and characters without a shape are not seen; U+2800 is an empty pattern of Braille. */
const VISIBLE = /[^\s\p{Cc}\p{Cf}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u;

/**
 * False for a text of spaces and characters that nothing is shown for. Platforms refuse it as
 * empty.
 */
export function hasVisible(text: string): boolean {
  return VISIBLE.test(text);
}
