// Some servers do not refuse a prompt that is too long: they drop its front, and answer without the instructions. It shows in the tokens that they
// report to have read.
import type { ContentBlock } from '../../../core/content.ts';
import type { ModelRequest } from '../../../core/model-request.ts';
import { CHARS_PER_TOKEN } from '../../../core/token-estimate.ts';

/** Below this an estimate says too little. */
const TOKENS_MIN = 4_000;
/** Less than this part of a prompt was read: no tokenizer is so much better than the estimate. */
const SHARE_MIN = 0.5;

/** About how many tokens the prompt of a request has, when its front was dropped; null: it was not, as far as can be seen. */
export function findDroppedPrompt(
  request: ModelRequest,
  { sentBytes, readTokens }: { sentBytes: number; readTokens: number | undefined },
): number | null {
  if (readTokens === undefined || readTokens <= 0) return null;
  // A prompt has no more characters than its request has bytes, so most prompts need no closer look.
  if (readTokens >= (sentBytes / CHARS_PER_TOKEN) * SHARE_MIN) return null;
  const chars = countChanges([
    ...request.system.map(({ text }) => text),
    ...request.tools.map((tool) => JSON.stringify(tool)),
    ...request.messages.flatMap(({ content }) => content.flatMap(textsOf)),
  ]);
  const tokens = Math.floor(chars / CHARS_PER_TOKEN);
  return tokens >= TOKENS_MIN && readTokens < tokens * SHARE_MIN ? tokens : null;
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

/** Characters that differ from the one before: tokenizers have single tokens for long runs of spaces and dashes. */
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
