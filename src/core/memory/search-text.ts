// Text as the search over memories compares it: without case, compatibility forms and Latin accents, and with blanks between the words
// of scripts that write none. Memories and queries go through the same function, so that they agree in every locale of the database.

const WITHOUT_BLANKS =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const LATIN_ACCENTS = /(\p{Script=Latin})\p{M}+/gu;

/** The text for indexing or searching. Never shown. */
export function searchText(text: string): string {
  const plain = text
    .normalize('NFKD')
    .replace(LATIN_ACCENTS, '$1')
    .normalize('NFC')
    .toLowerCase()
    .replaceAll('\0', ' ')
    .toWellFormed();
  return WITHOUT_BLANKS.test(plain) ? wordsOf(plain).join(' ') : plain;
}

function wordsOf(text: string): string[] {
  return Array.from(new Intl.Segmenter('en', { granularity: 'word' }).segment(text), ({ segment }) => segment);
}
