// Reads the Markdown pages of the repository: their tables and their code blocks.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '../..');

/** The text of a file, by its path in the repository. */
export function readPage(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** The rows of every table with exactly this header; each row is its cells, trimmed. */
export function tableRows(page: string, header: readonly string[]): string[][] {
  const rows: string[][] = [];
  let isInside = false;
  for (const line of page.split('\n')) {
    if (!line.startsWith('|')) isInside = false;
    else if (cellsOf(line).join('|') === header.join('|')) isInside = true;
    else if (isInside && !/^\|[-|: ]+$/.test(line)) rows.push(cellsOf(line));
  }
  return rows;
}

function cellsOf(line: string): string[] {
  return line
    .slice(1, line.lastIndexOf('|'))
    .split(' | ')
    .map((cell) => cell.trim());
}

export interface CodeBlock {
  /** The heading above it. */
  title: string;
  /** `sh`, `json5`; empty where the page names none. */
  language: string;
  code: string;
}

/** Every fenced block, in order. */
export function codeBlocks(page: string): CodeBlock[] {
  return [...page.matchAll(/^```([a-z0-9]*)\n([\s\S]*?)^```$/gm)].map((match) => ({
    title: [...page.slice(0, match.index).matchAll(/^#+ (.+)$/gm)].at(-1)?.[1] ?? '',
    language: match[1] ?? '',
    code: match[2] ?? '',
  }));
}
