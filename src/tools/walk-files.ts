// The regular files below a folder, for the tools that search: bounded in number and depth. Only real folders are entered, each as the place that it is
// (src/files/inside.ts), so an exchange for a link leads nowhere. The toolset of the model's provider walks by path, which a command can redirect.
import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
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
 * Visits the files below `start`, a folder in `root`, which is a real path. `visit` answers false to end the walk. Resolves with false when it ended
 * at its limit. Rejects with the signal's reason after an abort.
 */
export async function walkFiles(
  { root, start, signal }: { root: string; start: string; signal: AbortSignal },
  visit: (file: WalkedFile) => Promise<boolean> | boolean,
): Promise<boolean> {
  const waiting = [{ relative: start, depth: 0 }];
  let walked = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const folder = await HeldFolder.open(join(root, next.relative)).catch(orUnreadable);
    if (folder === null) continue;
    try {
      for await (const entry of await opendir(folder.at('.'))) {
        signal.throwIfAborted();
        if (++walked > WALKED_ENTRIES_MAX) return false;
        const relative = join(next.relative, entry.name);
        if (entry.isDirectory()) {
          if (next.depth < WALK_DEPTH_MAX && !SKIPPED_FOLDERS.has(entry.name))
            waiting.push({ relative, depth: next.depth + 1 });
        } else if (entry.isFile() && !(await visit({ folder, entry: entry.name, relative }))) return true;
      }
    } catch (error) {
      orUnreadable(error);
    } finally {
      folder.close();
    }
  }
  return true;
}

/** Deleted or exchanged meanwhile, no folder, or not readable for this process: it has no matches. Throws any other error. */
export function orUnreadable(error: unknown): null {
  const isDenied = ['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '');
  if (isDenied || isAbsent(error) || error instanceof PathRefusedError) return null;
  throw error;
}
