// Links whose addresses are in definitions, as links with their addresses: most platforms know no definitions, and a text is cut between the two.
import type { MarkdownNode } from './markdown-tokens.ts';

const REFERENCE = /^(?:link|image)Reference$/;

/** The blocks with the addresses in place. A definition that is used goes; others stay: they are the only place of their address. */
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
