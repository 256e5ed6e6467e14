// What may stand in a message at all, block by block: an ordered list of passes over the content of one entry. Each takes the
// blocks and returns them, the same array when it has nothing to change; none looks beyond its entry.
import { isBlank } from '../blank-text.ts';
import type { ContentBlock, ImageBlock, TextBlock, ToolResultBlock } from '../content.ts';

type Role = 'user' | 'assistant';

/** A pass over one entry's content. Pure; idempotent; returns its argument when nothing is to change. */
type ContentPass = (content: readonly ContentBlock[], role: Role) => readonly ContentBlock[];

// The order matters where one pass leaves what the next takes out.
const PASSES: readonly ContentPass[] = [
  keepBlocksOfRole,
  dropBrokenToolCalls,
  replaceEmptyImages,
  dropBlankText,
  dropTrailingThinking,
];

const BLOCKS_OF: Readonly<Record<Role, ReadonlySet<ContentBlock['type']>>> = {
  user: new Set(['text', 'image', 'tool_result']),
  assistant: new Set(['text', 'thinking', 'redacted_thinking', 'tool_use']),
};

const CALL_ID = /^[a-zA-Z0-9_-]+$/;
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const EMPTY_IMAGE: TextBlock = { type: 'text', text: '[session:history] omitted empty image payload' };

/** The blocks of an entry that a provider accepts; possibly none. */
export function cleanContent(content: readonly ContentBlock[], role: Role): readonly ContentBlock[] {
  return PASSES.reduce((blocks, pass) => pass(blocks, role), content);
}

/** True when a call can be sent to a provider: it has a well-formed id and name, and its input is an object. */
export function isWholeToolCall({ id, name, input }: { id: unknown; name: unknown; input: unknown }): boolean {
  if (typeof id !== 'string' || !CALL_ID.test(id) || typeof name !== 'string' || !TOOL_NAME.test(name)) return false;
  return typeof input === 'object' && input !== null && !Array.isArray(input);
}

function keepBlocksOfRole(content: readonly ContentBlock[], role: Role): readonly ContentBlock[] {
  return keep(content, (block) => BLOCKS_OF[role].has(block.type));
}

// A result without its call goes later, when the calls are paired.
function dropBrokenToolCalls(content: readonly ContentBlock[]): readonly ContentBlock[] {
  return keep(content, (block) => block.type !== 'tool_use' || isWholeToolCall(block));
}

function replaceEmptyImages(content: readonly ContentBlock[]): readonly ContentBlock[] {
  return change(content, (block) => {
    if (block.type === 'image') return withoutEmptyImage(block);
    if (block.type !== 'tool_result' || typeof block.content === 'string') return block;
    const inner = change(block.content, withoutEmptyImage);
    return inner === block.content ? block : { ...block, content: [...inner] };
  });
}

function withoutEmptyImage<Block extends TextBlock | ImageBlock>(block: Block): Block | TextBlock {
  return block.type === 'image' && block.source.data === '' ? EMPTY_IMAGE : block;
}

function dropBlankText(content: readonly ContentBlock[]): readonly ContentBlock[] {
  const kept = keep(content, (block) => block.type !== 'text' || !isBlank(block.text));
  return change(kept, (block) => (block.type === 'tool_result' ? withoutBlankText(block) : block));
}

function withoutBlankText(block: ToolResultBlock): ToolResultBlock {
  if (typeof block.content === 'string') return block;
  const inner = keep(block.content, (part) => part.type !== 'text' || !isBlank(part.text));
  return inner === block.content ? block : { ...block, content: [...inner] };
}

// Thinking needs its signature, and something after it.
function dropTrailingThinking(content: readonly ContentBlock[]): readonly ContentBlock[] {
  const signed = keep(content, (block) => block.type !== 'thinking' || block.signature !== '');
  const last = signed.findLastIndex((block) => block.type !== 'thinking' && block.type !== 'redacted_thinking');
  return last === signed.length - 1 ? signed : signed.slice(0, last + 1);
}

function keep<Item>(items: readonly Item[], isKept: (item: Item) => boolean): readonly Item[] {
  return items.every(isKept) ? items : items.filter(isKept);
}

function change<Item>(items: readonly Item[], of: (item: Item) => Item): readonly Item[] {
  const changed = items.map(of);
  return changed.every((item, index) => item === items[index]) ? items : changed;
}
