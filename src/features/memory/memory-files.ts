// The files of an agent's memory: MEMORY.md and memory/*.md of its workspace, and nothing else
// (G30). A file counts only when it is a regular one at its real path; nothing is read through
// links. Files are hashed again only when they changed.
import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { decodeToShow, detectEncoding } from '../../core/text.ts';
import { isAbsent, PathRefusedError } from '../../files/held-folder.ts';
import { confinedTo, resolveInside } from '../../files/confines.ts';
import { listInside, readBytes, withFileInside } from '../../files/inside.ts';

/** The paths that the memory tools accept. */
export const MEMORY_PATH = /^(?:MEMORY\.md|memory\/[^/\\\0]+\.md)$/;

export interface MemoryFile {
  /** `MEMORY.md` or `memory/<name>.md`. */
  path: string;
  /** With replacement characters when it is not text. */
  content: string;
  isText: boolean;
  sha256: string;
  /** True when the file is longer than the part that was read. */
  isCut: boolean;
}

/** The files of a memory by their hashes. */
export interface MemoryListing {
  files: { path: string; sha256: string }[];
  /** The files that are not text. */
  notText: string[];
  /** How many files are not read, because there are too many. */
  leftOut: number;
}

const FILE_BYTES_MAX = 1024 * 1024;
const FILES_MAX = 1000;
/** Files that are read in parallel. */
const READERS = 8;
/**
 * A file that changed so short a time before it was read may change again under the same stamp: it
 * is read again.
 */
const SETTLED_MS = 2_000;

type HashedFile = Pick<MemoryFile, 'sha256' | 'isText'>;

/** The cached facts of a hashed file. */
const seen = new LRUCache<string, HashedFile & { stamp: string }>({ max: 20_000 });

/**
 * The memory in a workspace, newest names first. Rejects with the signal's reason after an abort.
 */
export async function listMemory(workspaceDir: string, signal: AbortSignal): Promise<MemoryListing> {
  const { path: root } = await resolveInside('.', confinedTo(workspaceDir));
  const entries = (await orAbsent(listInside('memory', confinedTo(root)))) ?? [];
  const paths = entries
    .map(({ name }) => `memory/${name}`)
    .filter((path) => MEMORY_PATH.test(path))
    .toSorted((a, b) => (a < b ? 1 : -1));
  const all = ['MEMORY.md', ...paths];
  const searched = all.slice(0, FILES_MAX);
  const files: MemoryListing['files'] = [];
  const notText: string[] = [];
  for (let at = 0; at < searched.length; at += READERS) {
    signal.throwIfAborted();
    const hashes = await Promise.all(searched.slice(at, at + READERS).map((path) => hashFile(root, path)));
    for (const [index, hashed] of hashes.entries()) {
      const path = searched[at + index] as string;
      if (hashed?.isText === false) notText.push(path);
      else if (hashed !== null) files.push({ path, sha256: hashed.sha256 });
    }
  }
  return { files, notText, leftOut: all.length - searched.length };
}

/** One file of the memory; null when it does not exist. `path` must match MEMORY_PATH. */
export async function readMemoryFile(workspaceDir: string, path: string): Promise<MemoryFile | null> {
  const { path: root } = await resolveInside('.', confinedTo(workspaceDir));
  return await withFile(root, path, (file) => readWhole(file, path));
}

async function hashFile(root: string, path: string): Promise<HashedFile | null> {
  return await withFile(root, path, async (file, facts) => {
    const key = join(root, path);
    const stamp = [facts.dev, facts.ino, facts.size, facts.mtimeNs, facts.ctimeNs].join(':');
    const before = seen.get(key);
    if (before?.stamp === stamp) return before;
    const { sha256, isText } = await readWhole(file, path);
    const changedAtMs = Math.max(Number(facts.mtimeMs), Number(facts.ctimeMs));
    if (Date.now() - changedAtMs > SETTLED_MS) seen.set(key, { stamp, sha256, isText });
    return { sha256, isText };
  });
}

/** Uses a file that is where its name says, and nothing that leads elsewhere. */
async function withFile<Result>(
  root: string,
  name: string,
  use: (file: FileHandle, facts: BigIntStats) => Promise<Result>,
): Promise<Result | null> {
  return await orAbsent(
    withFileInside<Result | null>(name, confinedTo(root), async ({ file, facts, path }) =>
      path === join(root, name) ? await use(file, facts) : null,
    ),
  );
}

async function readWhole(file: FileHandle, path: string): Promise<MemoryFile> {
  // One byte more than is used, to know whether there is more.
  const { size } = await file.stat();
  const bytes = await readBytes(file, 0, Math.min(size, FILE_BYTES_MAX) + 1);
  const isCut = bytes.length > FILE_BYTES_MAX;
  const used = bytes.subarray(0, FILE_BYTES_MAX);
  const sha256 = createHash('sha256').update(used).digest('hex');
  const { text, isText } = decodeToShow(used, { encoding: detectEncoding(used), isCut });
  return { path, content: text, isText, sha256, isCut };
}

async function orAbsent<Found>(reading: Promise<Found>): Promise<Found | null> {
  try {
    return await reading;
  } catch (error) {
    if (isAbsent(error) || error instanceof PathRefusedError) return null;
    throw error;
  }
}
