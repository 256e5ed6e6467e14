// Text as the search over memories compares it: without case, compatibility forms and Latin accents, and with blanks between the words
// of scripts that write none. A Korean word is followed by its forms without particles, which Korean writes without a blank. Memories and queries go through the same function, so that they agree in every locale of the database.

const WITHOUT_BLANKS =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
/** Particles and the copula at the end of a Korean word, longest first. */
const KOREAN_PARTICLE = new RegExp(
  `(?:${[
    '에서부터 으로부터 이었습니다 이라고 에게서 한테서 에서는 에서도 으로는 으로도 입니다 이에요 예요 까지 부터 에게 한테 에서 으로 처럼',
    '만큼 보다 마다 조차 마저 밖에 이나 이랑 하고 께서 라도 라고 이다 에는 에도 은 는 이 가 을 를 의 에 도 만 로 와 과 나 랑 야 다',
  ]
    .join(' ')
    .replaceAll(' ', '|')})$`,
);
const KOREAN_WORD = /\p{Script=Hangul}+/gu;
/** A noun has rarely more than so many particles. */
const PARTICLES_MAX = 3;

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
  const blank = WITHOUT_BLANKS.test(plain) ? splitWords(plain).join(' ') : plain;
  return blank.replaceAll(KOREAN_WORD, (word) => listForms(word).join(' '));
}

/** The word, then without its last particle, and so on: what ends like a particle may be part of the noun, so each form counts. */
function listForms(word: string): string[] {
  const forms = [word];
  for (let form = word; forms.length <= PARTICLES_MAX; forms.push(form)) {
    const stem = form.replace(KOREAN_PARTICLE, '');
    if (stem === '' || stem === form) break;
    form = stem;
  }
  return forms;
}

function splitWords(text: string): string[] {
  return Array.from(new Intl.Segmenter('en', { granularity: 'word' }).segment(text), ({ segment }) => segment);
}
