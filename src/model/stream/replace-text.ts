// Replaces fixed texts in a text that may arrive in pieces. Wherever the pieces are cut, the result is that of the whole text: what
// might be the beginning of something to replace is held back until the next piece, or the end, decides. Each character is replaced at
// most once; inserted text is not searched again.
import type { TextFilter } from '../../core/text-filter.ts';

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

/** The longest text that can be replaced, and how many there may be: they bound the text that is held back and searched per piece. */
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

/** A function that replaces everything in a whole text; it returns its argument where there is nothing to replace. */
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

/** The first place, from `from` on, where the end of the text is the beginning of a text to replace; its length when there is none. */
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
