// Users of this machine, and what they can get at by the permission bits: root's own eyes see through every permission.
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

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

/** The account of a name or a user id; an id without an account is its own group. Null: there is no account of that name. */
export function findAccount(nameOrUid: string | number): Account | null {
  const known = readAccounts().find(({ name, uid }) => name === nameOrUid || uid === Number(nameOrUid));
  if (known !== undefined) return known;
  const uid = Number(nameOrUid);
  return Number.isInteger(uid) && uid >= 0 ? { name: `user ${uid}`, uid, gid: uid } : null;
}

/**
 * Whether `user` can get to `path` and read it (a directory: also enter it), by the permission bits of it and of every directory
 * above. Only the user's main group counts: a process that drops root for a user is left without other groups.
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

/** The nearest folder above `path` that `user` cannot pass; null: none. `path` is real, without links. Folders that do not exist yet will be passable. */
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
