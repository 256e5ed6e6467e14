// The regular files below a folder, for the tools that search: bounded in number and depth. Only
// real folders are entered, each as the place that it is (src/files/inside.ts), so an exchange for
// a link leads nowhere. The toolset of the model's provider walks by path, which a command can
// redirect.
import type { Dirent } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { withFileSlot } from '../files/file-slots.ts';
import { HeldFolder, isAbsent, PathRefusedError } from '../files/held-folder.ts';

export const WALKED_ENTRIES_MAX = 50_000;
const WALK_DEPTH_MAX = 40;
/** Never entered: large, and without files of interest. */
const SKIPPED_FOLDERS = new Set(['.git', 'node_modules']);

/** A file in a folder that is held open while the file is visited. */
export interface WalkedFile {
  folder: HeldFolder;
  entry: string;
  /** From the folder where the walk began. */
  relative: string;
}

/**
 * Visits the files below `start`, a folder in `root`, which is a real path. `visit` answers false
 * to end the walk. Resolves with false when it ended at its limit. Rejects with the signal's reason
 * after an abort.
 */
export async function walkFiles(
  { root, start, signal }: { root: string; start: string; signal: AbortSignal },
  visit: (file: WalkedFile) => Promise<boolean>,
): Promise<boolean> {
  const waiting = [{ relative: start, depth: 0 }];
  let walked = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const path = join(root, next.relative);
    const room = WALKED_ENTRIES_MAX - walked;
    const close = ({ held }: ReadFolder): void => held.close();
    const folder = await withFileSlot(path, () => readFolder(path, room + 1), { signal, close }).catch(orUnreadable);
    if (folder === null) continue;
    try {
      for (const entry of folder.entries.slice(0, room)) {
        const relative = join(next.relative, entry.name);
        if (entry.isDirectory()) {
          if (next.depth < WALK_DEPTH_MAX && !SKIPPED_FOLDERS.has(entry.name))
            waiting.push({ relative, depth: next.depth + 1 });
        } else if (entry.isFile()) {
          signal.throwIfAborted();
          if (!(await visit({ folder: folder.held, entry: entry.name, relative }))) return true;
        }
      }
    } finally {
      folder.held.close();
    }
    if (folder.entries.length > room) return false;
    walked += folder.entries.length;
  }
  return true;
}

/** A folder that is held open, with its first entries. */
interface ReadFolder {
  held: HeldFolder;
  entries: Dirent[];
}

async function readFolder(path: string, entriesMax: number): Promise<ReadFolder> {
  const held = await HeldFolder.open(path);
  try {
    const entries: Dirent[] = [];
    for await (const entry of await opendir(held.at('.'))) if (entries.push(entry) >= entriesMax) break;
    return { held, entries };
  } catch (error) {
    held.close();
    throw error;
  }
}

/**
 * Deleted or exchanged meanwhile, no folder, or not readable for this process: it has no matches.
 * Throws any other error.
 */
export function orUnreadable(error: unknown): null {
  const isDenied = ['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '');
  if (isDenied || isAbsent(error) || error instanceof PathRefusedError) return null;
  throw error;
}
