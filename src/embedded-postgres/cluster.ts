// A cluster of Holdfast: the directory of PostgreSQL's files, its owner and its password. Reading
// one checks that it is complete and may be run by this process, so a `Cluster` need not be checked
// again.
import { existsSync, statSync } from 'node:fs';
import { readdir, readFile, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { dataDirUnusable, EmbeddedPostgresError } from './embedded-postgres-error.ts';
import { POSTGRES_MAJOR_VERSION } from './locate-binaries.ts';
import type { OsUser } from '../config/places.ts';

/** The superuser and the database of the embedded server. */
export const ROLE_NAME = 'holdfast';
export const DATABASE_NAME = 'holdfast';

/** The file in the cluster directory that holds the password of ROLE_NAME. */
export const PASSWORD_FILE = 'holdfast-password';

/** Where the cluster of a data directory is, or will be. */
export function clusterDirOf(dataDir: string): string {
  return join(dataDir, 'postgres');
}

/** A complete cluster. */
export interface Cluster {
  dir: string;
  /** The user that owns it and runs its server; null means the current user. */
  user: OsUser | null;
  /** The password of ROLE_NAME. */
  password: string;
}

/**
 * The cluster of `dataDir`, or null when there is none yet. Throws
 * `embedded_postgres_data_dir_unusable` and `embedded_postgres_version_mismatch`.
 */
export async function readCluster(dataDir: string): Promise<Cluster | null> {
  const dir = clusterDirOf(dataDir);
  if (!existsSync(dir)) return null;
  const user = readOwner(dir);
  if ((await readdir(dir)).length === 0) {
    await rmdir(dir);
    return null;
  }
  const [version, password] = await Promise.all(
    ['PG_VERSION', PASSWORD_FILE].map((name) => readFile(join(dir, name), 'utf8').catch(() => null)),
  );
  if (!version || !password) {
    throw dataDirUnusable(
      `${dir} is not a complete cluster of Holdfast: ${version ? PASSWORD_FILE : 'PG_VERSION'} is missing.`,
      'Restore it from a backup, or move it away to start with an empty database.',
    );
  }
  if (version.trim() !== POSTGRES_MAJOR_VERSION) {
    throw new EmbeddedPostgresError({
      code: 'embedded_postgres_version_mismatch',
      problem: `${dir} was made by PostgreSQL ${version.trim()}; this Holdfast brings version ${POSTGRES_MAJOR_VERSION}.`,
      remedy:
        'Dump it with the old version and load it into the new one, or set HOLDFAST_DATA_DIR to another directory.',
    });
  }
  return { dir, user, password: password.trim() };
}

/** The user of an existing cluster: PostgreSQL accepts no other. */
function readOwner(dir: string): OsUser | null {
  const self = process.getuid?.();
  if (self === undefined) return null;
  const { uid, gid } = statSync(dir);
  if (self === 0 && uid === 0) {
    throw dataDirUnusable(
      `${dir} belongs to root, and PostgreSQL does not run as root.`,
      `Give it to the user that should run it: chown -R postgres ${dir}`,
    );
  }
  if (self === 0) return { uid, gid };
  if (self === uid) return null;
  throw dataDirUnusable(
    `${dir} belongs to user ${uid}, but Holdfast runs as user ${self}.`,
    `Start Holdfast as user ${uid} or as root, or set HOLDFAST_DATA_DIR to another directory.`,
  );
}

/**
 * What clients of the cluster's server connect with:
 * `postgres://holdfast:<password>@127.0.0.1:<port>/holdfast`.
 */
export function databaseUrl(cluster: Cluster, port: number): string {
  return `postgres://${ROLE_NAME}:${cluster.password}@127.0.0.1:${port}/${DATABASE_NAME}`;
}
