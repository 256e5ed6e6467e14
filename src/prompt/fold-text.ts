// Text as a reader sees it, for finding forged labels: compatibility forms, accents, case,
// invisible characters, look-alike letters and exotic line breaks are folded away. Folded text is
// only ever searched; what is found is changed in the original, which is why every folded unit
// knows where it came from.
import { LATIN_LETTERS } from './latin-letters.ts';
import { ASCII_OF, charactersBy } from './look-alikes.ts';

export interface FoldedText {
  original: string;
  /**
   * Lower case, `l` in place of `i`; every kind of line break is `\n`. To be searched with
   * `foldedPattern`.
   */
  text: string;
  /** The original range of the folded range `[start, end)`, which must not be empty. */
  rangeOf(start: number, end: number): { start: number; end: number };
}

/**
 * Alphabets of 26 letters in a row without compatibility forms: white on discs, white on squares,
 * those of flags.
 */
const ALPHABETS = [0x1f150, 0x1f170, 0x1f1e6];
/**
 * Characters that look like no letter of ASCII, in parts or whole: ideographs, squared words of
 * Katakana, syllables of Hangul, Arabic words.
 */
const UNFOLDED = [
  [0x3300, 0x3357],
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xac00, 0xd7a3],
  [0xfdf0, 0xfdfb],
  [0x2_0000, 0x3_ffff],
] as const;
const DASHES = /\p{Pd}/gu;

const PLAIN_ASCII = /^[\t\n\x20-\x7e]*$/;
/** Everything that begins a new line somewhere. */
export const LINE_BREAKS = '\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029';
const LINE_BREAK_SET: ReadonlySet<string> = new Set(LINE_BREAKS);
const IS_REMOVED_OR_DASH = /[\p{Cc}\p{Cf}\p{M}\p{Default_Ignorable_Code_Point}\p{Pd}]/u;
const INVISIBLE = /[\p{Cc}\p{Cf}\p{M}\p{Default_Ignorable_Code_Point}]/gu;

/** The ASCII letter that each Latin letter is named after. */
const BASE_OF = charactersBy(LATIN_LETTERS);

/**
 * Letters that look like another letter than the one that they are named after, `ʋ` for example
 * like `u`. A reader may take them for either.
 */
const AMBIGUOUS: ReadonlySet<string> = new Set(
  [...BASE_OF].filter(([letter, base]) => (ASCII_OF.get(letter) ?? base) !== foldAscii(base)).map(([letter]) => letter),
);

/** What decides about such letters. */
export type LetterReading = 'looks' | 'name';

const ANY_AMBIGUOUS = new RegExp(`[${[...AMBIGUOUS].join('')}]`, 'u');

/** The readings of a text that differ; most texts have one. */
export function listReadings(text: string): readonly LetterReading[] {
  return !PLAIN_ASCII.test(text) && ANY_AMBIGUOUS.test(text) ? ['looks', 'name'] : ['looks'];
}

/** Characters of Unicode's first plane, which has nearly all that people write. */
const PLANE = 0x1_0000;
/**
 * Their folds, as far as they have been needed: looking them up in a map of each text costs as much
 * as all the rest.
 */
const FOLDS: Readonly<Record<LetterReading, (string | undefined)[]>> = { looks: [], name: [] };
for (const folds of Object.values(FOLDS)) folds.length = PLANE;

/**
 * Folds a text. Plain ASCII costs next to nothing, and a million characters of any script at most
 * 50 ms of a processor: the folds are written into arrays of numbers, because lists of a million
 * strings cost ten times as much.
 */
export function foldText(original: string, reading: LetterReading = 'looks'): FoldedText {
  if (PLAIN_ASCII.test(original)) {
    return { original, text: foldAscii(original), rangeOf: (start, end) => ({ start, end }) };
  }
  const folds = FOLDS[reading];
  const rare: (string | undefined)[] = [];
  // The units of the folded text, and where in the original the character of each begins.
  let units = new Uint16Array(original.length);
  let starts = new Uint32Array(original.length);
  let length = 0;
  for (let at = 0; at < original.length; at += 1) {
    const codePoint = codePointAt(original, at);
    const known = codePoint < PLANE ? folds : rare;
    let fold = known[codePoint];
    if (fold === undefined) {
      const character = String.fromCodePoint(codePoint);
      fold = isUnfolded(codePoint) ? character : (known[codePoint] = foldCharacter(character, reading));
    }
    if (length + fold.length > units.length) {
      units = withRoom(units, new Uint16Array(2 * (length + fold.length)));
      starts = withRoom(starts, new Uint32Array(units.length));
    }
    for (let unit = 0; unit < fold.length; unit += 1) {
      units[length] = fold.charCodeAt(unit);
      starts[length] = at;
      length += 1;
    }
    if (codePoint >= PLANE) at += 1;
  }
  return {
    original,
    text: UNITS.decode(units.subarray(0, length)),
    rangeOf(start, end) {
      const last = starts[end - 1] ?? 0;
      return {
        start: start < length ? (starts[start] ?? 0) : original.length,
        end: last + (codePointAt(original, last) >= PLANE ? 2 : 1),
      };
    },
  };
}

function isUnfolded(codePoint: number): boolean {
  return UNFOLDED.some(([first, last]) => codePoint >= first && codePoint <= last);
}

function codePointAt(text: string, at: number): number {
  return text.codePointAt(at) ?? 0;
}

function withRoom<Numbers extends Uint16Array | Uint32Array>(numbers: Numbers, larger: Numbers): Numbers {
  larger.set(numbers);
  return larger;
}

// Half of a surrogate pair, which no stored text has, becomes U+FFFD.
const UNITS = new TextDecoder('utf-16le', { ignoreBOM: true });

/** True when an invisible character is at a position of a text. */
export function isInvisibleAt(text: string, at: number): boolean {
  const character = String.fromCodePoint(text.codePointAt(at) ?? 0x20);
  return character.replace(INVISIBLE, '') === '';
}

/**
 * Source of one blank within a line, for patterns. It holds no character at which a multi-line `^`
 * matches: a run of those would be read again from each of its characters.
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
  const codePoint = codePointAt(character, 0);
  if (LINE_BREAK_SET.has(character)) return '\n';
  const alphabet = ALPHABETS.find((first) => codePoint >= first && codePoint < first + 26);
  if (alphabet !== undefined) return foldAscii(String.fromCharCode(0x61 + codePoint - alphabet));
  const base = BASE_OF.get(character);
  const whole = (reading === 'name' ? base : undefined) ?? ASCII_OF.get(character) ?? base;
  if (whole !== undefined) return foldAscii(whole);
  const parts = character.normalize('NFKD');
  if (parts === character && !IS_REMOVED_OR_DASH.test(character)) return foldPart(character);
  const bare = parts.replace(INVISIBLE, '').replace(DASHES, '-');
  return Array.from(bare, foldPart).join('');
}

function foldPart(part: string): string {
  const lower = part.toLowerCase();
  return ASCII_OF.get(part) ?? ASCII_OF.get(lower) ?? (lower === 'i' ? 'l' : lower);
}
