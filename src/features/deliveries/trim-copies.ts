// Deletes the copies of files whose deliveries need them no more. Nothing else deletes one that was
// sent, so a crash at any point leaves at most a file that the next round deletes.
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isUuid } from '../../core/ids.ts';
import { outgoingFolder } from '../../files/copies.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { readCopyStates } from './store/copies.ts';

/**
 * A file without a delivery is older than that: a younger one may be of a call that is about to
 * store its delivery.
 */
const STRAY_MS_MIN = 60 * 60_000;

/** The copies of this machine. */
export async function trimCopies({ config, database }: Pick<Service, 'config' | 'database'>): Promise<void> {
  const folder = outgoingFolder(config.runtime.dataDir);
  const entries = await readdir(folder, { withFileTypes: true }).catch(noneYet);
  const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  if (names.length === 0) return;
  const states = await readCopyStates(database, names.filter(isUuid));
  for (const name of names) {
    const path = join(folder, name);
    if (states.get(name) ?? !(await isStray(path))) continue;
    await rm(path, { force: true });
  }
}

async function isStray(path: string): Promise<boolean> {
  const facts = await stat(path).catch(() => null);
  return facts !== null && facts.mtimeMs < Date.now() - STRAY_MS_MIN;
}

/** Without a file there is no folder. */
function noneYet(error: NodeJS.ErrnoException): [] {
  if (error.code === 'ENOENT') return [];
  throw error;
}
