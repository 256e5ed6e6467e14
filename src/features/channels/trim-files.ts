// Deletes files that came with messages of chats, when they are older than messages are kept (`retention.messages`).
import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Config } from '../../config.ts';
import { CHANNEL_MEDIA } from '../../core/inbound.ts';
import type { Database } from '../../database/database.ts';
import { confinedTo } from '../../files/confines.ts';
import { removeInside } from '../../files/inside.ts';
import { readAwaitedFiles } from './store/awaited-files.ts';

/** The files of this machine. One that a message names which is not answered yet stays. */
export async function trimFiles({ config, database }: { config: Config; database: Database }): Promise<void> {
  const { messages: keptMs } = config.retention;
  if (keptMs === undefined) return;
  const folder = resolve(config.runtime.dataDir, CHANNEL_MEDIA);
  const old: string[] = [];
  // With their types, links to folders are not followed.
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }).catch(noneYet)) {
    const path = join(entry.parentPath, entry.name);
    const found = entry.isFile() ? await stat(path).catch(() => null) : null;
    if (found !== null && found.mtimeMs < Date.now() - keptMs) old.push(path);
  }
  if (old.length === 0) return;
  const awaited = new Set((await readAwaitedFiles(database)).map((path) => resolve(path)));
  for (const path of old) if (!awaited.has(path)) await removeInside(path, confinedTo(folder));
}

/** Without a file there is no folder. */
function noneYet(error: NodeJS.ErrnoException): [] {
  if (error.code === 'ENOENT') return [];
  throw error;
}
