// Long texts, which are shown in pieces. Positions count UTF-16 units, and no cut splits a
// surrogate pair.
import type { Entry } from '../api.ts';

/** The beginning of a text; a pair that the end would split is whole. */
export function beginningOf(text: string, chars: number): string {
  const isSplit = (text.codePointAt(chars - 1) ?? 0) > 0xff_ff;
  return text.slice(0, isSplit ? chars + 1 : chars);
}

/**
 * The beginning of a text until the last line that ends within so many characters; a longer line is
 * cut.
 */
export function textUntil(text: string, chars: number): string {
  if (text.length <= chars) return text;
  const end = text.lastIndexOf('\n', chars);
  return end > chars / 2 ? text.slice(0, end + 1) : beginningOf(text, chars);
}

/** The beginning of a text that is longer than that, with a mark. */
export function shortened(text: string, chars: number): string {
  const beginning = beginningOf(text, chars);
  return beginning.length < text.length ? `${beginning}…` : text;
}

/**
 * How many units of a cut part its entry has, 0 for an image. The rest begins there, not at the
 * limit: the service does not split a pair either.
 */
export function keptCharsOf(block: Entry['content'][number]): number {
  const { content, text, thinking, data, input } = block;
  const kept = Array.isArray(content)
    ? [(content[0] as { text?: unknown } | undefined)?.text]
    : [text, thinking, content, data, input];
  return kept.find((one) => typeof one === 'string')?.length ?? 0;
}
