// Ends with exactly one server running on a cluster, whatever was there before: a server that serves, one that is starting or
// stopping, one that was killed and left its pid file, or none. The caller holds the start lock.
import { setTimeout as delay } from 'node:timers/promises';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import type { Cluster } from './cluster.ts';
import { launchServer } from './launch-server.ts';
import type { PostgresBinaries } from './locate-binaries.ts';
import { isPostmasterAlive, readPostmasterFile } from './postmaster.ts';
import { probeServer } from './probe-server.ts';
import { pathForServer } from './server-user.ts';

/** How long a server that exists may be starting or stopping, and the last processes of a killed one may take to go. */
const SETTLE_MS_MAX = 60_000;
const SETTLE_POLL_MS = 20;
const PORT_ATTEMPTS_MAX = 5;

/** Told what happens, one line per event; a pino logger fits. */
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
  const deadline = performance.now() + SETTLE_MS_MAX;
  let launchedPid: number | null = null;
  let portAttempts = 0;
  for (;;) {
    const found = await findServer(cluster, deadline);
    if (found.kind === 'serving') {
      const server = { pid: found.pid, port: found.port, wasAdopted: found.pid !== launchedPid };
      logger.info(
        { postgresPid: found.pid, port: found.port },
        server.wasAdopted ? 'using the embedded PostgreSQL that already runs' : 'embedded PostgreSQL started',
      );
      return server;
    }
    if (launchedPid !== null) throw startFailed(`PostgreSQL (process ${launchedPid}) ended as soon as it had started.`);
    const outcome = await launch(request, found.stalePid);
    switch (outcome.kind) {
      case 'ready':
        launchedPid = outcome.pid;
        break;
      case 'port-taken':
        portAttempts += 1;
        if (portAttempts >= PORT_ATTEMPTS_MAX)
          throw startFailed('Every free port was taken by others before PostgreSQL could.');
        break;
      case 'cluster-busy':
        if (performance.now() > deadline)
          throw startFailed(`Processes of a killed server still use ${cluster.dir}:\n${outcome.log}\n`);
        await delay(SETTLE_POLL_MS);
        break;
      default:
        outcome satisfies never;
    }
  }
}

type Found = { kind: 'serving'; pid: number; port: number } | { kind: 'none'; stalePid: number | null };

/** Waits while a living server of the cluster is starting or stopping. */
async function findServer(cluster: Cluster, deadline: number): Promise<Found> {
  for (;;) {
    const file = readPostmasterFile(cluster.dir);
    if (file === null) return { kind: 'none', stalePid: null };
    const { pid, port } = file;
    const answer = port === null ? ({ kind: 'silent' } as const) : await probeServer(cluster, port);
    if (answer.kind === 'ours' && port !== null) return { kind: 'serving', pid, port };
    if (!isPostmasterAlive(pid, cluster.dir)) return { kind: 'none', stalePid: pid };
    if (answer.kind === 'foreign')
      throw unresponsive(pid, 'does not know the password or does not see the directory', answer.cause);
    if (performance.now() > deadline) throw unresponsive(pid, `has been ${file.status} for ${SETTLE_MS_MAX} ms`);
    await delay(SETTLE_POLL_MS);
  }
}

function launch({ cluster, logger, logPath, locateBinaries }: AdoptOrLaunchRequest, stalePid: number | null) {
  const { dir, user } = cluster;
  const binaries = locateBinaries();
  if (stalePid !== null) logger.info({ dir, stalePid }, 'the embedded PostgreSQL was killed, starting it again');
  if (pathForServer(dir, user) !== dir) {
    logger.info(
      { dir, ...user },
      'the user of PostgreSQL cannot pass the directories above its own, starting it inside',
    );
  }
  return launchServer({ cluster, binaries, logPath, stalePid });
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
