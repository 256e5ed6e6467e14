// Checks whether the process that listens on a port is the server of our cluster. It is, if it knows our password (SCRAM proves
// that in both directions) and sees a file that we have just put into the cluster directory: a copy of the directory has the
// same password, and paths can differ between processes.
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { noDisk } from './embedded-postgres-error.ts';
import { type Cluster, DATABASE_NAME, ROLE_NAME } from './cluster.ts';
import { replaceOwned } from './server-user.ts';

const CONNECT_MS_MAX = 3_000;
/** Creating the database copies 7 MB: 40 ms, more on a slow disk. */
const QUERY_MS_MAX = 30_000;
/** SQLSTATEs of a server that may well be ours but cannot serve yet: starting, stopping, or without a free connection. */
const NOT_NOW = ['57P03', '57P01', '53300'];
/** SQLSTATEs of a server that does not let us in. */
const NOT_LET_IN = ['28P01', '28000', '3D000'];
const DISK_FULL = '53100';

export type ServerAnswer =
  | { kind: 'ours' }
  /** A server that is starting or stopping or full, ours or not. */
  | { kind: 'not-now' }
  /** Another server, or no PostgreSQL at all. */
  | { kind: 'foreign'; cause: unknown }
  /** No process listens, or none answers in time. */
  | { kind: 'silent' };

/**
 * Says whose server listens on `port`. If it is ours, its database DATABASE_NAME exists afterwards. Throws
 * `embedded_postgres_no_disk`, and what PostgreSQL says when it refuses to create that database.
 */
export async function probeServer(cluster: Cluster, port: number): Promise<ServerAnswer> {
  const { default: pg } = await import('pg'); // Takes 30 ms, which a launch spends waiting for the server anyway.
  const client = new pg.Client({
    host: '127.0.0.1',
    port,
    user: ROLE_NAME,
    password: cluster.password,
    database: 'postgres',
    ssl: false,
    connectionTimeoutMillis: CONNECT_MS_MAX,
    query_timeout: QUERY_MS_MAX,
  });
  client.on('error', () => {}); // Emitted as well as thrown when the server goes away; unheard, it would end the process.
  const token = `holdfast-probe-${randomBytes(8).toString('hex')}`;
  try {
    await replaceOwned({ path: join(cluster.dir, token), text: '', user: cluster.user, isDurable: false });
    await client.connect();
    const { rows } = await client.query<{ is_ours: boolean; has_database: boolean }>(
      `SELECT (pg_stat_file($1, true)).size IS NOT NULL AS is_ours,
              EXISTS (SELECT FROM pg_database WHERE datname = $2) AS has_database`,
      [token, DATABASE_NAME],
    );
    if (!rows[0]?.is_ours) return { kind: 'foreign', cause: undefined };
    if (!rows[0].has_database) await client.query(`CREATE DATABASE ${DATABASE_NAME}`);
    return { kind: 'ours' };
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) return { kind: 'silent' };
    if (NOT_NOW.includes(error.code ?? '')) return { kind: 'not-now' };
    if (NOT_LET_IN.includes(error.code ?? '')) return { kind: 'foreign', cause: error };
    if (error.code === DISK_FULL) throw noDisk(`PostgreSQL could not create the database ${DATABASE_NAME}.`);
    throw error;
  } finally {
    await Promise.all([client.end().catch(() => {}), rm(join(cluster.dir, token), { force: true })]);
  }
}
