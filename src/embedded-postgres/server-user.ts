// Which operating system user runs the server. PostgreSQL refuses to run as root, so root hands it
// to an unprivileged user; an ordinary user runs it as itself.
import { randomBytes } from 'node:crypto';
import { open, rename } from 'node:fs/promises';
import { canReach, readAccounts, type OsUser } from '../config/places.ts';
import { dataDirUnusable } from './embedded-postgres-error.ts';

/**
 * The user to start a new cluster as: null means the current one. As root: `postgres` if the
 * machine has it, else `nobody`.
 */
export function chooseServerUser(): OsUser | null {
  if (process.getuid?.() !== 0) return null;
  const accounts = readAccounts().filter(({ uid }) => uid > 0);
  const named = (wanted: string) => accounts.find(({ name }) => name === wanted);
  // An image without accounts: the conventional numbers of `nobody` serve.
  const { uid, gid } = named('postgres') ?? named('nobody') ?? { uid: 65534, gid: 65534 };
  return { uid, gid };
}

/**
 * How the server's processes name the cluster directory `dir`: by its path, or on Linux, when
 * `user` cannot pass the directories above it (a project in /root), as the directory they are
 * started in, which root may put them into.
 */
export function pathForServer(dir: string, user: OsUser | null): string {
  if (user === null || canReach(dir, user)) return dir;
  if (process.platform === 'linux') return '/proc/self/cwd';
  throw dataDirUnusable(
    `User ${user.uid}, which runs PostgreSQL because root must not, cannot enter the directories above ${dir}.`,
    'Set HOLDFAST_DATA_DIR to a directory that every user can enter, start Holdfast as an ordinary user, or set DATABASE_URL.',
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
 * Replaces `path` atomically by a file of mode 0600 owned by `user`. Never writes through a link
 * that the directory's owner might have put there for root to follow.
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
