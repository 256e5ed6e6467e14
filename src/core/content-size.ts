// How long content is: in tokens, estimated in characters without asking a provider (good enough to
// decide when to prune or to compact, always the same for the same content, and cheap), and how
// much of a tool result is stored and shown. What a provider reports is used for everything that is
// billed.
import { cutHead, cutTail } from './text.ts';
import type { ModelMessage, ModelRequest } from './model-request.ts';
import { type ToolResultBlock, type ContentBlock, changeEach, changeContent } from './content.ts';

/** Characters of prose that make a token, about. */
export const CHARS_PER_TOKEN = 4;

/** Tool results are dense: paths, numbers, code. */
const RESULT_CHARS_PER_TOKEN = 2;

/** An image counts as this many characters of prose, at any size. */
const IMAGE_CHARS = 8_000;

export function estimateTextTokens(text: string): number {
  return Math.ceil(text.length / CHARS_PER_TOKEN);
}

/**
 * Tokens of messages. The estimate of a block is cached, so extending a history costs only the new
 * blocks.
 */
export function estimateTokens(messages: readonly Pick<ModelMessage, 'content'>[]): number {
  return Math.ceil(estimateChars(messages) / CHARS_PER_TOKEN);
}

/** Estimates the size in characters of prose. */
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

/**
 * Tokens of the tools, the system prompt and the form of the answer, and of a message with this
 * text.
 */
export function estimatePromptTokens({ system, tools, responseFormat }: RequestHead, message = ''): number {
  const systemChars = system.reduce((chars, { text }) => chars + text.length, 0);
  const toolChars = tools.length === 0 ? 0 : JSON.stringify(tools).length;
  const formatChars = responseFormat === undefined ? 0 : JSON.stringify(responseFormat.schema).length;
  return Math.ceil((systemChars + toolChars + formatChars + message.length) / CHARS_PER_TOKEN);
}

/**
 * Tokens of what all conversations of the agent begin with: the tools, and the system prompt up to
 * its marker.
 */
export function estimatePrefixTokens({ system, tools }: RequestHead): number {
  const last = system.findLastIndex(({ cache_control: marker }) => marker !== undefined);
  return estimatePromptTokens({ system: system.slice(0, last + 1), tools });
}

// How much of one tool result a model is shown. A result is cut once, when it is stored, to a share
// of the model's window; it keeps its start and its end. A model with a smaller window that takes
// up the transcript later is shown less of what is stored.

/** The largest number of characters of one stored result, for any window. */
export const RESULT_CHARS_MAX = 40_000;

/** Even the smallest window has room for this many. */
const RESULT_CHARS_MIN = 2_000;

/** The share of the window that one stored result may fill, at the length of prose. */
const STORED_SHARE = 0.3;

/** The share of the window that one result may fill in a request. */
const SHOWN_SHARE = 0.5;

/** How much of the room goes to the start of a text that is cut; the rest to its end. */
const HEAD_SHARE = 0.75;

/** More than the note of a cut adds. */
const NOTE_CHARS_MAX = 100;

/** The most characters of a result that is stored for a model with this window. */
export function storedCharsMax(contextTokens: number): number {
  const share = Math.floor(contextTokens * STORED_SHARE) * CHARS_PER_TOKEN;
  return Math.max(RESULT_CHARS_MIN, Math.min(share, RESULT_CHARS_MAX));
}

/**
 * The most characters of a result in a request to a model with this window; null: nothing that is
 * stored is longer.
 */
export function shownCharsMax(contextTokens: number): number | null {
  const share = Math.floor(contextTokens * SHOWN_SHARE) * RESULT_CHARS_PER_TOKEN;
  return share > RESULT_CHARS_MAX + NOTE_CHARS_MAX ? null : Math.max(RESULT_CHARS_MIN, share);
}

/** Start and end of a text that is too long, with a note of how much is missing between them. */
export function cutMiddle(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  const headChars = Math.floor(charsMax * HEAD_SHARE);
  const tailChars = charsMax - headChars;
  return `${cutHead(text, headChars)}\n[... ${text.length - charsMax} characters left out ...]\n${cutTail(text, tailChars)}`;
}

/**
 * The messages with their results truncated to `charsMax` characters each; those with nothing to
 * truncate stay the same objects.
 */
export function truncateResults(messages: ModelMessage[], charsMax: number): ModelMessage[] {
  const change = (block: ContentBlock): ContentBlock =>
    block.type === 'tool_result' ? truncate(block, charsMax) : block;
  return messages.map((message) => changeContent(message, change));
}

function truncate(block: ToolResultBlock, charsMax: number): ToolResultBlock {
  if (typeof block.content === 'string') {
    return block.content.length <= charsMax ? block : { ...block, content: truncated(block.content, charsMax) };
  }
  let left = charsMax;
  const content = changeEach(block.content, (part) => {
    if (part.type !== 'text') return part;
    const text = truncated(part.text, left);
    left = Math.max(0, left - part.text.length);
    return text === part.text ? part : { ...part, text };
  });
  return content === block.content ? block : { ...block, content: [...content] };
}

function truncated(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  return `${cutHead(text, charsMax)}[... ${text.length - charsMax} more characters truncated]`;
}
