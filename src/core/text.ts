// Text without loss or damage: where it is cut, what PostgreSQL and providers accept of it, and how
// the bytes of a file become text and bytes again.

// Cutting text at a number of UTF-16 units without tearing a surrogate pair: half a pair is not
// valid in a model request. Texts are cut here and nowhere else (test/architecture.test.ts).

/** The first units of a text, at most `units`. */
export function cutHead(text: string, units: number): string {
  if (units <= 0) return '';
  if (text.length <= units) return text;
  return text.slice(0, isHighSurrogate(text.charCodeAt(units - 1)) ? units - 1 : units);
}

/** The last units of a text, at most `units`. */
export function cutTail(text: string, units: number): string {
  if (units <= 0) return '';
  if (text.length <= units) return text;
  const start = text.length - units;
  return text.slice(isLowSurrogate(text.charCodeAt(start)) ? start + 1 : start);
}

/**
 * A piece of a text: `length` units from `offset`, with the whole of a pair that the end would
 * tear.
 */
export function cutPiece(text: string, offset: number, length: number): string {
  return text.slice(wholePairEnd(text, offset), wholePairEnd(text, offset + length));
}

function wholePairEnd(text: string, at: number): number {
  return at > 0 && at < text.length && cutHead(text, at).length < at ? at + 1 : at;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

// Text that PostgreSQL can hold and that providers accept: no NUL, no half of a surrogate pair. A
// model's text may have both. Providers refuse text of blanks alone, and some of them count control
// characters as blanks.

/** The text without them; half a character becomes U+FFFD. */
export function storableText(text: string): string {
  return (text.includes('\0') ? text.replaceAll('\0', '') : text).toWellFormed();
}

/** The value with every text in it made storable, keys too; the same object when all are. */
export function storableValue<Value>(value: Value): Value {
  return changeTexts(value, storableText) as Value;
}

/** Makes a text storable that arrives in pieces: a character may come in two of them. */
export function createStorableFilter(): TextFilter {
  let half = '';
  return {
    push(piece) {
      const text = half + piece;
      half = /[\ud800-\udbff]$/.exec(text)?.[0] ?? '';
      return storableText(half === '' ? text : text.slice(0, -1));
    },
    end() {
      const rest = storableText(half);
      half = '';
      return rest;
    },
  };
}

/** Deeper than this nothing is changed: such values do not occur. */
const DEPTH_MAX = 1000;

/** The value with every text in it changed, keys too; the same object when no text is. */
export function changeTexts(value: unknown, change: (text: string) => string, depth = 0): unknown {
  if (typeof value === 'string') return change(value);
  if (typeof value !== 'object' || value === null || depth > DEPTH_MAX) return value;
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => changeTexts(item, change, depth + 1));
    return items.every((item, at) => item === value[at]) ? value : items;
  }
  const before = Object.entries(value);
  const after = before.map(([key, item]): [string, unknown] => [change(key), changeTexts(item, change, depth + 1)]);
  const isSame = after.every(([key, item], at) => key === before[at]?.[0] && item === before[at]?.[1]);
  return isSame ? value : Object.fromEntries(after);
}

/** True for text of blanks and control characters only, the empty text included. */
export function isBlank(text: string): boolean {
  return /^[\s\p{Cc}]*$/u.test(text);
}

// The bytes of a text file as text and back, without a loss: bytes that are not text are refused
// instead of being replaced, so that what is written after a change differs from what was read by
// the change alone.

export type TextEncoding = 'utf-8' | 'utf-16le' | 'utf-16be';

/** What to say of a file that `decodeText` refuses, after its name. */
export const NOT_TEXT = 'is not text in UTF-8 (or in UTF-16 with a byte order mark)';

const MARK = '\uFEFF';

/** The encoding that the beginning of a file names with a byte order mark; UTF-8 without one. */
export function detectEncoding(beginning: Uint8Array): TextEncoding {
  const [first, second] = beginning;
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
}

