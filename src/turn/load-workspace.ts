// The workspace files that a prompt shows, read from disk. Only regular files whose real place is inside the workspace are read,
// whatever links say; of a file that is too large the beginning and the end. This is on the way of every turn, so a workspace is
// looked at once in a moment at most, and a file is read again only when it has changed.
import { constants } from 'node:fs';
import { open, realpath, stat, type FileHandle } from 'node:fs/promises';
import { resolve, sep } from 'node:path';
import { performance } from 'node:perf_hooks';
import { LRUCache } from 'lru-cache';
import type { WorkspaceFile } from '../core/prompt/system-input.ts';

export interface WorkspaceLimits {
  /** The most of one file that is read, in bytes; absent: 1 MiB. */
  fileBytesMax?: number;
  /** How old an answer may be, in milliseconds; absent: 1000. Zero looks every time. */
  freshForMs?: number;
}

/** A workspace file is there and cannot be read; `cause` says why. */
export class WorkspaceFileError extends Error {
  readonly code = 'workspace_file_unreadable';

  constructor(path: string, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(`workspace file ${JSON.stringify(path)} cannot be read: ${reason}`, { cause });
    this.name = 'WorkspaceFileError';
  }
}

/** A file as it was under its stamp; without a stamp it is read anew. */
interface SeenFile {
  stamp: string | null;
  content: string | null;
}

interface SeenWorkspace {
  askedAtMs: number;
  files: Promise<readonly WorkspaceFile[]>;
  seen: Map<string, SeenFile>;
}

/** What is remembered of workspaces, bounded by the bytes of their files. */
export type WorkspaceCache = LRUCache<string, SeenWorkspace>;

const FILE_BYTES_MAX = 1024 * 1024;
const FRESH_FOR_MS = 1000;
const CACHE_BYTES_MAX = 64 * 1024 * 1024;
const ELISION = '\n\n[...]\n\n';
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
// What the operating system says when there is no such file.
const ABSENT_CODES: ReadonlySet<unknown> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG']);
/** How often a file is opened that is replaced every time it is looked at. */
const OPENINGS_MAX = 3;
const ABSENT: SeenFile = { stamp: null, content: null };

/** An empty memory of workspaces. */
export function createWorkspaceCache(): WorkspaceCache {
  return new LRUCache({ maxSize: CACHE_BYTES_MAX });
}

const sharedCache = createWorkspaceCache();

/**
 * The named files of a workspace, in the order of their names; `content` is null for what is not there, is no regular file, or
 * lies outside. Throws `WorkspaceFileError` for a file that is there and cannot be read: a turn must not run without
 * instructions that exist.
 */
export function loadWorkspaceFiles(
  workspaceDir: string,
  names: readonly string[],
  limits: WorkspaceLimits = {},
  cache: WorkspaceCache = sharedCache,
): Promise<readonly WorkspaceFile[]> {
  const { fileBytesMax = FILE_BYTES_MAX, freshForMs = FRESH_FOR_MS } = limits;
  const key = JSON.stringify([workspaceDir, fileBytesMax, ...names]);
  const known = cache.get(key);
  const now = performance.now();
  if (known !== undefined && now - known.askedAtMs < freshForMs) return known.files;
  const seen = known?.seen ?? new Map<string, SeenFile>();
  const workspace: SeenWorkspace = {
    askedAtMs: now,
    files: readAll(workspaceDir, names, { fileBytesMax, seen }),
    seen,
  };
  cache.set(key, workspace, { size: sizeOf(seen) });
  // Whoever asked is told of a failure; here it only means that nothing is remembered.
  workspace.files.then(
    () => cache.get(key) === workspace && cache.set(key, workspace, { size: sizeOf(seen) }),
    () => cache.get(key) === workspace && cache.delete(key),
  );
  return workspace.files;
}

function sizeOf(seen: ReadonlyMap<string, SeenFile>): number {
  return [...seen.values()].reduce((sum, { content }) => sum + 2 * (content?.length ?? 0), 1);
}

interface Reading {
  fileBytesMax: number;
  seen: Map<string, SeenFile>;
}

async function readAll(workspaceDir: string, names: readonly string[], reading: Reading): Promise<WorkspaceFile[]> {
  const realRoot = await orAbsent(() => realpath(workspaceDir), workspaceDir);
  return Promise.all(
    names.map(async (name) => {
      const path = resolve(workspaceDir, name);
      const file = realRoot === null ? ABSENT : await readOne(path, realRoot, { ...reading, name });
      reading.seen.set(name, file);
      return { name, path, content: file.content };
    }),
  );
}

async function readOne(
  path: string,
  realRoot: string,
  reading: Reading & { name: string },
  opening = 1,
): Promise<SeenFile> {
  const real = await orAbsent(() => realpath(path), path);
  if (real === null || !real.startsWith(realRoot.endsWith(sep) ? realRoot : realRoot + sep)) return ABSENT;
  const facts = await orAbsent(() => stat(real, { bigint: true }), path);
  if (facts === null || !facts.isFile()) return ABSENT;
  const stamp = [real, facts.dev, facts.ino, facts.size, facts.mtimeNs, facts.ctimeNs].join(':');
  const before = reading.seen.get(reading.name);
  if (before?.stamp === stamp) return before;
  const handle = await orAbsent(() => open(real, OPEN_FLAGS), path);
  if (handle === null) return ABSENT;
  try {
    const opened = await handle.stat({ bigint: true });
    if (opened.ino === facts.ino && opened.dev === facts.dev) {
      return { stamp, content: await readBounded(handle, Number(opened.size), reading.fileBytesMax) };
    }
  } catch (cause) {
    throw new WorkspaceFileError(path, cause);
  } finally {
    await handle.close();
  }
  // Replaced between the look and the opening: an editor that saves, or a link that has been put in the way.
  return opening < OPENINGS_MAX ? readOne(path, realRoot, reading, opening + 1) : ABSENT;
}

async function orAbsent<Found>(look: () => Promise<Found>, path: string): Promise<Found | null> {
  try {
    return await look();
  } catch (cause) {
    if (ABSENT_CODES.has((cause as NodeJS.ErrnoException).code)) return null;
    throw new WorkspaceFileError(path, cause);
  }
}

async function readBounded(handle: FileHandle, size: number, bytesMax: number): Promise<string> {
  if (size <= bytesMax) return new TextDecoder().decode(await readBytes(handle, 0, size));
  const half = Math.floor(bytesMax / 2);
  // Streaming leaves out a character that the cut has torn.
  const head = new TextDecoder().decode(await readBytes(handle, 0, half), { stream: true });
  const tail = await readBytes(handle, size - half, half);
  const start = tail.findIndex((byte) => (byte & 0xc0) !== 0x80);
  return head + ELISION + new TextDecoder().decode(tail.subarray(Math.max(start, 0)));
}

async function readBytes(handle: FileHandle, position: number, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await handle.read(bytes, filled, length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}
