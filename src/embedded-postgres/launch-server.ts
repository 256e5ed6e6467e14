// Starts a server on a cluster where none runs, and waits until it accepts connections. It is
// detached, in a process group and session of its own: Ctrl-C in the terminal reaches Holdfast,
// which drains while its database still runs, and a killed Holdfast leaves a server that the next
// one adopts. The caller holds the start lock.
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, fstatSync, openSync, readFileSync, readSync, renameSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { EmbeddedPostgresError, noDisk } from './embedded-postgres-error.ts';
import type { Cluster } from './cluster.ts';
import type { PostgresBinaries } from './locate-binaries.ts';
import { markerArguments, readPostmasterFile } from './postmaster.ts';
import { parsePort, renderSettings } from './server-settings.ts';
import { pathForServer, replaceOwned } from './server-user.ts';

const POLL_MS = 5;
/** Recovery after a crash replays up to max_wal_size of WAL before the server is ready. */
const READY_MS_MAX = 120_000;
const LOG_BYTES_MAX = 5 * 1024 * 1024;
const LOG_TAIL_BYTES = 2_000;

export type LaunchOutcome =
  | { kind: 'ready'; pid: number; port: number }
  /** Another process took the port between our check and the server's start. */
  | { kind: 'port-taken' }
  /**
   * PostgreSQL found the cluster in use: by a server that another process started, or by the last
   * processes of a killed one.
   */
  | { kind: 'cluster-busy'; log: string };

export interface LaunchRequest {
  cluster: Cluster;
  binaries: PostgresBinaries;
  logPath: string;
  /**
   * The process that postmaster.pid names although it is no server of this cluster; null when there
   * is no such file.
   */
  stalePid: number | null;
}

/**
 * Starts the server once, on the port of the last launch if that is free, else on any free one.
 * Throws `embedded_postgres_no_port`, `embedded_postgres_no_disk` and
 * `embedded_postgres_start_failed`.
 */
export async function launchServer({ cluster, binaries, logPath, stalePid }: LaunchRequest): Promise<LaunchOutcome> {
  const settingsPath = join(cluster.dir, 'postgresql.conf');
  const port = await findFreePort(parsePort(readFileSync(settingsPath, 'utf8')));
  await replaceOwned({ path: settingsPath, text: renderSettings(port), user: cluster.user, isDurable: false });

  const log = openLog(logPath);
  try {
    const server = spawn(
      binaries.postgres,
      ['-D', pathForServer(cluster.dir, cluster.user), ...markerArguments(cluster.dir)],
      {
        cwd: cluster.dir,
        // Nothing of our environment: PG* would mislead the server, and it outlives this process
        // with all secrets in its environment. With the one variable, PostgreSQL ignores a living
        // process of that id, as pg_ctl has it do, but still checks that no server has the shared
        // memory.
        env: { LC_ALL: 'C', ...(stalePid !== null && { PG_GRANDPARENT_PID: String(stalePid) }) },
        stdio: ['ignore', log.descriptor, log.descriptor],
        detached: true,
        windowsHide: true,
        ...cluster.user,
      },
    );
    const end = await readyOrEnded(server, cluster);
    if (end === 'ready') return { kind: 'ready', pid: server.pid ?? 0, port };
    return explainEnd(end, log.readTail());
  } finally {
    closeSync(log.descriptor);
  }
}

/** `preferred` if it is free, otherwise any free port. */
async function findFreePort(preferred: number | null): Promise<number> {
  for (const candidate of preferred === null ? [0] : [preferred, 0]) {
    const port = await tryPort(candidate);
    if (port !== null) return port;
  }
  throw new EmbeddedPostgresError({
    code: 'embedded_postgres_no_port',
    problem: 'No port of 127.0.0.1 is free for PostgreSQL.',
    remedy: 'List the processes that use them (`ss -ltn`), or set DATABASE_URL.',
  });
}

function tryPort(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(null));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : null));
    });
  });
}

/** Resolves to `ready`, or to why the process ended before it was. */
async function readyOrEnded(server: ChildProcess, cluster: Cluster): Promise<'ready' | Error> {
  let ended: Error | null = null;
  server.on('error', (error) => (ended ??= error));
  server.on('exit', (code, signal) => (ended ??= new Error(`PostgreSQL ended with ${code ?? signal}`)));
  server.unref();
  const deadline = performance.now() + READY_MS_MAX;
  while (performance.now() < deadline) {
    if (ended !== null) return ended;
    const file = readPostmasterFile(cluster.dir);
    if (file?.pid === server.pid && file?.status === 'ready') return 'ready';
    await delay(POLL_MS);
  }
  throw new EmbeddedPostgresError({
    code: 'embedded_postgres_start_failed',
    problem: `PostgreSQL (process ${server.pid}) was not ready after ${READY_MS_MAX} ms.`,
    remedy:
      'It may still be recovering from a crash: see postgres.log in the data directory and start again; the server keeps running.',
  });
}

function explainEnd(end: Error, log: string): LaunchOutcome {
  if (/Address already in use|could not create any TCP\/IP sockets/.test(log)) return { kind: 'port-taken' };
  if (/pre-existing shared memory block|lock file "postmaster.pid" already exists/.test(log))
    return { kind: 'cluster-busy', log };
  if (log.includes('No space left on device')) throw noDisk('PostgreSQL ran out of disk while starting.');
  throw new EmbeddedPostgresError({
    code: 'embedded_postgres_start_failed',
    problem: `${end.message}. The end of its log:\n${log.trim()}\n`,
    remedy: 'Correct what its log names (postgres.log in the data directory), or set DATABASE_URL.',
    cause: end,
  });
}

/**
 * Opens the log for appending; a long one is first put aside as `<path>.1`. `readTail` is the end
 * of what was added since.
 */
function openLog(path: string): { descriptor: number; readTail: () => string } {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size > LOG_BYTES_MAX) renameSync(path, `${path}.1`);
  const descriptor = openSync(path, 'a+', 0o600);
  const start = fstatSync(descriptor).size;
  const readTail = () => {
    const end = fstatSync(descriptor).size;
    const buffer = Buffer.alloc(Math.min(end - start, LOG_TAIL_BYTES));
    readSync(descriptor, buffer, 0, buffer.length, end - buffer.length);
    return buffer.toString();
  };
  return { descriptor, readTail };
}
