// Memories as the search finds them: cut into pieces, and as text that can be compared. A piece is
// the lines of one section, as many as fit. It knows its lines and the headings above it, so that a
// hit deep in a long section still says what it is about.
import { cutHead, cutPiece } from '../../core/text.ts';
import { readHeading } from '../../prompt/markdown-heading.ts';

/** A run of lines, numbered from 1. */
export interface MemoryChunk {
  firstLine: number;
  lastLine: number;
  /**
   * The headings above it, outermost first, ` > ` between them; its own first line is not among
   * them.
   */
  headings: string;
  text: string;
}

export interface ChunkLimits {
  /**
   * The most of one chunk, in UTF-16 units; a longer line is cut into several of the same number.
   */
  charsMax: number;
  /** Further chunks are left out. */
  chunksMax: number;
}

const FENCE = /^ {0,3}(```+|~~~+)/;
const HEADING_CHARS_MAX = 120;

/**
 * The chunks of a Markdown text, in order. Each line that is not blank is in one of them, unless
 * there are too many.
 */
export function chunkMarkdown(content: string, { charsMax, chunksMax }: ChunkLimits): MemoryChunk[] {
  const chunks: MemoryChunk[] = [];
  const outline: (string | undefined)[] = [];
  let fence: string | null = null;
  let open: MemoryChunk | null = null;

  const close = (): void => {
    if (open !== null) chunks.push({ ...open, text: open.text.trimEnd() });
    open = null;
  };
  const add = (line: number, text: string): void => {
    const isBlank = text.trim() === '';
    if (open !== null && open.text.length + 1 + text.length > charsMax) close();
    // A chunk neither begins nor ends with blank lines.
    if (open !== null) open = { ...open, lastLine: isBlank ? open.lastLine : line, text: `${open.text}\n${text}` };
    else if (!isBlank) open = { firstLine: line, lastLine: line, headings: formatPath(outline), text };
  };

  for (const [index, text] of content.split(/\r\n|\r|\n/).entries()) {
    if (chunks.length >= chunksMax) break;
    const heading = fence === null ? readHeading(text) : null;
    if (heading !== null) {
      close();
      outline.length = heading.level - 1;
    }
    for (const piece of splitText(text, charsMax)) add(index + 1, piece);
    if (heading !== null) outline.push(cutHead(heading.title, HEADING_CHARS_MAX));
    fence = fenceAfter(fence, text);
  }
  close();
  return chunks.slice(0, chunksMax);
}

/**
 * The code fence that is open after a line; only one of the same characters, no shorter, closes it.
 */
function fenceAfter(fence: string | null, text: string): string | null {
  const mark = FENCE.exec(text)?.[1];
  if (mark === undefined) return fence;
  if (fence === null) return mark;
  return mark[0] === fence[0] && mark.length >= fence.length ? null : fence;
}

function formatPath(outline: readonly (string | undefined)[]): string {
  return outline.filter((heading) => heading !== undefined && heading !== '').join(' > ');
}

function splitText(text: string, charsMax: number): string[] {
  if (text.length <= charsMax) return [text];
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += charsMax) pieces.push(cutPiece(text, at, charsMax));
  return pieces;
}

/** A file of a memory as it is on disk. */
export interface MemoryFileRef {
  path: string;
  sha256: string;
}

/** A file cut into searchable chunks. */
export interface ChunkedFile extends MemoryFileRef {
  chunks: readonly MemoryChunk[];
}

export interface MemorySearch {
  agentId: string;
  files: readonly MemoryFileRef[];
  query: string;
  hitsMax: number;
}

export interface MemoryHit extends MemoryChunk {
  path: string;
  /** Above 0 to 1: how much of the query is in it; rare words count more than frequent ones. */
  score: number;
}

export interface MemoryFindings {
  /** Best first. */
  hits: MemoryHit[];
  /** The files that are not indexed. */
  missing: MemoryFileRef[];
}

/** Files for the index of an agent; `current` names all that is on disk. */
export interface MemoryAddition {
  agentId: string;
  files: readonly ChunkedFile[];
  current: readonly MemoryFileRef[];
}

// Text as the search over memories compares it: without case, compatibility forms and Latin
// accents, and with blanks between the words of scripts that write none. A Korean word is followed
// by its forms without particles, which Korean writes without a blank. Memories and queries go
// through the same function, so that they agree in every locale of the database.

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
  return separateWords(text).replaceAll(KOREAN_WORD, (word) => listForms(word).join(' '));
}

/** The same, with Korean words as they are. */
export function separateWords(text: string): string {
  const plain = text
    .normalize('NFKD')
    .replace(LATIN_ACCENTS, '$1')
    .normalize('NFC')
    .toLowerCase()
    .replaceAll('\0', ' ')
    .toWellFormed();
  return WITHOUT_BLANKS.test(plain) ? splitWords(plain).join(' ') : plain;
}

/**
 * The word, then without its last particle, and so on: what ends like a particle may be part of the
 * noun, so each form counts.
 */
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
