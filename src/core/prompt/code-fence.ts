// Code fences as readers of Markdown see them. A text that leaves one open makes code of all that follows it, up to the words that
// somebody else wrote behind it.

/** A line that may open or close a fence: at most three blanks, three marks or more, and what stands behind them. */
const FENCE_LINE = /^ {0,3}(`{3,}|~{3,})(.*)$/gm;

/** The line that closes the fence which a text leaves open; null when none is open. */
export function closingFenceOf(text: string): string | null {
  if (!text.includes('```') && !text.includes('~~~')) return null;
  let open: string | null = null;
  for (const [, marks = '', behind = ''] of text.matchAll(FENCE_LINE)) {
    if (open === null) {
      // Backticks behind backticks are code in a line.
      if (marks.startsWith('~') || !behind.includes('`')) open = marks;
    } else if (marks.startsWith(open) && behind.trim() === '') open = null;
  }
  return open;
}
