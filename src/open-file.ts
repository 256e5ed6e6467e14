// Opens and reads files that others may replace at any time.
import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';

/** To read: never through a link at the end, and never waiting for the other end of a pipe. */
export const READ_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

const ABSENT_CODES: ReadonlySet<unknown> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'ENXIO']);

/** True for the errors of the operating system that mean that there is no such file. */
export function isAbsent(error: unknown): boolean {
  return ABSENT_CODES.has((error as NodeJS.ErrnoException).code);
}

/** Up to `length` bytes from a position on; fewer at the end of the file. */
export async function readBytes(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(bytes, filled, length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}
