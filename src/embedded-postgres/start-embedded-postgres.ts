// Holdfast's own PostgreSQL for machines that have none: `<dataDir>/postgres` is its cluster,
// `<dataDir>/postgres.log` its log.
//
// Start: the first process starts it. Everything that starts or stops a server happens under the
// lock `postgres.lock`, so of two processes that start at the same time one initialises and
// launches, and the other finds a running server and adopts it. An orphan of a killed Holdfast is
// adopted in the same way. PostgreSQL's own check of shared memory finally prevents two servers.
//
// Stop: the last user stops it, whichever process started it. Every process that uses the server
// shares the lock `postgres-users.lock` until its `stop`; a process that can then acquire that lock
// exclusively was the last. The kernel releases the share of a process that crashes, so crashed
// processes do not count, and if all crash the server keeps running until the next one adopts it
// and later stops it.
import { mkdir, realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { adoptOrLaunch, type LaunchLogger } from './adopt-or-launch.ts';
import { type Cluster, databaseUrl, readCluster } from './cluster.ts';
import { dataDirUnusable } from './embedded-postgres-error.ts';
import { type FileLock, lockAlone, lockShared, tryLockAlone } from './file-lock.ts';
import { deleteCluster, initialiseCluster } from './initialise-cluster.ts';
import { locateBinaries, type PostgresBinaries } from './locate-binaries.ts';
import { stopPostmaster } from './postmaster.ts';
import type { OsUser } from '../config/places.ts';
import { chooseServerUser } from './server-user.ts';

/**
 * Longer than the slowest launch that another process may be busy with: a recovery from a crash.
 */
const LOCK_MS_MAX = 150_000;

export interface EmbeddedPostgresOptions {
  /** Holdfast's data directory; created if missing. */
  dataDir: string;
  /** Receives one line per event; a pino logger fits. */
  logger?: LaunchLogger;
  /**
   * As root: the user that runs a new cluster instead of `postgres` or `nobody`. An existing
   * cluster runs as its owner.
   */
  user?: OsUser;
}

/** A running server that this process is registered with as a user. */
export interface EmbeddedPostgres {
  /** `postgres://holdfast:<password>@127.0.0.1:<port>/holdfast`. */
  url: string;
  /** The server's main process. */
  pid: number;
  /** True when the server was already running. */
  wasAdopted: boolean;
  /**
   * Signs off, and shuts the server down if no other process uses it. Call it last in a shutdown,
   * after the pools have ended: it disconnects the remaining clients. Later calls wait for the
   * first one. Throws `embedded_postgres_stop_failed` and `embedded_postgres_lock_timeout`.
   */
  stop: () => Promise<void>;
  /**
   * As `stop`, and deletes the cluster if the call of `startEmbeddedPostgres` has made it, no other
   * process uses it, and `isUnused` resolves with true. That is called while the server runs and no
   * process can begin to use it, and must not throw. The locks and the log stay.
   */
  discard: (isUnused: () => Promise<boolean>) => Promise<void>;
}

/**
 * Makes sure that the server of `dataDir` runs, adopting, launching or first initialising it, and
 * registers this process as its user. No signal handler is installed: call `stop` where the process
 * ends. Throws `EmbeddedPostgresError`, see its codes.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const launcher = await openLauncher(options);
  const startLock = await lockAlone(launcher.startLockPath, LOCK_MS_MAX);
  let registration: FileLock | null = null;
  try {
    const registered = (registration = await lockShared(launcher.usersLockPath, LOCK_MS_MAX));
    const found = await readCluster(launcher.dataDir);
    const cluster = found ?? (await initialise(launcher));
    const server = await adoptOrLaunch({
      cluster,
      logger: launcher.logger,
      logPath: join(launcher.dataDir, 'postgres.log'),
      locateBinaries: () => locate(launcher.logger, cluster.user),
    });
    let stopping: Promise<void> | null = null;
    const leave = (isUnwanted: () => Promise<boolean>): Promise<void> =>
      (stopping ??= signOff(launcher, { cluster, registration: registered, isUnwanted }));
    return {
      url: databaseUrl(cluster, server.port),
      pid: server.pid,
      wasAdopted: server.wasAdopted,
      stop: () => leave(async () => false),
      discard: (isUnused) => leave(async () => found === null && (await isUnused())),
    };
  } catch (error) {
    registration?.release();
    throw error;
  } finally {
    startLock.release();
  }
}

interface Launcher {
  dataDir: string;
  startLockPath: string;
  usersLockPath: string;
  logger: LaunchLogger;
  /** For a new cluster. */
  user: OsUser | null;
}

async function openLauncher({ dataDir, logger, user }: EmbeddedPostgresOptions): Promise<Launcher> {
  const path = resolve(dataDir);
  try {
    await mkdir(path, { recursive: true });
  } catch (error) {
    throw dataDirUnusable(
      `${path} cannot be created: ${String(error)}.`,
      'Set HOLDFAST_DATA_DIR to a directory that can be created.',
      error,
    );
  }
  const realDir = await realpath(path);
  const serverUser = chooseServerUser();
  return {
    dataDir: realDir,
    startLockPath: join(realDir, 'postgres.lock'),
    usersLockPath: join(realDir, 'postgres-users.lock'),
    logger: logger ?? { info: () => {} },
    user: serverUser === null ? null : (user ?? serverUser),
  };
}

async function initialise(launcher: Launcher): Promise<Cluster> {
  const { dataDir, logger, user } = launcher;
  const binaries = locate(logger, user);
  logger.info({ dataDir, ...user }, 'Embedded PostgreSQL is being created');
  return initialiseCluster(dataDir, binaries, user);
}

function locate(logger: LaunchLogger, user: OsUser | null): PostgresBinaries {
  return locateBinaries(user, (target) =>
    logger.info({ target, ...user }, 'PostgreSQL is being copied to a directory that its user can read'),
  );
}

async function signOff(
  launcher: Launcher,
  use: { cluster: Cluster; registration: FileLock; isUnwanted: () => Promise<boolean> },
): Promise<void> {
  const { logger, dataDir, startLockPath, usersLockPath } = launcher;
  const { cluster, registration, isUnwanted } = use;
  let startLock: FileLock | null = null;
  try {
    startLock = await lockAlone(startLockPath, LOCK_MS_MAX);
    registration.release();
    const lastOut = await tryLockAlone(usersLockPath);
    if (lastOut === null) {
      logger.info({}, 'Embedded PostgreSQL keeps running for the other processes that use it');
      return;
    }
    try {
      const isDeleted = await isUnwanted();
      await stopPostmaster(cluster.dir, () => locate(logger, cluster.user).pgCtl);
      if (isDeleted) await deleteCluster(dataDir);
      logger.info({}, 'Embedded PostgreSQL stopped');
    } finally {
      lastOut.release();
    }
  } finally {
    registration.release();
    startLock?.release();
  }
}
