// Folders that hold what only Holdfast may read.
import { chmod, mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

const PRIVATE = 0o700;
/** All users may pass it, and none may list it. */
const PASSABLE = 0o711;

/** A folder that Holdfast needs is a file, or cannot be made. */
class FolderError extends Error {
  readonly code = 'folder_unusable';
  constructor(path: string, fault: string, cause?: unknown) {
    super(`${path} ${fault}`, { cause });
    this.name = 'FolderError';
  }
}

/** Makes the folder with mode 0700, and tightens the mode of one that is there as far as this process may. Folders above it are made as usual. Throws `FolderError`. */
export async function ensurePrivateFolder(path: string): Promise<void> {
  await ensureFolder(path, PRIVATE);
}

/** Makes the folder with mode 0700 if it is missing. The data directory may be open to the users of commands, which need it while they run. */
export async function makePrivateFolder(path: string): Promise<void> {
  const found = await stat(path).catch(() => null);
  if (found?.isDirectory() !== true) await ensureFolder(path, PRIVATE);
}

/** As `ensurePrivateFolder` with mode 0711, for folders that hold those of other users. */
export async function ensurePassableFolder(path: string): Promise<void> {
  await ensureFolder(path, PASSABLE);
}

async function ensureFolder(path: string, mode: number): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true });
    await mkdir(path, { mode });
  } catch (error) {
    const found = await stat(path).catch(() => null);
    if (found === null) throw new FolderError(path, `cannot be created: ${String(error)}`, error);
    if (!found.isDirectory()) throw new FolderError(path, 'is not a folder');
  }
  // Another user's folder, or a file system without modes: the doctor reports it.
  await chmod(path, mode).catch(() => undefined);
}
