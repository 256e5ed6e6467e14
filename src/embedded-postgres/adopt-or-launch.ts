// Ends with exactly one server running on a cluster, from any state before: a server that serves, one that is starting or
// stopping, one that was killed and left its pid file, or none. The caller holds the start lock.
import { setTimeout as delay } from 'node:timers/promises';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import type { Cluster } from './cluster.ts';
import { launchServer } from './launch-server.ts';
import type { PostgresBinaries } from './locate-binaries.ts';
import { endLeftBackends, isPostmasterAlive, readPostmasterFile } from './postmaster.ts';
import { probeServer } from './probe-server.ts';
import { pathForServer } from './server-user.ts';

/** How long a server that exists may be starting or stopping, and the last processes of a killed one may take to go. */
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
