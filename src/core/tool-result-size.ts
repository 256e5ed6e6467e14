// How much of one tool result a model is shown. A result is cut once, when it is stored, to a share of the model's window; it keeps its
// start and its end. A model with a smaller window that takes up the transcript later is shown less of what is stored.
import { cutHead, cutTail } from './text.ts';
import { changeContent, changeEach, type ContentBlock, type ToolResultBlock } from './content.ts';
import type { ModelMessage } from './model-request.ts';

/** The largest number of characters of one stored result, for any window. */
export const RESULT_CHARS_MAX = 40_000;
/** Even the smallest window has room for this many. */
const RESULT_CHARS_MIN = 2_000;
/** The share of the window that one stored result may fill, at four characters a token. */
const STORED_SHARE = 0.3;
const CHARS_PER_TOKEN = 4;
/** The share of the window that one result may fill in a request. Results are dense: at two characters a token. */
const SHOWN_SHARE = 0.5;
const RESULT_CHARS_PER_TOKEN = 2;

/** How much of the room goes to the start of a text that is cut; the rest to its end. */
const HEAD_SHARE = 0.75;
/** More than the note of a cut adds. */
const NOTE_CHARS_MAX = 100;

/** The most characters of a result that is stored for a model with this window. */
export function storedCharsMax(contextTokens: number): number {
  const share = Math.floor(contextTokens * STORED_SHARE) * CHARS_PER_TOKEN;
  return Math.max(RESULT_CHARS_MIN, Math.min(share, RESULT_CHARS_MAX));
}

/** The most characters of a result in a request to a model with this window; null: nothing that is stored is longer. */
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

/** The messages with their results truncated to `charsMax` characters each; those with nothing to truncate stay the same objects. */
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
