// Code fences as readers of Markdown see them. A text that leaves one open turns all that follows it into code, including later
// text of other origin.

/** A line that may open or close a fence: at most three spaces, three marks or more, and the rest of the line. */
const FENCE_LINE = /^ {0,3}(`{3,}|~{3,})(.*)$/gm;

/** The line that closes the fence which a text leaves open; null when none is open. */
export function closingFenceOf(text: string): string | null {
  if (!text.includes('```') && !text.includes('~~~')) return null;
  let open: string | null = null;
  for (const [, marks = '', behind = ''] of text.matchAll(FENCE_LINE)) {
    if (open === null) {
      // Backticks after backticks are inline code.
      if (marks.startsWith('~') || !behind.includes('`')) open = marks;
    } else if (marks.startsWith(open) && behind.trim() === '') open = null;
  }
  return open;
}
