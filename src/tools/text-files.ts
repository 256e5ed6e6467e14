// Text files, read strictly. A file that is not text is refused by its name: what was decoded with
// replacement characters could only be written back with other bytes than it had.
import type { FileHandle } from 'node:fs/promises';
import { decodeText, detectEncoding, NOT_TEXT, strictDecoder } from '../core/text.ts';
import { readBytes } from '../files/inside.ts';

/**
 * The largest file that is read or edited as a whole, and the most that a range of lines may have.
 */
export const WHOLE_BYTES_MAX = 256 * 1024;

/**
 * The largest file that is read to its end, because all of it must be text. A file in which nothing
 * is stored can have any size.
 */
export const SCANNED_BYTES_MAX = 64 * 1024 * 1024;

/** How much of a file is read at once. */
const PIECE_BYTES = 64 * 1024;

/** A fault of a file, worded for the model: no path of the host is in it. */
export class TextFileError extends Error {
  readonly code = 'text_file';
  override readonly name = 'TextFileError';
}

/** An open file, how the model named it, and its size in bytes. */
export interface NamedFile {
  file: FileHandle;
  name: string;
  size: number;
}

/** What was not done with a file. */
type Verb = 'read' | 'changed' | 'replaced';

/** The fault of a file that is not text, with what to do. */
export function notText(name: string, verb: Verb): TextFileError {
  return new TextFileError(
    `${name} ${NOT_TEXT}, so it was not ${verb}; convert a text to UTF-8 first, for example with iconv -f WINDOWS-1252 -t UTF-8, and handle any other file with a command`,
  );
}

/** The bytes and the text of a whole file, to be changed. */
export async function readText({ file, name, size }: NamedFile): Promise<{ bytes: Uint8Array; text: string }> {
  const bytes = await readBytes(file, 0, size);
  const text = decodeText(bytes);
  if (text === null) throw notText(name, 'changed');
  return { bytes, text };
}

/**
 * Throws `TextFileError` if the file is not text, which a text must not replace. Rejects with the
 * signal's reason after an abort.
 */
export async function assertText(file: NamedFile, signal: AbortSignal): Promise<void> {
  for await (const _piece of readPieces(file, 'replaced', signal));
}

/**
 * The lines from `first` to `last`, counted from 1, joined as they were; the whole file is checked.
 * Rejects with the signal's reason after an abort.
 */
export async function readLines(
  file: NamedFile,
  { first, last, signal }: { first: number; last: number; signal: AbortSignal },
): Promise<string> {
  let line = 1;
  let found = '';
  for await (const piece of readPieces(file, 'read', signal)) {
    for (let at = 0; at < piece.length; line += 1) {
      const end = piece.indexOf('\n', at);
      const isWanted = line >= first && line <= last;
      if (isWanted) found += piece.slice(at, end === -1 ? undefined : line === last ? end : end + 1);
      if (found.length > WHOLE_BYTES_MAX) {
        throw new TextFileError(
          `${file.name} has more than ${WHOLE_BYTES_MAX} characters in these lines; narrow the view_range`,
        );
      }
      if (end === -1) break;
      at = end + 1;
    }
  }
  return found;
}

async function* readPieces({ file, name, size }: NamedFile, verb: Verb, signal: AbortSignal): AsyncGenerator<string> {
  let decoder: ReturnType<typeof strictDecoder> | null = null;
  try {
    for (let at = 0, isLast = false; !isLast; at += PIECE_BYTES) {
      // It may grow while it is read.
      const known = Math.max(size, at);
      if (known > SCANNED_BYTES_MAX) {
        throw new TextFileError(
          `${name} has ${known} bytes, more than the ${SCANNED_BYTES_MAX} that can be ${verb}; handle it with a command`,
        );
      }
      const bytes = await readBytes(file, at, PIECE_BYTES);
      signal.throwIfAborted();
      isLast = bytes.length < PIECE_BYTES;
      decoder ??= strictDecoder(detectEncoding(bytes));
      yield decoder.decode(bytes, { stream: true });
    }
    // Throws if the file ends within a character.
    decoder?.decode();
  } catch (error) {
    throw error instanceof TypeError ? notText(name, verb) : error;
  }
}
