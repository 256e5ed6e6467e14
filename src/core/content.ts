// The content blocks of a transcript, in the shapes of Anthropic's Messages API. They are stored as
// they are, byte for byte (PostgreSQL `json`), so that a replayed tool call stays identical for the
// provider's prompt cache.
import { storableValue } from './text.ts';

/**
 * Which model wrote a block, and what its provider needs back with it: the id of an item, encrypted
 * reasoning, a signature. Only a request to the same model of the same provider shows it.
 */
export interface BlockOrigin {
  provider: string;
  model: string;
  /** In the words of the transport. */
  metadata: Record<string, unknown>;
  /** The id that the provider gave a call; absent: the one of the block. */
  callId?: string;
}

export interface TextBlock {
  type: 'text';
  text: string;
  origin?: BlockOrigin;
}

export interface ImageBlock {
  type: 'image';
  source: { type: 'base64'; media_type: string; data: string };
}

export interface ToolUseBlock {
  type: 'tool_use';
  id: string;
  name: string;
  input: unknown;
  origin?: BlockOrigin;
}

export interface ToolResultBlock {
  type: 'tool_result';
  tool_use_id: string;
  content: string | (TextBlock | ImageBlock)[];
  is_error?: boolean;
}

export interface ThinkingBlock {
  type: 'thinking';
  thinking: string;
  signature: string;
  origin?: BlockOrigin;
}

export interface RedactedThinkingBlock {
  type: 'redacted_thinking';
  data: string;
}

/** Any block that a transcript entry may hold. */
export type ContentBlock =
  | TextBlock
  | ImageBlock
  | ToolUseBlock
  | ToolResultBlock
  | ThinkingBlock
  | RedactedThinkingBlock;

/** The text of all text blocks, joined by a newline; a reply is made from it. */
export function joinText(content: readonly ContentBlock[]): string {
  return content
    .filter((block): block is TextBlock => block.type === 'text')
    .map((block) => block.text)
    .join('\n');
}

export function textOfResult({ content }: ToolResultBlock): string {
  return typeof content === 'string' ? content : joinText(content);
}

/**
 * The items with each of them put through `change`; the same list when none becomes another one.
 */
export function changeEach<Item>(items: readonly Item[], change: (item: Item) => Item): readonly Item[] {
  for (const [at, item] of items.entries()) {
    const changed = change(item);
    if (changed !== item) return [...items.slice(0, at), changed, ...items.slice(at + 1).map((rest) => change(rest))];
  }
  return items;
}

/**
 * A message or an entry with each of its blocks put through `change`; the same object when none
 * becomes another one.
 */
export function changeContent<Holder extends { content: ContentBlock[] }>(
  holder: Holder,
  change: (block: ContentBlock) => ContentBlock,
): Holder {
  const content = changeEach(holder.content, change);
  return content === holder.content ? holder : { ...holder, content: [...content] };
}

/** The tool calls of an assistant entry, in source order. */
export function listToolUses(content: readonly ContentBlock[]): ToolUseBlock[] {
  return content.filter((block): block is ToolUseBlock => block.type === 'tool_use');
}

export function isThinking(block: { type: string } | undefined): block is ThinkingBlock | RedactedThinkingBlock {
  return block?.type === 'thinking' || block?.type === 'redacted_thinking';
}

/**
 * A thought without halves of characters and NULs. Where it had some, its signature is of another
 * text, and goes.
 */
export function mendThought(block: ThinkingBlock | RedactedThinkingBlock): ThinkingBlock | RedactedThinkingBlock {
  const mended = storableValue(block);
  if (mended === block || mended.type !== 'thinking') return mended;
  return { type: 'thinking', thinking: mended.thinking, signature: '' };
}
