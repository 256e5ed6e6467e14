// Headings of Markdown files and of summaries, read in one pass over the line.

export interface MarkdownHeading {
  /** 1 to 6. */
  level: number;
  /** Without the marks that may close it. */
  title: string;
}

const HEADING = /^ {0,3}(#{1,6})[ \t]([^]*)$/;

/** The heading that a line is; null when it is none. */
export function readHeading(line: string): MarkdownHeading | null {
  const [, marks, words = ''] = HEADING.exec(line) ?? [];
  if (marks === undefined) return null;
  const title = words
    .trim()
    .replace(/(?<!#)#+$/, '')
    .trimEnd();
  return { level: marks.length, title };
}
