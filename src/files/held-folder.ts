// Folders and files as places: what a name led to when it was checked is what is used (G41).
// Commands of an agent may exchange any folder of its workspace for a link at any moment, so a path
// says nothing about what the next call opens.
//
//   hold   a folder is opened as a place (O_PATH) and asked where it is: it is the one that was
//          resolved. From here on only `/proc/self/fd/N/<entry>` is used, which no exchange changes
//   open   an entry is opened as a place without following a link, is a regular file (a pipe or a
//          device would hold up the thread for as long as its other end likes), and only then is it
//          opened to be read
//   find   a file that is only read needs no held folder: its name is opened as a place, through
//          links, and the place is asked where it is
//
// Without /proc (macOS, Windows) a folder is checked by its path, before it is used by its path: an
// exchange in between is not noticed. docs/sandbox.md says what is a wall there.
import {
  closeSync,
  constants,
  existsSync,
  fstat,
  open as openDescriptor,
  openSync,
  readFileSync,
  readlinkSync,
  type BigIntStats,
} from 'node:fs';
import { open, realpath, stat, type FileHandle } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';

/**
 * `invalid`: no file can have this name. `outside`: it leads outside the folders. `changed`: what
 * it leads to was exchanged again and again while it was opened. `irregular`: it is no regular
 * file. `shared`: it is a second name of a file of another user.
 */
type Fault = 'invalid' | 'outside' | 'changed' | 'irregular' | 'shared';

/** Why a name is not opened, worded for the model: no path of the host is in it. */
export class PathRefusedError extends Error {
  readonly code = 'path_refused';
  override readonly name = 'PathRefusedError';
  readonly fault: Fault;
  constructor(fault: Fault, message: string) {
    super(message);
    this.fault = fault;
  }
}

const O_PATH = 0x200000;
export const HAS_PROC = process.platform === 'linux' && existsSync('/proc/self/fd');
/** To read: never through a link at the end, and never waiting for the other end of a pipe. */
const READ_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

const openPlace = promisify(openDescriptor);
const factsOf = promisify(fstat) as (descriptor: number, options: { bigint: true }) => Promise<BigIntStats>;

/** A folder that is held open: it stays the same one, wherever its path leads meanwhile. */
export class HeldFolder {
  /** Its real path. */
  readonly path: string;
  readonly #descriptor: number | null;

  private constructor(path: string, descriptor: number | null) {
    this.path = path;
    this.#descriptor = descriptor;
  }

  /**
   * The folder at a real path, reached through `via`. Throws `PathRefusedError` if it is elsewhere
   * by now, or the error of the file system.
   */
  static async open(path: string, via = path): Promise<HeldFolder> {
    if (!HAS_PROC) {
      if ((await realpath(path)) !== path || !(await stat(path)).isDirectory()) throw changed(basename(path));
      return new HeldFolder(path, null);
    }
    const descriptor = await openPlace(via, O_PATH | constants.O_DIRECTORY);
    let isThere = false;
    try {
      isThere = whereIs(descriptor) === path;
    } finally {
      if (!isThere) closeSync(descriptor);
    }
    if (!isThere) throw changed(basename(path));
    return new HeldFolder(path, descriptor);
  }

  /** The path of an entry, for one call of the file system. */
  at(entry: string): string {
    return this.#descriptor === null ? join(this.path, entry) : `/proc/self/fd/${this.#descriptor}/${entry}`;
  }

