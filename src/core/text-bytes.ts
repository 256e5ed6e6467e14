// The bytes of a text file as text and back, without a loss: bytes that are not text are refused instead of being replaced, so
// that what is written after a change differs from what was read by the change alone.

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

/** A decoder that throws a `TypeError` for bytes that are not text, and leaves out the byte order mark. */
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
  /** False when it has replacement characters in the place of bytes that are not text: good to be shown, never to be written back. */
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

/** The bytes of a text that takes the place of `before`: in the same encoding, with a byte order mark if there was one. */
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
