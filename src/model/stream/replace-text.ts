// Replaces fixed texts in a text that may arrive in pieces. Wherever the pieces are cut, the result
// is that of the whole text: what might be the beginning of something to replace is held back until
// the next piece, or the end, decides. Each character is replaced at most once; inserted text is
// not searched again.
import { type TextFilter, isBlank } from '../../core/text.ts';
import { changeContent, changeEach, type ContentBlock } from '../../core/content.ts';
import { shownCharsMax, truncateResults } from '../../core/content-size.ts';
import type { ModelMessage, SystemBlock } from '../../core/model-request.ts';

/** A replacement of one text by another. `from` is not empty. */
export interface Replacement {
  from: string;
  to: string;
}

/** What plugins change in the texts of a model: before they are sent, and in the answers. */
export interface TextTransforms {
  input: readonly Replacement[];
  output: readonly Replacement[];
}

/**
 * The longest text that can be replaced, and how many there may be: they bound the text that is
 * held back and searched per piece.
 */
export const REPLACED_CHARS_MAX = 200;
export const REPLACEMENTS_MAX = 100;

/** A replacer that at each place prefers the first of `replacements` that fits. */
export function createReplacer(replacements: readonly Replacement[]): TextFilter {
  const { pattern, texts } = compile(replacements);
  let pending = '';

  const replace = (isWhole: boolean): string => {
    const text = pending;
    let done = '';
    let from = 0;
    for (;;) {
      pattern.lastIndex = from;
      const match = pattern.exec(text);
      // After a possible beginning whose end has not arrived yet, nothing is certain.
      const heldFrom = isWhole ? text.length : beginningAt(text, from, replacements);
      if (match === null || match.index >= heldFrom) {
        pending = text.slice(heldFrom);
        return done + text.slice(from, heldFrom);
      }
      done += text.slice(from, match.index) + (texts.get(match[0]) ?? '');
      from = match.index + match[0].length;
    }
  };

  return {
    push(piece) {
      pending += piece;
      return replace(false);
    },
    end: () => replace(true),
  };
}

/**
 * A function that replaces everything in a whole text; it returns its argument where there is
 * nothing to replace.
 */
export function replacingAll(replacements: readonly Replacement[]): (text: string) => string {
  const { pattern, texts } = compile(replacements);
  return (text) => text.replace(pattern, (found) => texts.get(found) ?? '');
}

function compile(replacements: readonly Replacement[]): { pattern: RegExp; texts: Map<string, string> } {
  const escaped = replacements.map(({ from }) => from.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`));
  const texts = new Map<string, string>();
  for (const { from, to } of replacements) if (!texts.has(from)) texts.set(from, to);
  return { pattern: new RegExp(escaped.join('|'), 'g'), texts };
}

/**
 * The first place, from `from` on, where the end of the text is the beginning of a text to replace;
 * its length when there is none.
 */
function beginningAt(text: string, from: number, replacements: readonly Replacement[]): number {
  let at = text.length;
  for (const { from: wanted } of replacements) {
    for (let length = Math.min(wanted.length - 1, text.length - from); length > text.length - at; length -= 1) {
      if (!text.endsWith(wanted.slice(0, length))) continue;
      at = text.length - length;
      break;
    }
  }
  return at;
}

// Applies text transforms to what a model is sent: the texts of system prompt, messages and tool
// results, of both roles. Arguments of calls and thinking stay, byte for byte: they are signed, or
// part of what was done.

export interface RequestTexts {
  system: SystemBlock[];
  messages: ModelMessage[];
}

/**
 * A function that transforms requests; messages without anything to replace stay the same objects.
 */
export function createRequestTransform(replacements: readonly Replacement[]): (texts: RequestTexts) => RequestTexts {
  if (replacements.length === 0) return (texts) => texts;
  const replace = replacingAll(replacements);
  return ({ system, messages }) => ({
    system: system.map((block) => withText(block, replace)),
    messages: messages.map((message) => changeContent(message, (block) => transformBlock(block, replace))),
  });
}

function transformBlock(block: ContentBlock, replace: (text: string) => string): ContentBlock {
  if (block.type === 'text') return withText(block, replace);
  if (block.type !== 'tool_result') return block;
  if (typeof block.content === 'string') {
    const content = replace(block.content);
    return content === block.content ? block : { ...block, content };
  }
  const content = changeEach(block.content, (part) => (part.type === 'text' ? withText(part, replace) : part));
  return content === block.content ? block : { ...block, content: [...content] };
}

function withText<Block extends { text: string }>(block: Block, replace: (text: string) => string): Block {
  const replaced = replace(block.text);
  // Providers refuse blank texts.
  const text = isBlank(replaced) ? '(empty)' : replaced;
  return text === block.text ? block : { ...block, text };
}

// The last that is done to the texts of a request, as the opening of its turn fixed it: tool
// results that are too long for the model's window are truncated, and what plugins replace is
// replaced. Applied to what is sent, and in the same way to what is derived afterwards.

type Transform = (texts: RequestTexts) => RequestTexts;
/** What the opening of a turn fixes about the texts of its requests. */
export interface InputSettings {
  /** What plugins replace in the texts of its requests. */
  inputReplacements?: readonly Replacement[];
  /** The most characters of a tool result that its requests show; absent: all that is stored. */
  resultCharsMax?: number;
}

/** The transform of a turn's requests; texts with nothing to change stay the same objects. */
export function createInputTransform({ inputReplacements = [], resultCharsMax }: InputSettings): Transform {
  const replace = createRequestTransform(inputReplacements);
  if (resultCharsMax === undefined) return replace;
  return ({ system, messages }) => replace({ system, messages: truncateResults(messages, resultCharsMax) });
}

/** The transform that the opening of a turn fixes; empty when nothing has to be changed. */
export function viewOfTransform(replacements: readonly Replacement[], contextTokens: number): InputSettings {
  const resultCharsMax = shownCharsMax(contextTokens);
  return {
    ...(replacements.length === 0 ? undefined : { inputReplacements: replacements }),
    ...(resultCharsMax === null ? undefined : { resultCharsMax }),
  };
}
