// Some servers do not refuse a prompt that is too long: they drop its front, and answer without the
// instructions. It shows in the tokens that they report to have read.
import type { ContentBlock } from '../../../core/content.ts';
import { CHARS_PER_TOKEN } from '../../../core/content-size.ts';
import type { ModelMessage, ModelRequest } from '../../../core/model-request.ts';

/** Below this an estimate says too little. */
const TOKENS_MIN = 4_000;
/** Less than this part of a prompt was read: no tokenizer is so much better than the estimate. */
const SHARE_MIN = 0.5;
/** More than this part of what is new was read. */
const SHARE_MAX = 2;
/** What a template puts around messages, which counts in short ones. */
const TEMPLATE_TOKENS = 64;
/** More than an image has in most models. */
const IMAGE_TOKENS_MAX = 4_000;

export interface ReadPrompt {
  sentBytes: number;
  readTokens: number | undefined;
  /**
   * The first message that is new since the last answer of this server; absent: the one after the
   * last answer.
   */
  newFrom?: number;
}

/**
 * About how many tokens the prompt of a request has, when its front was dropped; null: it was not,
 * as far as can be seen.
 */
export function findDroppedPrompt(
  request: ModelRequest,
  { sentBytes, readTokens, newFrom }: ReadPrompt,
): number | null {
  if (readTokens === undefined || readTokens <= 0) return null;
  // A prompt has no more characters than its request has bytes, so most prompts need no closer
  // look.
  if (readTokens >= (sentBytes / CHARS_PER_TOKEN) * SHARE_MIN) return null;
  const { system, tools, messages } = request;
  const texts = [...system.map(({ text }) => text), ...tools.map((tool) => JSON.stringify(tool)), ...textsIn(messages)];
  const tokens = Math.floor(countChanges(texts) / CHARS_PER_TOKEN);
  if (tokens < TOKENS_MIN || readTokens >= tokens * SHARE_MIN) return null;
  const from = newFrom ?? messages.findLastIndex(({ role }) => role === 'assistant') + 1;
  return from > 0 && isCountOfNew(messages, from, readTokens) ? null : tokens;
}

/**
 * True when a server that counts only what its cache did not have has read about this many tokens.
 * It may have to read its last answer again, of which the request has no thoughts.
 */
function isCountOfNew(messages: readonly ModelMessage[], from: number, readTokens: number): boolean {
  const added = messages.slice(from);
  const bytes = textsIn(messages.slice(from - 1)).reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const images = added.flatMap(({ content }) => content.flatMap(imagesOf)).length;
  const max = (SHARE_MAX * bytes) / CHARS_PER_TOKEN + TEMPLATE_TOKENS + images * IMAGE_TOKENS_MAX;
  const min = (SHARE_MIN * countChanges(textsIn(added))) / CHARS_PER_TOKEN;
  return readTokens >= min && readTokens <= max;
}

function imagesOf(block: ContentBlock): ContentBlock[] {
  if (block.type === 'tool_result' && typeof block.content !== 'string') return block.content.flatMap(imagesOf);
  return block.type === 'image' ? [block] : [];
}

function textsIn(messages: readonly ModelMessage[]): string[] {
  return messages.flatMap(({ content }) => content.flatMap(textsOf));
}

function textsOf(block: ContentBlock): string[] {
  switch (block.type) {
    case 'text':
      return [block.text];
    case 'tool_use':
      return [JSON.stringify(block.input ?? null)];
    case 'tool_result':
      return typeof block.content === 'string' ? [block.content] : block.content.flatMap(textsOf);
    // Images count differently on each server, and thinking may be left out.
    case 'image':
    case 'thinking':
    case 'redacted_thinking':
      return [];
    default:
      return block satisfies never;
  }
}

/**
 * Characters that differ from the one before: tokenizers have single tokens for long runs of spaces
 * and dashes.
 */
function countChanges(texts: readonly string[]): number {
  let count = 0;
  for (const text of texts) {
    let before = -1;
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code !== before) count += 1;
      before = code;
    }
  }
  return count;
}
