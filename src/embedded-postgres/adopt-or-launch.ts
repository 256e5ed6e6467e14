// Ends with exactly one server running on a cluster, from any state before: a server that serves,
// one that is starting or stopping, one that was killed and left its pid file, or none. The caller
// holds the start lock.
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Cluster, DATABASE_NAME, ROLE_NAME } from './cluster.ts';
import { EmbeddedPostgresError, noDisk } from './embedded-postgres-error.ts';
import { launchServer } from './launch-server.ts';
import type { PostgresBinaries } from './locate-binaries.ts';
import { endLeftBackends, isPostmasterAlive, readPostmasterFile } from './postmaster.ts';
import { pathForServer, replaceOwned } from './server-user.ts';

/**
 * How long a server that exists may be starting or stopping, and the last processes of a killed one
 * may take to go.
 */
const SETTLE_MS_MAX = 120_000;
const SETTLE_POLL_MS = 20;
const LEFT_BACKENDS_GRACE_MS = 1_000;
const LEFT_BACKENDS_POLL_MS = 100;
const PORT_ATTEMPTS_MAX = 5;

/** Receives one line per event; a pino logger fits. */
export interface LaunchLogger {
  info(fields: object, message: string): void;
}

export interface AdoptOrLaunchRequest {
  cluster: Cluster;
  logger: LaunchLogger;
  logPath: string;
  /** Called only when a server has to be launched. */
  locateBinaries: () => PostgresBinaries;
}

export interface Server {
  pid: number;
  port: number;
  wasAdopted: boolean;
}

/** Returns the cluster's server, verified by a login. Throws `EmbeddedPostgresError`. */
export async function adoptOrLaunch(request: AdoptOrLaunchRequest): Promise<Server> {
  const { cluster, logger } = request;
  const begin = performance.now();
  let launchedPid: number | null = null;
  let attempts = 0;
  let portAttempts = 0;
  for (;;) {
    const found = await findServer(cluster, begin + SETTLE_MS_MAX);
    if (found.kind === 'serving') {
      const wasAdopted = found.pid !== launchedPid;
      const event = wasAdopted ? 'Embedded PostgreSQL already runs and is used' : 'Embedded PostgreSQL started';
      logger.info({ postgresPid: found.pid, port: found.port }, event);
      return { pid: found.pid, port: found.port, wasAdopted };
    }
    if (launchedPid !== null)
      throw startFailed(`PostgreSQL (process ${launchedPid}) ended immediately after it had started.`);
    if (attempts === 0) announceLaunch(request, found.stalePid);
    attempts += 1;
    const outcome = await launchServer({
      cluster,
      binaries: request.locateBinaries(),
      logPath: request.logPath,
      stalePid: found.stalePid,
    });
    switch (outcome.kind) {
      case 'ready':
        launchedPid = outcome.pid;
        break;
      case 'port-taken':
        portAttempts += 1;
        if (portAttempts >= PORT_ATTEMPTS_MAX)
          throw startFailed('Other processes took each free port before PostgreSQL could listen on it.');
        break;
      case 'cluster-busy':
        await waitForLeftBackends(cluster, begin, outcome.log);
        break;
      default:
        outcome satisfies never;
    }
  }
}

type ServerState = { kind: 'serving'; pid: number; port: number } | { kind: 'none'; stalePid: number | null };

/** Waits while a living server of the cluster is starting or stopping. */
async function findServer(cluster: Cluster, deadline: number): Promise<ServerState> {
  for (;;) {
    const file = readPostmasterFile(cluster.dir);
    if (file === null) return { kind: 'none', stalePid: null };
    const { pid, port } = file;
    const answer = port === null ? ({ kind: 'silent' } as const) : await probeServer(cluster, port);
    if (answer.kind === 'ours' && port !== null) return { kind: 'serving', pid, port };
    if (!isPostmasterAlive(pid, cluster.dir)) return { kind: 'none', stalePid: pid };
    if (answer.kind === 'foreign')
      throw unresponsive(pid, 'refuses the password or cannot read the directory', answer.cause);
    if (performance.now() > deadline) throw unresponsive(pid, `has been ${file.status} for ${SETTLE_MS_MAX} ms`);
    await delay(SETTLE_POLL_MS);
  }
}

function announceLaunch({ cluster: { dir, user }, logger }: AdoptOrLaunchRequest, stalePid: number | null): void {
  if (stalePid !== null) logger.info({ dir, stalePid }, 'Embedded PostgreSQL was killed and is started again');
  if (pathForServer(dir, user) === dir) return;
  logger.info(
    { dir, ...user },
    'PostgreSQL starts inside its data directory, because its user cannot enter the directories above it',
  );
}

/** A killed server's processes end within a second, unless they are busy with a statement. */
async function waitForLeftBackends(cluster: Cluster, begin: number, log: string): Promise<void> {
  const waitedMs = performance.now() - begin;
  if (waitedMs > SETTLE_MS_MAX) throw startFailed(`Processes of a killed server still use ${cluster.dir}:\n${log}\n`);
  if (waitedMs > LEFT_BACKENDS_GRACE_MS) endLeftBackends(cluster.dir);
  await delay(LEFT_BACKENDS_POLL_MS);
}

function startFailed(problem: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError({
    code: 'embedded_postgres_start_failed',
    problem,
    remedy: 'See postgres.log in the data directory, or set DATABASE_URL.',
  });
}

function unresponsive(pid: number, problem: string, cause?: unknown): EmbeddedPostgresError {
  return new EmbeddedPostgresError({
    code: 'embedded_postgres_unresponsive',
    problem: `The PostgreSQL that runs on this data directory (process ${pid}) ${problem}.`,
    remedy: `See postgres.log in the data directory, or end that process (kill -INT ${pid}) and start again.`,
    cause,
  });
}

const CONNECT_MS_MAX = 3_000;
/** Creating the database copies 7 MB: 40 ms, more on a slow disk. */
const QUERY_MS_MAX = 30_000;
/**
 * SQLSTATEs of a server that may well be ours but cannot serve yet: starting, stopping, or without
 * a free connection.
 */
const NOT_NOW = ['57P03', '57P01', '53300'];
/** SQLSTATEs of a server that does not let us in. */
const NOT_LET_IN = ['28P01', '28000', '3D000'];
const DISK_FULL = '53100';

type ServerAnswer =
  | { kind: 'ours' }
  /** A server that is starting or stopping or full, ours or not. */
  | { kind: 'not-now' }
  /** Another server, or no PostgreSQL at all. */
  | { kind: 'foreign'; cause: unknown }
  /** No process listens, or none answers in time. */
  | { kind: 'silent' };

/**
 * Says whose server listens on `port`. It is ours if it knows our password (SCRAM proves that in
 * both directions) and sees a file that we have just put into the cluster directory: a copy of the
 * directory has the same password, and paths can differ between processes. If it is ours, its
 * database DATABASE_NAME exists afterwards. Throws `embedded_postgres_no_disk`, and what PostgreSQL
 * says when it refuses to create that database.
 */
async function probeServer(cluster: Cluster, port: number): Promise<ServerAnswer> {
  // Takes 30 ms, which a launch spends waiting for the server anyway.
  const { default: pg } = await import('pg');
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
  // Emitted as well as thrown when the server goes away; unheard, it would end the process.
  client.on('error', () => {});
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
