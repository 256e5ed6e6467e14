// About how many tokens something will cost, counted in characters without asking a provider: good enough to decide when to prune
// or to compact, always the same for the same content, and cheap. What a provider reports is used for everything that is billed.
import type { ContentBlock } from './content.ts';
import type { ModelMessage, ModelRequest } from './model-request.ts';

/** Characters of prose that make a token, about. */
export const CHARS_PER_TOKEN = 4;
/** Tool results are dense: paths, numbers, code. */
const RESULT_CHARS_PER_TOKEN = 2;
/** An image counts as this many characters of prose, at any size. */
const IMAGE_CHARS = 8_000;

export function estimateTextTokens(text: string): number {
  return Math.ceil(text.length / CHARS_PER_TOKEN);
}

/** Tokens of messages. The estimate of a block is cached, so extending a history costs only the new blocks. */
export function estimateTokens(messages: readonly Pick<ModelMessage, 'content'>[]): number {
  return Math.ceil(estimateChars(messages) / CHARS_PER_TOKEN);
}

/** The same in characters of prose. */
export function estimateChars(messages: readonly Pick<ModelMessage, 'content'>[]): number {
  let chars = 0;
  for (const { content } of messages) for (const block of content) chars += charsOfBlock(block);
  return chars;
}

/** Characters of prose that cost as much as a block: a character of a tool result counts twice. */
export function charsOfBlock(block: ContentBlock): number {
  switch (block.type) {
    case 'text':
      return block.text.length;
    case 'image':
      return IMAGE_CHARS;
    case 'thinking':
      return block.thinking.length;
    case 'redacted_thinking':
      return block.data.length;
    case 'tool_use':
      return block.name.length + inputChars(block);
    case 'tool_result':
      return charsOfResult(block.content);
    default:
      return block satisfies never;
  }
}

function charsOfResult(content: Extract<ContentBlock, { type: 'tool_result' }>['content']): number {
  const factor = CHARS_PER_TOKEN / RESULT_CHARS_PER_TOKEN;
  if (typeof content === 'string') return content.length * factor;
  let chars = 0;
  for (const part of content) chars += part.type === 'text' ? part.text.length * factor : IMAGE_CHARS;
  return chars;
}

/** Inputs are the only content whose length is not known without writing it out. */
function inputChars(block: Extract<ContentBlock, { type: 'tool_use' }>): number {
  return JSON.stringify(block.input ?? null).length;
}

type RequestHead = Pick<ModelRequest, 'system' | 'tools' | 'responseFormat'>;

/** Tokens of the tools, the system prompt and the form of the answer, and of a message with this text. */
export function estimatePromptTokens({ system, tools, responseFormat }: RequestHead, message = ''): number {
  const systemChars = system.reduce((chars, { text }) => chars + text.length, 0);
  const toolChars = tools.length === 0 ? 0 : JSON.stringify(tools).length;
  const formatChars = responseFormat === undefined ? 0 : JSON.stringify(responseFormat.schema).length;
  return Math.ceil((systemChars + toolChars + formatChars + message.length) / CHARS_PER_TOKEN);
}

/** Tokens of what all conversations of the agent begin with: the tools, and the system prompt up to its marker. */
export function estimatePrefixTokens({ system, tools }: RequestHead): number {
  const last = system.findLastIndex(({ cache_control: marker }) => marker !== undefined);
  return estimatePromptTokens({ system: system.slice(0, last + 1), tools });
}
