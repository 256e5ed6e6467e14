// Which operating system user runs the server. PostgreSQL refuses to run as root, so root hands it to an unprivileged user; an
// ordinary user runs it as itself. Also answers what such a user can get at, since root's own eyes see through every permission.
import { randomBytes } from 'node:crypto';
import { readFileSync, realpathSync, statSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { dataDirUnusable } from './embedded-postgres-error.ts';

export interface OsUser {
  uid: number;
  gid: number;
}

/** The user to start a new cluster as: null means the current one. As root: `postgres` if the machine has it, else `nobody`. */
export function chooseServerUser(): OsUser | null {
  if (process.getuid?.() !== 0) return null;
  const accounts = readAccounts();
  return accounts.get('postgres') ?? accounts.get('nobody') ?? { uid: 65534, gid: 65534 };
}

/**
 * Whether `user` can get to `path` and read it (a directory: also enter it), by the permission bits of it and of every directory
 * above. Only the user's main group counts: a process that drops root for a user is left without other groups.
 */
export function canReach(path: string, user: OsUser): boolean {
  let current = realpathSync(path);
  if (!isAllowed(current, user, statSync(current).isDirectory() ? 0o5 : 0o4)) return false;
  while (current !== dirname(current)) {
    current = dirname(current);
    if (!isAllowed(current, user, 0o1)) return false;
  }
  return true;
}

/**
 * How the server's processes name the cluster directory `dir`: by its path, or on Linux, when `user` cannot pass the directories
 * above it (a project in /root), as the directory they are started in, which root may put them into.
 */
export function pathForServer(dir: string, user: OsUser | null): string {
  if (user === null || canReach(dir, user)) return dir;
  if (process.platform === 'linux') return '/proc/self/cwd';
  throw dataDirUnusable(
    `User ${user.uid}, who runs PostgreSQL because root may not, cannot enter the directories above ${dir}.`,
    'Set HOLDFAST_DATA_DIR to a directory that everybody can pass, start Holdfast as an ordinary user, or set DATABASE_URL.',
  );
}

export interface OwnedFile {
  path: string;
  text: string;
  user: OsUser | null;
  /** Whether its content must survive a power cut; waits for the disk. */
  isDurable: boolean;
}

/**
 * Puts a file of mode 0600 in the place of `path`, at once, and gives it to `user`. Never writes through a link that the directory's
 * owner might have put there for root to follow.
 */
export async function replaceOwned({ path, text, user, isDurable }: OwnedFile): Promise<void> {
  const fresh = `${path}.${randomBytes(4).toString('hex')}`;
  const file = await open(fresh, 'wx', 0o600);
  try {
    await file.writeFile(text);
    if (user !== null) await file.chown(user.uid, user.gid);
    if (isDurable) await file.sync();
  } finally {
    await file.close();
  }
  await rename(fresh, path);
}

function isAllowed(path: string, user: OsUser, bits: number): boolean {
  const { mode, uid, gid } = statSync(path);
  const granted = uid === user.uid ? mode >> 6 : gid === user.gid ? mode >> 3 : mode;
  return (granted & bits) === bits;
}

function readAccounts(): Map<string, OsUser> {
  const accounts = new Map<string, OsUser>();
  let lines: string[] = [];
  try {
    lines = readFileSync('/etc/passwd', 'utf8').split('\n');
  } catch {
    // An image without accounts: the conventional numbers of `nobody` serve.
  }
  for (const line of lines) {
    const [name, , uid, gid] = line.split(':');
    if (name && Number(uid) > 0) accounts.set(name, { uid: Number(uid), gid: Number(gid) });
  }
  return accounts;
}
