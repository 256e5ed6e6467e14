// What a reader takes a text for: look-alike letters, compatibility forms, accents, invisible
// characters, letters of tags and flags, and case folded away. For judging only, and on purpose not
// the code that it judges.
import { LOOK_ALIKES } from './look-alikes.ts';

const LETTER_OF: ReadonlyMap<string, string> = new Map(
  [...LOOK_ALIKES].flatMap(([letter, alikes]) => alikes.map((alike): [string, string] => [alike, letter])),
);
const SQUARE_OPEN = '[［【〔〖〚⟦⁅❲⦋⟬⌈⌊';
const SQUARE_CLOSE = ']］】〕〗〛⟧⁆❳⦌⟭⌉⌋';
const ROUND_OPEN = '(（❨⦅⸨';
const ROUND_CLOSE = ')）❩⦆⸩';
const COLONS = ':：∶꞉ː˸׃։⁚︓';
const INVISIBLE = /[\p{Cc}\p{Cf}\p{M}\p{Default_Ignorable_Code_Point}]/gu;

/** Alphabets of 26 consecutive letters that normalisation does not change. */
const LETTER_RUNS = [
  { first: 0x1f150, name: 'white on discs' },
  { first: 0x1f170, name: 'white on squares' },
  { first: 0x1f1e6, name: 'of flags' },
];
const TAG_FIRST = 0xe0020;
const TAG_LAST = 0xe007e;

const PLAIN = /^[\x20-\x7e]*$/;
const known = new Map<string, string>();

/**
 * The text as it is read, blanks as one space each, in lower case; `i` is read as `l`, which
 * capital `I` looks like.
 */
export function skeletonOf(text: string): string {
  if (PLAIN.test(text)) return text.toLowerCase().replaceAll('i', 'l');
  let skeleton = '';
  for (const character of text) {
    let read = known.get(character);
    if (read === undefined) known.set(character, (read = readCharacter(character)));
    skeleton += read;
  }
  return skeleton;
}

function readCharacter(character: string): string {
  const codePoint = character.codePointAt(0) ?? 0;
  if (codePoint >= TAG_FIRST && codePoint <= TAG_LAST) return readCharacter(String.fromCodePoint(codePoint - 0xe0000));
  const run = LETTER_RUNS.find(({ first }) => codePoint >= first && codePoint < first + 26);
  if (run !== undefined) return readCharacter(String.fromCodePoint(0x61 + codePoint - run.first));
  return readWhole(character) ?? Array.from(character.normalize('NFKD').replace(INVISIBLE, ''), readPart).join('');
}

function readPart(character: string): string {
  return readWhole(character) ?? character.toLowerCase();
}

/** The ASCII character that a character resembles itself; null: it follows from its parts. */
function readWhole(character: string): string | null {
  if (/[\s\u2800]/u.test(character)) return ' ';
  const lower = character.toLowerCase();
  const letter = LETTER_OF.get(character) ?? (/[a-z]/.test(lower) && lower.length === 1 ? lower : null);
  if (letter !== null) return letter === 'i' ? 'l' : letter;
  if (SQUARE_OPEN.includes(character)) return '[';
  if (SQUARE_CLOSE.includes(character)) return ']';
  if (ROUND_OPEN.includes(character)) return '(';
  if (ROUND_CLOSE.includes(character)) return ')';
  return COLONS.includes(character) ? ':' : null;
}
