// The workspace files that a prompt shows, read from disk: those inside the workspace alone, see
// read-inside.ts. Many sessions may begin together, so the workspace is checked at most once in a
// short interval, and a file is read again only when it has changed.
import { resolve } from 'node:path';
import { performance } from 'node:perf_hooks';
import { LRUCache } from 'lru-cache';
import type { WorkspaceFile } from '../../../prompt/system-input.ts';
import { NOT_TEXT } from '../../../core/text.ts';
import { readInside, type SeenFile } from './read-inside.ts';

export interface WorkspaceLimits {
  /** The most of one file that is read, in bytes; absent: 1 MiB. */
  fileBytesMax?: number;
  /**
   * The maximum age of a cached answer, in milliseconds; absent: 25. Zero reads the disk each time.
   */
  freshForMs?: number;
}

interface SeenWorkspace {
  askedAtMs: number;
  files: Promise<readonly WorkspaceFile[]>;
  seen: Map<string, SeenFile>;
}

/** The cache of workspaces, bounded by the bytes of their files. */
export type WorkspaceCache = LRUCache<string, SeenWorkspace>;

const FILE_BYTES_MAX = 1024 * 1024;
/** Short: a session that begins after an edit of a file must see the edit. */
const FRESH_FOR_MS = 25;
const CACHE_BYTES_MAX = 64 * 1024 * 1024;

/** An empty memory of workspaces. */
export function createWorkspaceCache(): WorkspaceCache {
  return new LRUCache({ maxSize: CACHE_BYTES_MAX });
}

const sharedCache = createWorkspaceCache();

/**
 * The named files of a workspace, in the order of their names; `content` is null for what is not
 * there, is no regular file, or lies outside. Throws `WorkspaceFileError` for a file that is there
 * and cannot be read: a turn must not run without instructions that exist.
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
  cache.set(key, workspace, { size: measureSize(seen) });
  // The caller receives the failure; here it only means that nothing is cached.
  workspace.files.then(
    () => cache.get(key) === workspace && cache.set(key, workspace, { size: measureSize(seen) }),
    () => cache.get(key) === workspace && cache.delete(key),
  );
  return workspace.files;
}

function measureSize(seen: ReadonlyMap<string, SeenFile>): number {
  return [...seen.values()].reduce((sum, { content }) => sum + 2 * (content?.length ?? 0), 1);
}

/**
 * A turn does not fail because of a file in another encoding: its instructions are shown as far as
 * they can be read.
 */
function formatNote(name: string): string {
  return `[${name} ${NOT_TEXT}: what could not be read is shown as \uFFFD. Convert it to UTF-8.]`;
}

interface Reading {
  fileBytesMax: number;
  seen: Map<string, SeenFile>;
}

async function readAll(workspaceDir: string, names: readonly string[], reading: Reading): Promise<WorkspaceFile[]> {
  return Promise.all(
    names.map(async (name) => {
      const before = reading.seen.get(name);
      const file = await readInside(name, { workspaceDir, bytesMax: reading.fileBytesMax, before });
      reading.seen.set(name, file);
      const path = resolve(workspaceDir, name);
      return { name, path, content: file.isText ? file.content : `${formatNote(name)}\n\n${file.content}` };
    }),
  );
}
