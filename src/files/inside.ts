// Files that an agent, a message or a workspace names (held-folder.ts). A file that is read is
// opened, and then asked whether it is in one of the folders that its name may lead into. For what
// is written, the real path of the name is in one of them; its parent folder is then held, and all
// that follows happens in that folder. What was exchanged in between is resolved again, up to
// ATTEMPTS_MAX times. What is written goes into a new file, which is renamed; missing folders are
// made one level at a time.
//
// Each function here has a slot for file calls (file-slots.ts) while it works, so none may be
// called within `use` or `work` of another.
import { randomUUID } from 'node:crypto';
import { constants, type BigIntStats, type Dirent, type Stats } from 'node:fs';
import { lstat, mkdir, open, readdir, rename, stat, unlink, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { findRoot, resolveName, type Confines, type ResolvedPath } from './confines.ts';
import { withFileSlot } from './file-slots.ts';
import {
  assertOpenable,
  changed,
  HAS_PROC,
  HeldFolder,
  irregular,
  isAbsent,
  openEntry,
  PathRefusedError,
  useFound,
  type FoundFile,
} from './held-folder.ts';

const ATTEMPTS_MAX = 4;
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
const APPEND_FLAGS =
  constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** A file that is open. The caller closes it. */
export interface OpenedFile {
  file: FileHandle;
  facts: BigIntStats;
  /** Its real path. */
  path: string;
}

/** Opens a regular file to be read. Throws `PathRefusedError` or the error of the file system. */
export function openInside(name: string, confines: Confines): Promise<OpenedFile> {
  const openFound = async ({ open: openFile, ...found }: FoundFile) => ({ ...found, file: await openFile() });
  return withFoundInside(name, confines, openFound, ({ file }) => file.close());
}

/** Uses a regular file, and closes it. Throws what `openInside` and `use` throw. */
export function withFileInside<Result>(
  name: string,
  confines: Confines,
  use: (opened: OpenedFile) => Promise<Result>,
): Promise<Result> {
  return withFoundInside(name, confines, async ({ open: openFile, ...found }) => {
    const file = await openFile();
    try {
      return await use({ ...found, file });
    } finally {
      await file.close();
    }
  });
}

/**
 * Uses a regular file that `use` opens, and closes, if it has to. Throws what `openInside` and
 * `use` throw.
 */
export function withFoundInside<Result>(
  name: string,
  confines: Confines,
  use: (found: FoundFile) => Promise<Result>,
  close?: (result: Result) => unknown,
): Promise<Result> {
  return withFileSlot(resolve(confines.base, name), () => find(name, confines, use), { close });
}

async function find<Result>(
  name: string,
  confines: Confines,
  use: (found: FoundFile) => Promise<Result>,
): Promise<Result> {
  if (!HAS_PROC) return attempt(name, confines, (resolved) => useResolved(resolved, use));
  let isFound = false;
  const root = (found: string): Promise<string> => {
    isFound = true;
    return findRoot(found, name, confines);
  };
  try {
    return await useFound(resolve(confines.base, name), { name, findRoot: root }, use);
  } catch (error) {
    // A name that leads outside is refused whether something is there or not.
    if (!isFound && !(error instanceof PathRefusedError)) await resolveName(name, confines);
    throw withoutPlace(error, name);
  }
}

async function useResolved<Result>(
  { path, root, name }: ResolvedPath & { name: string },
  use: (found: FoundFile) => Promise<Result>,
): Promise<Result> {
  const folder = await HeldFolder.open(dirname(path));
  try {
    const { file, facts } = await openEntry(folder, basename(path), { root, name });
    let isTaken = false;
    const take = async (): Promise<FileHandle> => {
      isTaken = true;
      return file;
    };
    try {
      return await use({ path, facts, open: take });
    } finally {
      if (!isTaken) await file.close();
    }
  } finally {
    folder.close();
  }
}

/** The entries of a folder. Throws `PathRefusedError` or the error of the file system. */
export function listInside(name: string, confines: Confines): Promise<Dirent[]> {
  return untilUnchanged(name, confines, async ({ path }) => {
    const folder = await HeldFolder.open(path);
    try {
      return await readdir(folder.at('.'), { withFileTypes: true });
    } finally {
      folder.close();
    }
  });
}

/**
 * Writes a file, whole or not at all, with the folders that it needs. A file that is replaced keeps
 * its mode, if none is given. As root, what is new belongs to the owner of the folder that the name
 * leads into: the user that commands run as. Throws `PathRefusedError` or the error of the file
 * system.
 */
export function replaceInside(
  name: string,
  confines: Confines,
  content: string | Uint8Array | AsyncIterable<Uint8Array>,
  { mode }: { mode?: number } = {},
): Promise<void> {
  return intoFolder(name, confines, async (folder, entry, owner) => {
    const before = await lstat(folder.at(entry)).catch(orAbsent);
    if (before?.isSymbolicLink()) throw changed(name);
    if (before?.isFile() === false) throw irregular(name);
    const draft = folder.at(`.tmp-${process.pid}-${randomUUID()}`);
    const file = await open(draft, 'wx', FILE_MODE);
    try {
      try {
        await file.writeFile(content);
        const kept = mode ?? (before === null ? undefined : before.mode & 0o777);
        if (kept !== undefined) await file.chmod(kept);
        if (owner !== null) await file.chown(owner.uid, owner.gid);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(draft, folder.at(entry));
    } catch (error) {
      await unlink(draft).catch(() => undefined);
      throw error;
    }
  });
}

/**
 * Opens a regular file to add to its end; one that is missing is made, with its folders. Throws
 * `PathRefusedError` or the error of the file system.
 */
export function openToAppend(name: string, confines: Confines): Promise<FileHandle> {
  const openEntryToAppend: WorkInFolder<FileHandle> = async (folder, entry, owner, root) => {
    const file = await open(folder.at(entry), APPEND_FLAGS, FILE_MODE);
    try {
      const facts = await file.stat({ bigint: true });
      await assertOpenable(name, facts, root);
      if (owner !== null && facts.uid === 0n) await file.chown(owner.uid, owner.gid);
      return file;
    } catch (error) {
      await file.close();
      throw error;
    }
  };
  return intoFolder(name, confines, openEntryToAppend, (file) => file.close());
}

/** Deletes a file, if there is one. Throws `PathRefusedError` or the error of the file system. */
export function removeInside(name: string, confines: Confines): Promise<void> {
  return untilUnchanged(name, confines, async ({ path }) => {
    const folder = await HeldFolder.open(dirname(path)).catch(orAbsent);
    if (folder === null) return;
    try {
      await unlink(folder.at(basename(path))).catch(orAbsent);
    } finally {
      folder.close();
    }
  });
}

/** Renames a file within its folder. Throws `PathRefusedError` or the error of the file system. */
export function renameInside(name: string, confines: Confines, to: string): Promise<void> {
  return intoFolder(name, confines, (folder, entry) => rename(folder.at(entry), folder.at(to)));
}

type Owner = Pick<Stats, 'uid' | 'gid'>;
type WorkInFolder<Result> = (folder: HeldFolder, entry: string, owner: Owner | null, root: string) => Promise<Result>;

/**
 * Works in the folder of a file that may be missing. `owner` is null where what is made stays with
 * the user of this process.
 */
function intoFolder<Result>(
  name: string,
  confines: Confines,
  work: WorkInFolder<Result>,
  close?: (result: Result) => unknown,
): Promise<Result> {
  const workIn = async ({ path, root }: ResolvedPath): Promise<Result> => {
    if (path === root) throw irregular(name);
    const owner = process.getuid?.() === 0 ? await stat(root).catch(orAbsent) : null;
    const given = owner === null || owner.uid === 0 ? null : owner;
    const folder = await openOrMake(dirname(path), root, given);
    try {
      return await work(folder, basename(path), given, root);
    } finally {
      folder.close();
    }
  };
  return untilUnchanged(name, confines, workIn, close);
}

async function openOrMake(path: string, root: string, owner: Owner | null): Promise<HeldFolder> {
  try {
    return await HeldFolder.open(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  await mkdir(root, { recursive: true, mode: FOLDER_MODE });
  let folder = await HeldFolder.open(root);
  for (const entry of relative(root, path).split(sep)) {
    try {
      await makeFolder(folder.at(entry), owner);
      const next = await HeldFolder.open(join(folder.path, entry), folder.at(entry));
      folder.close();
      folder = next;
    } catch (error) {
      folder.close();
      throw error;
    }
  }
  return folder;
}

async function makeFolder(place: string, owner: Owner | null): Promise<void> {
  try {
    await mkdir(place, FOLDER_MODE);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return;
    throw error;
  }
  if (owner === null) return;
  const made = await open(place, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    if ((await made.stat()).uid === 0) await made.chown(owner.uid, owner.gid);
  } finally {
    await made.close();
  }
}

type UsePath<Result> = (found: ResolvedPath & { name: string }) => Promise<Result>;

function untilUnchanged<Result>(
  name: string,
  confines: Confines,
  use: UsePath<Result>,
  close?: (result: Result) => unknown,
): Promise<Result> {
  return withFileSlot(resolve(confines.base, name), () => attempt(name, confines, use), { close });
}

async function attempt<Result>(name: string, confines: Confines, use: UsePath<Result>): Promise<Result> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await use({ ...(await resolveName(name, confines)), name });
    } catch (error) {
      if (!(error instanceof PathRefusedError)) throw withoutPlace(error, name);
      if (error.fault !== 'changed') throw error;
      if (attempts === ATTEMPTS_MAX) throw changed(name);
    }
  }
}

/** The error of the file system names what was asked for, and not the place that was used. */
function withoutPlace(error: unknown, name: string): unknown {
  if (error instanceof Error) error.message = error.message.replaceAll(/\/proc\/self\/fd\/\d+[^']*/g, name);
  return error;
}

function orAbsent(error: unknown): null {
  if (isAbsent(error)) return null;
  throw error;
}

/** Up to `length` bytes from a position on; fewer at the end of the file. */
export async function readBytes(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(bytes, filled, length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}
