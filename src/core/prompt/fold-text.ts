// Text as a reader sees it, for finding forged labels: compatibility forms, accents, case, invisible characters, look-alike
// letters and exotic line breaks are folded away. Folded text is only ever searched; what is found is changed in the
// original, which is why every folded unit knows where it came from.
import { LATIN_LETTERS } from './latin-letters.ts';
import { ASCII_OF, charactersBy } from './look-alikes.ts';

export interface FoldedText {
  original: string;
  /** Lower case, `l` in place of `i`; every kind of line break is `\n`. To be searched with `foldedPattern`. */
  text: string;
  /** The original range of the folded range `[start, end)`, which must not be empty. */
  rangeOf(start: number, end: number): { start: number; end: number };
}

/** Alphabets of 26 letters in a row without compatibility forms: white on discs, white on squares, those of flags. */
const ALPHABETS = [0x1f150, 0x1f170, 0x1f1e6];
const DASHES = /\p{Pd}/gu;

const PLAIN_ASCII = /^[\t\n\x20-\x7e]*$/;
/** Everything that begins a new line somewhere. */
export const LINE_BREAKS = '\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029';
const LINE_BREAK_SET: ReadonlySet<string> = new Set(LINE_BREAKS);
const INVISIBLE = /[\p{Cc}\p{Cf}\p{M}\p{Default_Ignorable_Code_Point}]/gu;

/** The ASCII letter that each Latin letter is named after. */
const BASE_OF = charactersBy(LATIN_LETTERS);

/** Letters that look like another letter than the one that they are named after, `ʋ` for example like `u`. A reader may take them for either. */
const AMBIGUOUS: ReadonlySet<string> = new Set(
  [...BASE_OF].filter(([letter, base]) => (ASCII_OF.get(letter) ?? base) !== foldAscii(base)).map(([letter]) => letter),
);

/** What decides about such letters. */
export type LetterReading = 'looks' | 'name';

/** The readings of a text that differ; most texts have one. */
export function readingsOf(text: string): readonly LetterReading[] {
  return !PLAIN_ASCII.test(text) && Array.from(text).some((character) => AMBIGUOUS.has(character))
    ? ['looks', 'name']
    : ['looks'];
}

/** Folds a text. Plain ASCII costs next to nothing. */
export function foldText(original: string, reading: LetterReading = 'looks'): FoldedText {
  if (PLAIN_ASCII.test(original)) {
    return { original, text: foldAscii(original), rangeOf: (start, end) => ({ start, end }) };
  }
  const known = new Map<string, string>();
  const folded: string[] = [];
  const starts: number[] = [];
  const ends: number[] = [];
  let at = 0;
  for (const character of original) {
    const end = at + character.length;
    let fold = known.get(character);
    if (fold === undefined) known.set(character, (fold = foldCharacter(character, reading)));
    for (let unit = 0; unit < fold.length; unit += 1) {
      starts.push(at);
      ends.push(end);
    }
    folded.push(fold);
    at = end;
  }
  return {
    original,
    text: folded.join(''),
    rangeOf: (start, end) => ({ start: starts[start] ?? original.length, end: ends[end - 1] ?? original.length }),
  };
}

/** True when an invisible character is at a position of a text. */
export function isInvisibleAt(text: string, at: number): boolean {
  const character = String.fromCodePoint(text.codePointAt(at) ?? 0x20);
  return character.replace(INVISIBLE, '') === '';
}

/**
 * Source of one blank within a line, for patterns. It holds no character at which a multi-line `^` matches: a run of those would be read
 * again from each of its characters.
 */
export const BLANKS = '[^\\S\\n\\r\\u2028\\u2029]';

/** The original text, with the matches of a pattern in its folded form replaced, in one pass. */
export function replaceFolded(folded: FoldedText, pattern: RegExp, replacementOf: (found: string) => string): string {
  const { original } = folded;
  let replaced = '';
  let at = 0;
  for (const match of folded.text.matchAll(pattern)) {
    const { start, end } = folded.rangeOf(match.index, match.index + match[0].length);
    replaced += original.slice(at, start) + replacementOf(original.slice(start, end));
    at = end;
  }
  return replaced + original.slice(at);
}

/** A pattern for folded text, from one that is written as people write, in lower case. */
export function foldedPattern(source: string, flags: string): RegExp {
  return new RegExp(source.replaceAll('i', 'l'), flags);
}

// A capital `I` is the picture of an `l`.
function foldAscii(text: string): string {
  return text.toLowerCase().replaceAll('i', 'l');
}

function foldCharacter(character: string, reading: LetterReading): string {
  if (PLAIN_ASCII.test(character)) return foldAscii(character);
  if (LINE_BREAK_SET.has(character)) return '\n';
  const codePoint = character.codePointAt(0) ?? 0;
  const alphabet = ALPHABETS.find((first) => codePoint >= first && codePoint < first + 26);
  if (alphabet !== undefined) return foldAscii(String.fromCharCode(0x61 + codePoint - alphabet));
  const base = BASE_OF.get(character);
  const whole = (reading === 'name' ? base : undefined) ?? ASCII_OF.get(character) ?? base;
  if (whole !== undefined) return foldAscii(whole);
  const bare = character.normalize('NFKD').replace(INVISIBLE, '').replace(DASHES, '-');
  return Array.from(bare, (part) => ASCII_OF.get(part) ?? ASCII_OF.get(part.toLowerCase()) ?? foldAscii(part)).join('');
}
