// A PostgreSQL server of a test's own: a fresh cluster in a temporary directory on a free port,
// that can be killed as a crash would and started again on the same data. Uses the binaries of
// Debian's PostgreSQL 15 where they are, else the ones of the embedded package. As root the server
// runs as `postgres` or `nobody`, because it refuses to run as root.
import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { locateBinaries } from '../../src/embedded-postgres/locate-binaries.ts';
import type { OsUser } from '../../src/config/places.ts';
import { chooseServerUser } from '../../src/embedded-postgres/server-user.ts';
import { findFreePort } from './free-port.ts';

export interface PostgresServer {
  port: number;
  /** Of the database `postgres`, as superuser. */
  url: string;
  /** Of another database, which is created when it is missing. */
  createDatabase(name: string): Promise<string>;
  /**
   * SIGKILLs the postmaster and all of its backends together: the files stay as after a power cut.
   */
  kill(): Promise<void>;
  /**
   * Stops all of its processes as a machine that hangs would; the function that it returns
   * continues them.
   */
  freeze(): () => void;
  /**
   * Starts it again on the same data and port after `kill`; resolves when it accepts connections.
   */
  restart(): Promise<void>;
  /** Ends the server and removes its files. */
  stop(): Promise<void>;
}

interface Cluster {
  postgres: string;
  dataDir: string;
  port: number;
  /** The user that the server runs as; null: the user that runs the test. */
  user: OsUser | null;
  more: readonly string[];
}

/** Settings of a managed server's defaults, plus those that many test processes need. */
const settings = ['max_connections=300', 'listen_addresses=127.0.0.1', 'unix_socket_directories='];

/**
 * Creates a cluster in a new directory of `parent` and starts its server. `version` 15 requires
 * Debian's, `embedded` the packaged one; absent: Debian's where it is installed. `more` settings
 * are added to the defaults, as `name=value`.
 */
export async function startPostgresServer(
  version?: 15 | 'embedded',
  more: readonly string[] = [],
  parent = tmpdir(),
): Promise<PostgresServer> {
  const user = chooseServerUser();
  const { initdb, postgres } = programsOf(version, user);
  const rootDir = mkdtempSync(join(parent, 'holdfast-postgres-'));
  const removeWithTest = (): void => rmSync(rootDir, { recursive: true, force: true, maxRetries: 5 });
  process.once('exit', removeWithTest);
  if (user !== null) chownSync(rootDir, user.uid, user.gid);
  const cluster: Cluster = { postgres, user, dataDir: join(rootDir, 'data'), port: await findFreePort(), more };
  const flags = ['-D', cluster.dataDir, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
  await promisify(execFile)(initdb, flags, { ...user, cwd: rootDir });
  let postmaster = await startPostmaster(cluster);
  const urlOf = (name: string): string => `postgres://postgres@127.0.0.1:${cluster.port}/${name}`;
  return {
    port: cluster.port,
    url: urlOf('postgres'),
    async createDatabase(name) {
      const client = new pg.Client({ connectionString: urlOf('postgres') });
      await client.connect();
      const found = await client.query('select 1 from pg_database where datname = $1', [name]);
      if (found.rowCount === 0) await client.query(`create database ${client.escapeIdentifier(name)}`);
      await client.end();
      return urlOf(name);
    },
    async kill() {
      await killTree(postmaster);
    },
    freeze() {
      const pids = [postmaster.pid!, ...childrenOf(postmaster.pid!)];
      for (const pid of pids) trySignal(pid, 'SIGSTOP');
      return () => {
        for (const pid of pids) trySignal(pid, 'SIGCONT');
      };
    },
    async restart() {
      postmaster = await startAfterKill(cluster);
    },
    async stop() {
      if (postmaster.exitCode === null && postmaster.signalCode === null) {
        const exited = once(postmaster, 'exit');
        postmaster.kill('SIGINT');
        await exited;
      }
      process.off('exit', removeWithTest);
      removeWithTest();
    },
  };
}

/** True when Debian's PostgreSQL 15 is installed. */
export function hasPostgres15(): boolean {
  return existsSync(join(debianBinDir, 'postgres'));
}

const debianBinDir = '/usr/lib/postgresql/15/bin';

function programsOf(version: 15 | 'embedded' | undefined, user: OsUser | null): { initdb: string; postgres: string } {
  if (version !== 'embedded' && hasPostgres15()) {
    return { initdb: join(debianBinDir, 'initdb'), postgres: join(debianBinDir, 'postgres') };
  }
  if (version === 15) throw new Error(`no PostgreSQL 15 in ${debianBinDir}`);
  return locateBinaries(user, () => {});
}

/**
 * Starts the postmaster and waits until it says that it is ready; a crash recovery is part of the
 * wait.
 */
async function startPostmaster({ postgres, dataDir, port, user, more }: Cluster): Promise<ChildProcess> {
  const flags = ['-D', dataDir, '-p', String(port), ...[...settings, ...more].flatMap((setting) => ['-c', setting])];
  // Read the readiness from its log line, so the level of messages to the log must show it.
  const child = spawn(postgres, [...flags, '-c', 'log_min_messages=log'], {
    ...user,
    cwd: dataDir,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const lines: string[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (lines.push(line) > 50) lines.shift();
    if (line.includes('database system is ready to accept connections')) resolve();
  });
  const killWithTest = (): void => void child.kill('SIGQUIT');
  process.once('exit', killWithTest);
  child.once('exit', () => process.off('exit', killWithTest));
  child.once('error', reject);
  child.once('exit', (code) => reject(new Error(`PostgreSQL ended with ${code}:\n${lines.join('\n')}`)));
  await promise;
  return child;
}

/**
 * Starts it once the system has released the memory of the killed backends, which takes a while.
 */
async function startAfterKill(cluster: Cluster): Promise<ChildProcess> {
  const deadlineMs = performance.now() + memoryFreedWithinMs;
  for (;;) {
    try {
      return await startPostmaster(cluster);
    } catch (error) {
      const isHeld = error instanceof Error && error.message.includes('pre-existing shared memory block');
      if (!isHeld || performance.now() > deadlineMs) throw error;
      await delay(20);
    }
  }
}

const memoryFreedWithinMs = 240_000;

/** Kills the postmaster first, so that it starts no recovery, then every backend that it leaves. */
async function killTree(postmaster: ChildProcess): Promise<void> {
  const exited = once(postmaster, 'exit');
  const pid = postmaster.pid!;
  const children = childrenOf(pid);
  postmaster.kill('SIGSTOP');
  for (const child of [...children, ...childrenOf(pid)]) trySignal(child, 'SIGKILL');
  postmaster.kill('SIGKILL');
  await exited;
}

function childrenOf(pid: number): number[] {
  const listed = execFileSync('ps', ['-eo', 'pid=,ppid='], { encoding: 'utf8' });
  return listed
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(([, parent]) => parent === pid)
    .map(([child]) => child!);
}

function trySignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It ended by itself.
  }
}
