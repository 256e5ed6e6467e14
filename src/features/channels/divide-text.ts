// What is said becomes messages of a platform, or a file where it is too long. The parser is loaded for the first text that does not fit.
import { isCostlyMarkdown } from './rules/costly-markdown.ts';
import { hasVisible } from './rules/has-visible.ts';
import type { MarkdownNode } from './rules/markdown-tokens.ts';
import { PARTS_MAX, splitMarkdown, type TextLimit } from './rules/split.ts';

/** `file`: the text is to be sent as a file, because it is too long for messages or its markdown takes too long to read. */
export type DividedText = { kind: 'parts'; parts: string[] } | { kind: 'file' };

/** A longer text takes about a second to read. */
const CHARS_MAX = 200_000;
/** Not every platform counts the addresses of links. */
const ADDRESS = /\]\([^()\s]*\)|^ {0,3}\[[^\]\n]+\]:.*/gm;

/** The messages of a text in markdown, at most 10, each within the limit; none for a text of which nothing is seen. */
export async function divideText(markdown: string, limit: TextLimit): Promise<DividedText> {
  if (!hasVisible(markdown)) return { kind: 'parts', parts: [] };
  if (markdown.length > CHARS_MAX || markdown.replaceAll(ADDRESS, '').length > PARTS_MAX * limit.max)
    return { kind: 'file' };
  if (isCostlyMarkdown(markdown)) return { kind: 'file' };
  const size = limit.measure(markdown);
  if (size <= limit.max) return { kind: 'parts', parts: size === 0 ? [] : [markdown] };
  const { parseMarkdown, stringifyMarkdown } = await import('chat');
  const parts = splitMarkdown(markdown, limit, {
    // The trees of both have the form of mdast.
    parse: (text) => parseMarkdown(text) as unknown as MarkdownNode,
    stringify: (root) => stringifyMarkdown(root as unknown as Parameters<typeof stringifyMarkdown>[0], { bullet: '-' }),
  });
  return parts === null ? { kind: 'file' } : { kind: 'parts', parts };
}
