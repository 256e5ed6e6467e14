// How deeply markdown is nested. Its parser, React and the browser's layout recurse, so a text of a
// few thousand `>` would end the page.

/** Block quotes and lists within each other; a deeper text is shown as it was written. */
export const DEPTH_MAX = 50;

/** The mark of a block quote or of a list item, where a line begins or after another one. */
const MARK = /[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)])(?=\s|$))/y;

/**
 * The most block quotes and lists that a line of a text can be in: never too few, in strange texts
 * too many.
 */
export function containerDepth(text: string): number {
  let deepest = 0;
  for (const line of text.split('\n')) {
    let marks = 0;
    for (MARK.lastIndex = 0; MARK.test(line);) marks += 1;
    // By its indentation, a line is also in lists that began above it.
    const indentation = (/^[ \t>]*/.exec(line)?.[0] ?? '').replaceAll('\t', '    ').length;
    deepest = Math.max(deepest, marks + Math.min(deepest, Math.floor(indentation / 2)));
  }
  return deepest;
}

interface Tree {
  children?: readonly Tree[];
}

/** Whether a tree has nodes below so many others. */
export function isDeeper(tree: Tree, depth: number): boolean {
  let level: readonly Tree[] = [tree];
  for (let at = 0; at <= depth && level.length > 0; at += 1) level = level.flatMap(({ children = [] }) => children);
  return level.length > 0;
}
