// Text as a reader sees it, for finding forged labels: compatibility forms, accents, case, invisible characters, look-alike
// letters and exotic line breaks are folded away. Folded text is only ever searched; what is found is changed in the
// original, which is why every folded unit knows where it came from.

export interface FoldedText {
  /** Lower case; every kind of line break is `\n`. */
  text: string;
  /** The original range of the folded range `[start, end)`, which must not be empty. */
  rangeOf(start: number, end: number): { start: number; end: number };
}

// Characters that look like the ASCII character in front and that normalisation leaves alone; case does not matter.
const LOOK_ALIKES: Readonly<Record<string, string>> = {
  ' ': '\u2800',
  a: 'аɑαᴀᎪꓮ',
  b: 'ʙвьβᏴꓐ',
  c: 'сϲᴄᏟꓚⲥ',
  d: 'ԁᴅɗᎠꓓ',
  e: 'еҽєεᴇ℮ɛᎬꓰ',
  f: 'ꜰƒꓝ',
  g: 'ɡցɢᏀꓖ',
  h: 'һнʜհᎻꓧ',
  i: 'іıιɪɩꓲ',
  j: 'јʝᴊᎫꓙ',
  k: 'кκᴋᏦꓗ',
  l: 'ӏʟǀᏞꓡ',
  m: 'мμᴍϻᎷꓟⲙ',
  n: 'ոɴνпηꓠⲛ',
  o: 'оοօᴏσꓳⲟ',
  p: 'рρᴘᏢꓑⲣ',
  q: 'ԛ',
  r: 'гʀᴦɾᎡᏒꓣ',
  s: 'ѕꜱտʂᏚꓢ',
  t: 'тτᴛŧᎢꓔⲧ',
  u: 'սᴜʋꓴ',
  v: 'ѵᴠᏙꓦ',
  w: 'ԝωᴡᎳꓪ',
  x: 'хχꓫ',
  y: 'уүყʏγυᎩꓬ',
  z: 'ᴢʐᏃꓜ',
  ':': '꞉∶ː˸׃։⁚܃፡︓ꓽ',
  '[': '【〔〖〚⟦⁅❲⦋⟬⌈⌊',
  ']': '】〕〗〛⟧⁆❳⦌⟭⌉⌋',
  '(': '❨⦅⸨',
  ')': '❩⦆⸩',
};

const ASCII_OF: ReadonlyMap<string, string> = new Map(
  Object.entries(LOOK_ALIKES).flatMap(([ascii, likes]) =>
    Array.from(likes, (like): [string, string] => [like.toLowerCase(), ascii]),
  ),
);

// White letters on black discs and squares have no compatibility form.
const ENCLOSED_ALPHABETS = [0x1f150, 0x1f170];

const PLAIN_ASCII = /^[\t\n\x20-\x7e]*$/;
const LINE_BREAKS: ReadonlySet<string> = new Set('\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029');
const INVISIBLE = /[\p{Cc}\p{Cf}\p{M}\p{Default_Ignorable_Code_Point}]/gu;

/** Folds a text. Plain ASCII costs one lower-casing. */
export function foldText(original: string): FoldedText {
  if (PLAIN_ASCII.test(original)) {
    return { text: original.toLowerCase(), rangeOf: (start, end) => ({ start, end }) };
  }
  const known = new Map<string, string>();
  const folded: string[] = [];
  const starts: number[] = [];
  const ends: number[] = [];
  let at = 0;
  for (const character of original) {
    const end = at + character.length;
    let fold = known.get(character);
    if (fold === undefined) known.set(character, (fold = foldCharacter(character)));
    for (let unit = 0; unit < fold.length; unit += 1) {
      starts.push(at);
      ends.push(end);
    }
    folded.push(fold);
    at = end;
  }
  return {
    text: folded.join(''),
    rangeOf: (start, end) => ({ start: starts[start] ?? original.length, end: ends[end - 1] ?? original.length }),
  };
}

function foldCharacter(character: string): string {
  if (PLAIN_ASCII.test(character)) return character.toLowerCase();
  if (LINE_BREAKS.has(character)) return '\n';
  const codePoint = character.codePointAt(0) ?? 0;
  const alphabet = ENCLOSED_ALPHABETS.find((first) => codePoint >= first && codePoint < first + 26);
  if (alphabet !== undefined) return String.fromCharCode(0x61 + codePoint - alphabet);
  const bare = character.normalize('NFKD').replace(INVISIBLE, '').toLowerCase();
  return Array.from(bare, (c) => ASCII_OF.get(c) ?? c).join('');
}
