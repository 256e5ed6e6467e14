// Copies of files that are used later than they are named. A file is read once, from what was
// opened, in chunks that are hashed as they pass: what happens to the file afterwards changes
// nothing.
import { createHash, type Hash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { resolve } from 'node:path';
import { readBytes, replaceInside } from './inside.ts';

const CHUNK_BYTES = 1024 * 1024;

/**
 * The private folder of the data directory in which the files that agents send wait, each under the
 * id of its delivery.
 */
export function outgoingFolder(dataDir: string): string {
  return resolve(dataDir, 'outgoing');
}

/** A file has more bytes than it may, by its size or, if it grows, while it is read. */
export class FileTooLargeError extends Error {
  override readonly name = 'FileTooLargeError';
  /** The size as far as it is known. */
  readonly bytes: number;
  constructor(bytes: number) {
    super(`The file has ${bytes} bytes`);
    this.bytes = bytes;
  }
}

export interface ReadOptions {
  bytesMax: number;
  signal: AbortSignal;
}

/** What was read of a file. */
export interface FileDigest {
  bytes: number;
  sha256: string;
}

/** Throws `FileTooLargeError`, the reason of the signal, or the error of the file system. */
export async function hashFile(file: FileHandle, options: ReadOptions): Promise<FileDigest> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of readChunks(file, hash, options)) bytes += chunk.length;
  return { bytes, sha256: hash.digest('hex') };
}

/** Copies a file under a name into a folder, whole or not at all. Throws as `hashFile` does. */
export async function copyFile(
  file: FileHandle,
  { folder, name, ...options }: ReadOptions & { folder: string; name: string },
): Promise<Pick<FileDigest, 'sha256'>> {
  const hash = createHash('sha256');
  await replaceInside(name, { base: folder, roots: [folder] }, readChunks(file, hash, options));
  return { sha256: hash.digest('hex') };
}

async function* readChunks(file: FileHandle, hash: Hash, { bytesMax, signal }: ReadOptions): AsyncGenerator<Buffer> {
  const { size } = await file.stat();
  if (size > bytesMax) throw new FileTooLargeError(size);
  for (let position = 0; ;) {
    signal.throwIfAborted();
    const chunk = await readBytes(file, position, CHUNK_BYTES);
    if (chunk.length === 0) return;
    position += chunk.length;
    if (position > bytesMax) throw new FileTooLargeError(position);
    hash.update(chunk);
    yield chunk;
  }
}
