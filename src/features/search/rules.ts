// What is searched of an entry, its words, what a query asks for, and what is shown of a hit. Texts
// and queries go through the same functions, so that they agree in every locale of the database,
// whose parser of texts is not used.
import { cutHead, cutPiece, isBlank, storableText } from '../../core/text.ts';
import { separateWords } from '../memory/rules.ts';

export const SEARCH_KINDS = ['message', 'reply', 'error'] as const;
export type SearchKind = (typeof SEARCH_KINDS)[number];

/**
 * What is searched of one text: its beginning, which a log of a megabyte rarely says more after.
 */
const TEXT_CHARS_MAX = 65_536;
/** The index takes words of up to 2,046 bytes. */
const WORD_CHARS_MAX = 100;
/** Words that a query asks for at most. */
export const QUERY_WORDS_MAX = 16;

const WORD = /[\p{L}\p{M}\p{N}]+/gu;

function wordsOf(text: string): string[] {
  return Array.from(separateWords(text).matchAll(WORD), ([word]) => cutHead(word, WORD_CHARS_MAX));
}

interface StoredEntry {
  content: readonly { type: string; text?: unknown }[];
  parts: readonly { name: string; text?: unknown }[] | null;
}

/**
 * What people read of an entry: the text of the sender without what was put around it, or the texts
 * of a reply.
 */
export function textOfEntry({ content, parts }: StoredEntry): string {
  const clean = parts?.find(({ name }) => name === 'clean-body')?.text;
  if (typeof clean === 'string' && !isBlank(clean)) return clean;
  return content.flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text] : [])).join('\n');
}

/**
 * A text as it is stored, and its words with their places as PostgreSQL reads a `tsvector`; null:
 * it has no words.
 */
export function indexText(whole: string): { text: string; words: string } | null {
  const text = storableText(cutHead(whole, TEXT_CHARS_MAX));
  const words = wordsOf(text);
  if (words.length === 0) return null;
  // The index tells no places apart above that.
  return { text, words: words.map((word, at) => `'${word}':${Math.min(at + 1, 16_383)}`).join(' ') };
}

export interface SearchQuery {
  /** The query in the syntax of PostgreSQL's `tsquery`. */
  tsquery: string;
  /**
   * The same without the order of words and without those that are left out: what the index of
   * words answers without reading texts.
   */
  candidates: string;
  /** The words that hits have, for marking them. */
  marked: readonly Marked[];
}

/** `isWhole`: the word stands in a phrase; otherwise words that begin with it are hits, too. */
interface Marked {
  word: string;
  isWhole: boolean;
}

/**
 * What a query asks for: all of its words, in any order; `"these words"` next to each other; none
 * of those with a `-` before.
 */
export function parseQuery(q: string): SearchQuery | 'no-words' | 'only-excluded' | 'too-many-words' {
  const clauses = Array.from(q.matchAll(/(?<!\S)(-?)"([^"]*)"?|(\S+)/g), ([, minus = '', phrase, bare = '']) => {
    const isPhrase = phrase !== undefined;
    const isExcluded = isPhrase ? minus === '-' : bare.startsWith('-');
    return { isPhrase, isExcluded, words: wordsOf(phrase ?? bare) };
  }).filter(({ words }) => words.length > 0);
  if (clauses.length === 0) return 'no-words';
  if (clauses.every(({ isExcluded }) => isExcluded)) return 'only-excluded';
  if (clauses.flatMap(({ words }) => words).length > QUERY_WORDS_MAX) return 'too-many-words';
  const wanted = clauses.filter(({ isExcluded }) => !isExcluded);
  return {
    candidates: wanted.map((clause) => clauseSql(clause, ' & ')).join(' & '),
    tsquery: [...wanted, ...clauses.filter(({ isExcluded }) => isExcluded)]
      .map((clause) => clauseSql(clause, ' <-> '))
      .join(' & '),
    marked: wanted.flatMap(({ words, isPhrase }) =>
      words.map((word, at) => ({ word, isWhole: isPhrase || at < words.length - 1 })),
    ),
  };
}

/** One letter begins too many words. */
const LETTER = /^[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{N}]$/u;

function clauseSql(
  { isPhrase, isExcluded, words }: { isPhrase: boolean; isExcluded: boolean; words: string[] },
  between: ' <-> ' | ' & ',
): string {
  const isPrefix = !isPhrase && !isExcluded && !LETTER.test(words.at(-1) ?? '');
  const sequence = words.map((word) => `'${word}'`).join(between) + (isPrefix ? ':*' : '');
  return `${isExcluded ? '!' : ''}(${sequence})`;
}

/** The end of words whose beginning was asked for; scripts without blanks have none. */
const REST = String.raw`(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}])[\p{L}\p{M}\p{N}])*`;
const BEFORE = String.raw`(?<![\p{L}\p{M}\p{N}])`;
const NO_BLANKS =
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

export const SNIPPET_CHARS_MAX = 240;
/** What is shown before the first hit. */
const LEAD_CHARS = 60;

export interface Snippet {
  text: string;
  /** Where the hit words are in the text: `[start, end)` in UTF-16 units. */
  ranges: { start: number; end: number }[];
}

/** The place of a text with the first hit in it. */
export function makeSnippet(text: string, marked: readonly Marked[]): Snippet {
  const hit = new RegExp(
    marked
      .toSorted((a, b) => b.word.length - a.word.length)
      .map(
        ({ word, isWhole }) =>
          `${NO_BLANKS.test(word) ? '' : BEFORE}${word}${isWhole ? String.raw`(?![\p{L}\p{M}\p{N}])` : REST}`,
      )
      .join('|'),
    'gu',
  );
  const plain = foldInPlace(text);
  const first = plain.search(hit);
  const from = first <= LEAD_CHARS ? 0 : beginOfWord(plain, first - LEAD_CHARS);
  const shown = cutHead(cutPiece(text, from, SNIPPET_CHARS_MAX), SNIPPET_CHARS_MAX);
  const begin = text.indexOf(shown, from);
  const ranges = Array.from(plain.slice(begin, begin + shown.length).matchAll(hit), ({ 0: word, index }) => ({
    start: index,
    end: index + word.length,
  })).filter(({ start, end }) => end > start);
  return { text: shown, ranges };
}

/** The begin of the word after a place, unless it is far. */
function beginOfWord(text: string, at: number): number {
  const blank = /\s/.exec(cutPiece(text, at, LEAD_CHARS / 2));
  return blank === null ? at : at + blank.index + 1;
}

/** A text as it is compared, with every character in its place. */
function foldInPlace(text: string): string {
  return text
    .replaceAll(/[^\0-\x7f]/gu, (char) => {
      const plain = char.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
      return plain.length === char.length ? plain : char;
    })
    .replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
