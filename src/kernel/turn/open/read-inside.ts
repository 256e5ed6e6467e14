// Reads files of a workspace without ever leaving it: only regular files whose real path is inside are read, also through links,
// and of a file that is too large the beginning and the end.
import { open, realpath, stat, type FileHandle } from 'node:fs/promises';
import { sep } from 'node:path';
import { decodeToShow, detectEncoding, fromWholeCharacter } from '../../../core/text.ts';
import { isAbsent, READ_FLAGS, readBytes } from '../../../open-file.ts';

/** A workspace file is there and cannot be read; `cause` says why. */
export class WorkspaceFileError extends Error {
  readonly code = 'workspace_file_unreadable';

  constructor(path: string, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(`workspace file ${JSON.stringify(path)} cannot be read: ${reason}`, { cause });
    this.name = 'WorkspaceFileError';
  }
}

/** A file as it was under its stamp; without a stamp it is read again. Null content: there is no such file inside. */
export interface SeenFile {
  stamp: string | null;
  content: string | null;
  /** False when its content has replacement characters in the place of bytes that are not text. */
  isText: boolean;
}

export interface WorkspaceReading {
  /** The real path of the folder that files must be inside of, see `resolveRealRoot`. */
  root: string;
  bytesMax: number;
  /** The file as it was read before: answered again when it has not changed since. */
  before?: SeenFile | undefined;
}

export const ABSENT: SeenFile = { stamp: null, content: null, isText: true };

const ELISION = '\n\n[...]\n\n';
/** How often a file is opened that is replaced during every read. */
const OPENINGS_MAX = 3;

/** The real path of a folder; null when it does not exist. Throws `WorkspaceFileError`. */
export function resolveRealRoot(directory: string): Promise<string | null> {
  return orAbsent(() => realpath(directory), directory);
}

/** The file at an absolute path. Throws `WorkspaceFileError` for one that is there and cannot be read. */
export async function readInside(path: string, reading: WorkspaceReading, opening = 1): Promise<SeenFile> {
  const { root, bytesMax, before } = reading;
  const real = await orAbsent(() => realpath(path), path);
  if (real === null || !real.startsWith(root.endsWith(sep) ? root : root + sep)) return ABSENT;
  const facts = await orAbsent(() => stat(real, { bigint: true }), path);
  if (facts === null || !facts.isFile()) return ABSENT;
  const stamp = [real, facts.dev, facts.ino, facts.size, facts.mtimeNs, facts.ctimeNs].join(':');
  if (before?.stamp === stamp) return before;
  const handle = await orAbsent(() => open(real, READ_FLAGS), path);
  if (handle === null) return ABSENT;
  try {
    const opened = await handle.stat({ bigint: true });
    if (opened.ino === facts.ino && opened.dev === facts.dev) {
      return { stamp, ...(await readBounded(handle, Number(opened.size), bytesMax)) };
    }
  } catch (cause) {
    throw new WorkspaceFileError(path, cause);
  } finally {
    await handle.close();
  }
  // Replaced between the check and the opening: by an editor that saves, or by a malicious link.
  return opening < OPENINGS_MAX ? readInside(path, reading, opening + 1) : ABSENT;
}

/** The result of a read; null when there is no file. Throws `WorkspaceFileError`. */
export async function orAbsent<Found>(read: () => Promise<Found>, path: string): Promise<Found | null> {
  try {
    return await read();
  } catch (cause) {
    if (isAbsent(cause)) return null;
    throw new WorkspaceFileError(path, cause);
  }
}

async function readBounded(
  handle: FileHandle,
  size: number,
  bytesMax: number,
): Promise<Pick<SeenFile, 'content' | 'isText'>> {
  const isCut = size > bytesMax;
  // Even, because a character of UTF-16 has two or four bytes.
  const length = isCut ? 2 * Math.floor(bytesMax / 4) : size;
  const bytes = await readBytes(handle, 0, length);
  const encoding = detectEncoding(bytes);
  const head = decodeToShow(bytes, { encoding, isCut });
  if (!isCut) return { content: head.text, isText: head.isText };
  const end = fromWholeCharacter(await readBytes(handle, size - length, length), encoding);
  const tail = decodeToShow(end, { encoding, isCut: false });
  return { content: head.text + ELISION + tail.text, isText: head.isText && tail.isText };
}