  close(): void {
    if (this.#descriptor !== null) closeSync(this.#descriptor);
  }
}

/**
 * Opens a regular file of a held folder, to be read. `root`: the folder whose owner may have
 * several names for a file; `name`: for errors.
 */
export async function openEntry(
  folder: HeldFolder,
  entry: string,
  { root, name }: { root: string; name: string },
): Promise<{ file: FileHandle; facts: BigIntStats }> {
  if (!HAS_PROC) {
    const file = await open(folder.at(entry), READ_FLAGS);
    try {
      const facts = await file.stat({ bigint: true });
      await assertOpenable(name, facts, root);
      return { file, facts };
    } catch (error) {
      await file.close();
      throw error;
    }
  }
  const place = await openPlace(folder.at(entry), O_PATH | constants.O_NOFOLLOW);
  try {
    const facts = await factsOf(place, { bigint: true });
    await assertOpenable(name, facts, root);
    return { file: await openToRead(place), facts };
  } finally {
    closeSync(place);
  }
}

/** A regular file that is known, and not open yet. */
export interface FoundFile {
  facts: BigIntStats;
  /** Its real path. */
  path: string;
  /** Opens it to be read; while it is used, and once. The caller closes it. */
  open: () => Promise<FileHandle>;
}

/**
 * Uses a regular file by a path that may lead through links. Only with /proc: nothing is resolved
 * before it, since the place that was opened is asked where it is. `findRoot` gets that path and
 * returns the root that it is in, or throws; `name`: for errors.
 */
export async function useFound<Result>(
  path: string,
  { name, findRoot }: { name: string; findRoot: (path: string) => Promise<string> },
  use: (found: FoundFile) => Promise<Result>,
): Promise<Result> {
  const place = await openPlace(path, O_PATH);
  try {
    const found = whereIs(place);
    if (found === null) throw changed(name);
    const root = await findRoot(found);
    const facts = await factsOf(place, { bigint: true });
    await assertOpenable(name, facts, root);
    return await use({ path: found, facts, open: () => openToRead(place) });
  } finally {
    closeSync(place);
  }
}

/**
 * The real path of an open place; null if it is in another name space of mounts, where the kernel
 * names it as if it were here: a user may make one, in which a folder of the workspace is any other
 * folder, and a link to `/proc/<pid>/root` leads there. This asks the kernel, and no file system:
 * it cannot hang. It throws for a path that is longer than paths can be.
 */
function whereIs(place: number): string | null {
  const path = readlinkSync(`/proc/self/fd/${place}`);
  const mount = mountOf(place);
  if (mount === mountOfRoot()) return path;
  // Read each time: the number of a mount that has ended is given to another one.
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8');
  return mounts.split('\n').some((line) => line.startsWith(`${mount} `)) ? path : null;
}

/**
 * The number of the mount that an open place is on; undefined where the kernel does not tell, as
 * for all places.
 */
function mountOf(place: number): string | undefined {
  return /^mnt_id:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${place}`, 'utf8'))?.[1];
}

let rootMount: { id: string | undefined } | undefined;

/**
 * That of `/`, which stays as long as the process. After a `chroot`, `mountinfo` need not have it.
 */
function mountOfRoot(): string | undefined {
  if (rootMount === undefined) {
    const root = openSync('/', O_PATH);
    rootMount = { id: mountOf(root) };
    closeSync(root);
  }
  return rootMount.id;
}

function openToRead(place: number): Promise<FileHandle> {
  return open(`/proc/self/fd/${place}`, constants.O_RDONLY | constants.O_NONBLOCK);
}

/**
 * A second name of a file of another user, which only a user without the kernel's protection of
 * hard links can make, would give that user what root may read and write.
 */
export async function assertOpenable(name: string, facts: BigIntStats, root: string): Promise<void> {
  if (facts.isSymbolicLink()) throw changed(name);
  if (!facts.isFile()) throw irregular(name);
  if (facts.nlink === 1n || process.getuid?.() !== 0) return;
  if (facts.uid !== (await stat(root, { bigint: true })).uid)
    throw new PathRefusedError('shared', `${name} is a second name of a file of another user`);
}

export function changed(name: string): PathRefusedError {
  return new PathRefusedError('changed', `${name} was changed while it was opened; try again when nothing changes it`);
}

export function irregular(name: string): PathRefusedError {
  return new PathRefusedError('irregular', `${name} is not a regular file`);
}

const ABSENT_CODES: ReadonlySet<unknown> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'ENXIO']);

/** True for the errors of the operating system that mean that there is no such file. */
export function isAbsent(error: unknown): boolean {
  return ABSENT_CODES.has((error as NodeJS.ErrnoException).code);
}
