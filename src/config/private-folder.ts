// Folders that hold what only Holdfast may read.
import { chmod, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';

const PRIVATE = 0o700;

/** Makes the folder with mode 0700, and tightens the mode of one that is there as far as this process may. Folders above it are made as usual. */
export async function ensurePrivateFolder(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await mkdir(path, { mode: PRIVATE }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  });
  // Another user's folder, or a file system without modes: the doctor reports it.
  await chmod(path, PRIVATE).catch(() => undefined);
}
