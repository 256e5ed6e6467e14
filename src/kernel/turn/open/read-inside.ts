// Reads files that a prompt shows: only regular files inside the workspace, also through links, and
// of a file that is too large the beginning and the end.
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeToShow, detectEncoding, fromWholeCharacter } from '../../../core/text.ts';
import { FileSystemHangsError } from '../../../files/file-slots.ts';
import { isAbsent, PathRefusedError } from '../../../files/held-folder.ts';
import { confinedTo } from '../../../files/confines.ts';
import { readBytes, withFoundInside } from '../../../files/inside.ts';

/** A workspace file is there and cannot be read; `cause` says why. */
export class WorkspaceFileError extends Error {
  readonly code = 'workspace_file_unreadable';

  constructor(path: string, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(`workspace file ${JSON.stringify(path)} cannot be read: ${reason}`, { cause });
    this.name = 'WorkspaceFileError';
  }
}

/**
 * A file as it was under its stamp; without a stamp it is read again. Null content: there is no
 * such file inside.
 */
export interface SeenFile {
  stamp: string | null;
  content: string | null;
  /** False when its content has replacement characters in the place of bytes that are not text. */
  isText: boolean;
}

export interface WorkspaceReading {
  workspaceDir: string;
  bytesMax: number;
  /** The file as it was read before: answered again when it has not changed since. */
  before?: SeenFile | undefined;
}

export const ABSENT: SeenFile = { stamp: null, content: null, isText: true };

/** A file that was written less than this ago is read again. */
const SETTLED_MS = 2_000;

const ELISION = '\n\n[...]\n\n';

/**
 * A file of the workspace by its name. Throws `WorkspaceFileError` for one that is there and cannot
 * be read.
 */
export async function readInside(
  name: string,
  { workspaceDir, bytesMax, before }: WorkspaceReading,
): Promise<SeenFile> {
  const found = await orAbsent(join(workspaceDir, name), () =>
    withFoundInside(name, confinedTo(workspaceDir), async ({ facts, path, open }) => {
      // The next change may have the same times, which are as coarse as the file system's clock.
      const isSettled = Date.now() - Number(facts.mtimeMs) > SETTLED_MS;
      const stamp = [path, facts.dev, facts.ino, facts.size, facts.mtimeNs, facts.ctimeNs].join(':');
      if (before?.stamp === stamp) return before;
      const file = await open();
      try {
        return { stamp: isSettled ? stamp : null, ...(await readBounded(file, Number(facts.size), bytesMax)) };
      } finally {
        await file.close();
      }
    }),
  );
  return found ?? ABSENT;
}

/** The result of a read; null when there is no such thing inside. Throws `WorkspaceFileError`. */
export async function orAbsent<Found>(path: string, read: () => Promise<Found>): Promise<Found | null> {
  try {
    return await read();
  } catch (cause) {
    if (isAbsent(cause) || (cause instanceof PathRefusedError && cause.fault !== 'invalid')) return null;
    // It passes, and the turn is tried again.
    if (cause instanceof FileSystemHangsError) throw cause;
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
