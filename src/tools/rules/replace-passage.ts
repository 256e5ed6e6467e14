// Replacing one text of a file by another, whatever line ends the file has: a model writes `\n`,
// and the file may have `\r\n`.

export interface ReplacedText {
  text: string;
  count: number;
}

/**
 * Replaces every occurrence of `from`. A `\n` in it that follows no `\r` also matches `\r\n`. The
 * line breaks of `to` become those of the place: of the match itself, else of the next line break
 * after it, else of the last one before it.
 */
export function replacePassage(text: string, { from, to }: { from: string; to: string }): ReplacedText {
  const withCrlf = to.replace(/\r?\n/g, '\r\n');
  const lastBreak = text.lastIndexOf('\n');
  let nextBreak = -1;
  let count = 0;
  const replaced = text.replace(compilePattern(from), (_match: string, offset: number) => {
    count += 1;
    // One search per line break, not one per match: a file of one line may have very many matches.
    if (nextBreak < offset) nextBreak = offset > lastBreak ? lastBreak : text.indexOf('\n', offset);
    return nextBreak > 0 && text[nextBreak - 1] === '\r' ? withCrlf : to;
  });
  return { text: replaced, count };
}

/**
 * Regular expression of the literal text. With `u`, half of a surrogate pair does not match within
 * a pair.
 */
function compilePattern(from: string): RegExp {
  const literal = from.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
  return new RegExp(literal.replace(/(?<!\r)\n/g, String.raw`\r?\n`), 'gu');
}
