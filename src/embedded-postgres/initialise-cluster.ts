// Makes a new cluster, and deletes one. It appears under its name by one rename, complete with
// password and access rules, and disappears by one, so a crash in the middle leaves only a
// directory to sweep away. The caller holds the start lock.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, mkdir, open, readdir, rename, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Cluster, clusterDirOf, PASSWORD_FILE, ROLE_NAME } from './cluster.ts';
import { EmbeddedPostgresError, noDisk } from './embedded-postgres-error.ts';
import type { PostgresBinaries } from './locate-binaries.ts';
import { ACCESS_RULES } from './server-settings.ts';
import type { OsUser } from '../config/places.ts';
import { pathForServer, replaceOwned } from './server-user.ts';

/** A cluster that is being made or deleted is called this and a random suffix. */
const UNFINISHED_PREFIX = 'postgres.unfinished-';
/** A fresh cluster takes 40 MB, its first WAL segments 32 MB; the rest is room to work. */
const FREE_BYTES_MIN = 256 * 1024 * 1024;
const OUTPUT_CHARS_MAX = 2000;

/**
 * Creates the cluster of `dataDir` and hands it to `user` (null: the current one); takes about a
 * second. Throws `embedded_postgres_no_disk`, `embedded_postgres_initdb_failed` and
 * `embedded_postgres_data_dir_unusable`.
 */
export async function initialiseCluster(
  dataDir: string,
  binaries: PostgresBinaries,
  user: OsUser | null,
): Promise<Cluster> {
  await sweepUnfinished(dataDir);
  await requireDisk(dataDir);
  const password = randomBytes(24).toString('base64url');
  const unfinished = unfinishedDirOf(dataDir);
  // Only this directory belongs to the server's user: a whole path made with mode 0700 would lock
  // that user out above it.
  await mkdir(unfinished, { mode: 0o700 });
  try {
    if (user !== null) await chown(unfinished, user.uid, user.gid);
    await runInitdb({ dir: unfinished, binaries, user, password });
    await replaceOwned({ path: join(unfinished, 'pg_hba.conf'), text: ACCESS_RULES, user, isDurable: true });
    await replaceOwned({ path: join(unfinished, PASSWORD_FILE), text: `${password}\n`, user, isDurable: true });
    await flushDirectory(unfinished);
    await rename(unfinished, clusterDirOf(dataDir));
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  }
  await flushDirectory(dataDir);
  return { dir: clusterDirOf(dataDir), user, password };
}

/** Deletes the cluster of `dataDir`, whose server does not run. */
export async function deleteCluster(dataDir: string): Promise<void> {
  const unfinished = unfinishedDirOf(dataDir);
  await rename(clusterDirOf(dataDir), unfinished);
  await rm(unfinished, { recursive: true, force: true });
}

function unfinishedDirOf(dataDir: string): string {
  return join(dataDir, UNFINISHED_PREFIX + randomBytes(4).toString('hex'));
}

/**
 * The remains of an earlier call that crashed. If its initdb is still writing, a later call deletes
 * them.
 */
async function sweepUnfinished(dataDir: string): Promise<void> {
  for (const name of await readdir(dataDir)) {
    if (name.startsWith(UNFINISHED_PREFIX))
      await rm(join(dataDir, name), { recursive: true, force: true }).catch(() => {});
  }
}

async function requireDisk(dataDir: string): Promise<void> {
  const { bavail, bsize } = await statfs(dataDir);
  if (bavail * bsize < FREE_BYTES_MIN)
    throw noDisk(`${dataDir} has ${bavail * bsize} bytes left, a new database needs ${FREE_BYTES_MIN}.`);
}

async function runInitdb(run: {
  dir: string;
  binaries: PostgresBinaries;
  user: OsUser | null;
  password: string;
}): Promise<void> {
  const { dir, binaries, user } = run;
  // initdb wants the password in a file and the directory empty. The file goes in as a descriptor,
  // because its path may be beyond the reach of `user`; it is kept next to the directory under a
  // name that is deleted with it.
  const passwordPath = `${dir}.password`;
  await writeFile(passwordPath, run.password, { mode: 0o600, flag: 'wx' });
  if (user !== null) await chown(passwordPath, user.uid, user.gid);
  const passwordFile = await open(passwordPath, 'r');
  try {
    const initdb = spawn(
      binaries.initdb,
      [
        `--pgdata=${pathForServer(dir, user)}`,
        `--username=${ROLE_NAME}`,
        `--pwfile=${process.platform === 'win32' ? passwordPath : '/dev/fd/3'}`,
        '--auth=scram-sha-256',
        '--encoding=UTF8',
        '--locale=C',
        '--no-instructions',
      ],
      // Its output goes into our pipes, so that it ends soon after us. The environment is empty:
      // PG* would mislead it.
      {
        cwd: dir,
        env: { LC_ALL: 'C' },
        stdio: ['ignore', 'pipe', 'pipe', passwordFile.fd],
        windowsHide: true,
        ...user,
      },
    );
    const { status, output, error } = await finished(initdb);
    if (status === 0) return;
    if (output.includes('No space left on device')) throw noDisk(`initdb ran out of disk in ${dir}.`);
    throw new EmbeddedPostgresError({
      code: 'embedded_postgres_initdb_failed',
      problem: `initdb ended with ${status}: ${error?.message ?? output.trim()}`,
      remedy: 'Correct what its output names, or set DATABASE_URL to a PostgreSQL server of version 15 or newer.',
      cause: error,
    });
  } finally {
    await passwordFile.close();
    await rm(passwordPath, { force: true });
  }
}

async function finished(
  child: ChildProcess,
): Promise<{ status: number | string | null; output: string; error?: Error }> {
  let output = '';
  const keepTail = (chunk: Buffer) => (output = (output + chunk.toString()).slice(-OUTPUT_CHARS_MAX));
  child.stdout?.resume();
  child.stderr?.on('data', keepTail);
  return new Promise((resolve) => {
    child.on('error', (error) => resolve({ status: null, output, error }));
    child.on('close', (code, signal) => resolve({ status: code ?? signal, output }));
  });
}

async function flushDirectory(dir: string): Promise<void> {
  if (process.platform === 'win32') return; // Cannot be opened there, and renames are journalled.
  const handle = await open(dir, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