/**
 * A decoder that throws a `TypeError` for bytes that are not text, and leaves out the byte order
 * mark.
 */
export function strictDecoder(encoding: TextEncoding): InstanceType<typeof TextDecoder> {
  return new TextDecoder(encoding, { fatal: true });
}

/** The text of a whole file, without its byte order mark; null when the bytes are not text. */
export function decodeText(bytes: Uint8Array): string | null {
  const { text, isText } = decodeToShow(bytes, { encoding: detectEncoding(bytes), isCut: false });
  return isText ? text : null;
}

export interface ShownText {
  text: string;
  /**
   * False when it has replacement characters in the place of bytes that are not text: good to be
   * shown, never to be written back.
   */
  isText: boolean;
}

/** Text to show, of bytes that may be cut within a character. `encoding`: see `detectEncoding`. */
export function decodeToShow(
  bytes: Uint8Array,
  { encoding, isCut }: { encoding: TextEncoding; isCut: boolean },
): ShownText {
  const decode = (fatal: boolean): string => new TextDecoder(encoding, { fatal }).decode(bytes, { stream: isCut });
  try {
    return { text: decode(true), isText: true };
  } catch (error) {
    if (error instanceof TypeError) return { text: decode(false), isText: false };
    throw error;
  }
}

/** The bytes from the first whole character on, of bytes from the middle of a file. */
export function fromWholeCharacter(bytes: Uint8Array, encoding: TextEncoding): Uint8Array {
  if (encoding === 'utf-8')
    return bytes.subarray(
      Math.max(
        bytes.findIndex((byte) => (byte & 0xc0) !== 0x80),
        0,
      ),
    );
  const isLowSurrogate = ((bytes[encoding === 'utf-16be' ? 0 : 1] ?? 0) & 0xfc) === 0xdc;
  return isLowSurrogate ? bytes.subarray(2) : bytes;
}

/**
 * The bytes of a text that takes the place of `before`: in the same encoding, with a byte order
 * mark if there was one.
 */
export function encodeTextLike(before: Uint8Array, text: string): Uint8Array {
  const encoding = detectEncoding(before);
  const isMarked = encoding !== 'utf-8' || (before[0] === 0xef && before[1] === 0xbb && before[2] === 0xbf);
  const marked = `${isMarked ? MARK : ''}${text}`.toWellFormed();
  if (encoding === 'utf-8') return new TextEncoder().encode(marked);
  const bytes = new Uint8Array(marked.length * 2);
  const view = new DataView(bytes.buffer);
  for (let at = 0; at < marked.length; at += 1) {
    view.setUint16(at * 2, marked.charCodeAt(at), encoding === 'utf-16le');
  }
  return bytes;
}

// Matching and filtering text: a filter for a text that arrives in pieces, and names with
// wildcards. The joined output of a filter is the same for any split: uncertain text is held back.

/** Takes a text in pieces. */
export interface TextFilter {
  /** The next piece; returns the text that is certain by now. */
  push(piece: string): string;
  /** The text has ended; returns the rest. */
  end(): string;
}

/** The output of a new filter for a whole text. */
export function filterWhole(filter: TextFilter, text: string): string {
  return filter.push(text) + filter.end();
}

/** One filter after the other. */
export function chainFilters(filters: readonly TextFilter[]): TextFilter {
  return {
    push: (piece) => filters.reduce((text, filter) => filter.push(text), piece),
    end: () => filters.reduce((text, filter) => filter.push(text) + filter.end(), ''),
  };
}

/**
 * True when `name` matches a pattern in which `*` stands for any text, also for none. Letter case
 * matters: fold both where it should not. Takes time in proportion to the length of the name for
 * each `*`.
 */
export function matchesPattern(name: string, pattern: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  if (!name.startsWith(first)) return false;
  const last = rest.pop();
  if (last === undefined) return name === first;
  let from = first.length;
  for (const part of rest) {
    const at = name.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return name.length - last.length >= from && name.endsWith(last);
}
