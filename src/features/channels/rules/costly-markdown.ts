// Finds texts whose markdown would take a parser too long: the time grows with the square of how deep blocks lie in each other, and of how many
// marks one block has that are not closed at once. Such a text is sent as a file.

const DEPTH_MAX = 40;
const MARKS_MAX = 1000;

/** True for a text that is not to be parsed. Takes time in proportion to its length. */
export function isCostlyMarkdown(markdown: string): boolean {
  let marks = 0;
  for (const line of markdown.split('\n')) {
    const depth = depthOf(line);
    if (depth > DEPTH_MAX) return true;
    marks = line.trim() === '' ? 0 : marks + marksOf(line) + depth;
    if (marks > MARKS_MAX) return true;
  }
  return false;
}

/** How many quotes and lists a line opens, at most. */
function depthOf(line: string): number {
  const head = /^[\s>+*\-\d.)]*/.exec(line)?.[0] ?? '';
  return head.match(/>|[-+*](?=\s)|\d{1,9}[.)](?=\s)/g)?.length ?? 0;
}

/** Marks around a piece without marks: the end finds its beginning at once, so they do not count. */
const CLOSED =
  /(?<![\p{L}\p{N}*_~])(\*{1,3}|_{1,3}|~~)(?=[^\s*_~])(?:[^*_~]|(?<=[\p{L}\p{N}])_(?=[\p{L}\p{N}]))*(?<=[^\s*_~])\1(?![\p{L}\p{N}*_~])/gu;

function marksOf(line: string): number {
  return line.replaceAll(CLOSED, '').match(/\*+|~+|(?<![\p{L}\p{N}])_+|_+(?![\p{L}\p{N}_])/gu)?.length ?? 0;
}
