// Places of this machine: real paths, by which folders and files are compared and mounted, the
// folder of the workspaces, what a user can get to, and folders that only Holdfast may read.
import { existsSync, readlinkSync, realpathSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { ConfigError } from './config-error.ts';
import { chmod, mkdir, stat } from 'node:fs/promises';

/** The real path of what exists of a path. */
export function realPathOf(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  return dirname(path) === path ? path : join(realPathOf(dirname(path)), basename(path));
}

/**
 * A symbolic link: the real path of its folder with its name, and the real path that it leads to.
 */
export interface FoundLink {
  path: string;
  target: string;
}

/**
 * The links that the kernel follows on the way to an absolute path, in their order; none where the
 * path does not exist.
 */
export function linksOnTheWay(path: string): FoundLink[] {
  if (!existsSync(path)) return [];
  const links: FoundLink[] = [];
  let at = '/';
  for (let rest = path.split('/'); rest.length > 0;) {
    const [name = '', ...others] = rest;
    const next = join(at, name);
    const target = readLink(next);
    rest = target === null ? others : [...target.split('/'), ...others];
    if (target === null) at = next;
    else links.push({ path: next, target: realpathSync(next) });
    if (target !== null && isAbsolute(target)) at = '/';
  }
  return links;
}

function readLink(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

// The folder of the workspaces that are not configured. It is the data directory, unless the user
// that runs commands cannot enter that: then the entry `workspaces` of the data directory is a link
// to another folder, which stays right when the data directory is moved or opened.

/** The link in the data directory. */
export function workspacesLinkOf(dataDir: string): string {
  return join(dataDir, 'workspaces');
}

/** Throws `ConfigError` when the link leads to a folder that does not exist. */
export function workspacesFolderOf(dataDir: string): string {
  const link = workspacesLinkOf(dataDir);
  const folder = readTarget(link);
  if (folder === null) return dataDir;
  if (existsSync(folder)) return folder;
  const allowed = `a folder that exists; put the workspaces back there, or delete the link ${link} to begin with an empty one`;
  const message = `is in ${folder}, which ${link} leads to; allowed: ${allowed}`;
  throw new ConfigError([{ path: 'workspace.path', value: folder, allowed, message }]);
}

function readTarget(link: string): string | null {
  try {
    return readlinkSync(link);
  } catch {
    return null;
  }
}

// Users of this machine, and what they can get to by the permission bits. The bits are read,
// because root may open everything and so cannot try it out.

export interface OsUser {
  uid: number;
  gid: number;
}

/** An account of this machine. */
export interface Account extends OsUser {
  name: string;
}

/** Every account, root among them. An image without accounts has none. */
export function readAccounts(): Account[] {
  let lines: string[] = [];
  try {
    lines = readFileSync('/etc/passwd', 'utf8').split('\n');
  } catch {
    return [];
  }
  return lines.flatMap((line) => {
    const [name, , uid, gid] = line.split(':');
    return name && uid ? [{ name, uid: Number(uid), gid: Number(gid) }] : [];
  });
}

/**
 * The account of a name or a user id; an id without an account is its own group. Null: there is no
 * account of that name.
 */
export function findAccount(nameOrUid: string | number): Account | null {
  const known = readAccounts().find(({ name, uid }) => name === nameOrUid || uid === Number(nameOrUid));
  if (known !== undefined) return known;
  const uid = Number(nameOrUid);
  return Number.isInteger(uid) && uid >= 0 ? { name: `user ${uid}`, uid, gid: uid } : null;
}

/**
 * Whether `user` can get to `path` and read it (a directory: also enter it), by the permission bits
 * of it and of every directory above. Only the user's main group counts: a process that drops root
 * for a user is left without other groups.
 */
export function canReach(path: string, user: OsUser): boolean {
  const real = realpathSync(path);
  if (!isAllowed(real, user, statSync(real).isDirectory() ? 0o5 : 0o4)) return false;
  return closedFolderAbove(real, user) === null;
}

/** Whether `user` may make files in a folder, once there. */
export function canWrite(folder: string, user: OsUser): boolean {
  return isAllowed(folder, user, 0o7);
}

/**
 * The nearest folder above `path` that `user` cannot pass; null: none. `path` is real, without
 * links. Folders that do not exist yet will be passable.
 */
export function closedFolderAbove(path: string, user: OsUser): string | null {
  for (let current = path; current !== dirname(current);) {
    current = dirname(current);
    if (existsSync(current) && !isAllowed(current, user, 0o1)) return current;
  }
  return null;
}

function isAllowed(path: string, user: OsUser, bits: number): boolean {
  const { mode, uid, gid } = statSync(path);
  if (user.uid === 0) return true;
  const granted = uid === user.uid ? mode >> 6 : gid === user.gid ? mode >> 3 : mode;
  return (granted & bits) === bits;
}

// Folders that hold what only Holdfast may read.

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

/**
 * Makes the folder with mode 0700, and tightens the mode of one that is there as far as this
 * process may. Folders above it are made as usual. Throws `FolderError`.
 */
export async function ensurePrivateFolder(path: string): Promise<void> {
  await ensureFolder(path, PRIVATE);
}

/**
 * Makes the folder with mode 0700 if it is missing. The data directory may be open to the users of
 * commands, which need it while they run.
 */
export async function makePrivateFolder(path: string): Promise<void> {
  const found = await stat(path).catch(() => null);
  if (found?.isDirectory() !== true) await ensureFolder(path, PRIVATE);
}

/** Makes a folder with mode 0711, which holds folders of other users. */
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
