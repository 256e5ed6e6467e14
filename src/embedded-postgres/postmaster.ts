// The server process of a cluster as its postmaster.pid and the process table show it. That file
// outlives a killed server, and its process id may by then belong to another process, or to a
// zombie: only a process that names the cluster counts. The file itself is PostgreSQL's: we never
// delete it, because its own start checks it against shared memory as well.
import { execFile, execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';

const POLL_MS = 5;
/**
 * A fast shutdown ends the connections and writes a checkpoint: seconds on a slow disk with much in
 * memory.
 */
const FAST_SHUTDOWN_MS_MAX = 20_000;
const IMMEDIATE_SHUTDOWN_MS_MAX = 5_000;

/** What postmaster.pid says; true of a running server only if `isPostmasterAlive`. */
export interface PostmasterFile {
  pid: number;
  /** Null for the first moments of a start. */
  port: number | null;
  /**
   * PostgreSQL's own words: `starting`, `ready`, `stopping`, `standby`; empty for the first moments
   * of a start.
   */
  status: string;
}

/** Reads postmaster.pid of the cluster; null when it does not exist, as after a clean stop. */
export function readPostmasterFile(clusterDir: string): PostmasterFile | null {
  let lines: string[];
  try {
    lines = readFileSync(join(clusterDir, 'postmaster.pid'), 'utf8').split('\n');
  } catch {
    return null;
  }
  const [pid, , , port, , , , status] = lines;
  if (!(Number(pid) > 0)) return null;
  return { pid: Number(pid), port: Number(port) || null, status: status?.trim() ?? '' };
}

/**
 * The arguments that mark a server process as that of `clusterDir`: the last ones on its command
 * line.
 */
export function markerArguments(clusterDir: string): [string, string] {
  return ['-c', `holdfast.cluster=${realpathSync(clusterDir)}`];
}

/** Whether `pid` is a living server that was started for `clusterDir`. */
export function isPostmasterAlive(pid: number, clusterDir: string): boolean {
  if (process.platform !== 'win32') return readCommandLine(pid).endsWith(markerArguments(clusterDir)[1]);
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/**
 * Shuts the server of `clusterDir` down, if one runs, and waits for its end: open transactions are
 * aborted, nothing committed is lost. Falls back to PostgreSQL's immediate shutdown, which the next
 * start recovers from. `locatePgCtl` is only called on Windows. Throws
 * `embedded_postgres_stop_failed`.
 */
export async function stopPostmaster(clusterDir: string, locatePgCtl: () => string): Promise<void> {
  const pid = readPostmasterFile(clusterDir)?.pid;
  if (pid === undefined) return;
  for (const [signal, waitMs] of [
    ['INT', FAST_SHUTDOWN_MS_MAX],
    ['QUIT', IMMEDIATE_SHUTDOWN_MS_MAX],
  ] as const) {
    if (!isPostmasterAlive(pid, clusterDir)) return;
    await sendSignal(pid, signal, locatePgCtl);
    const deadline = performance.now() + waitMs;
    while (performance.now() < deadline) {
      if (!isPostmasterAlive(pid, clusterDir)) return;
      await delay(POLL_MS);
    }
  }
  throw new EmbeddedPostgresError({
    code: 'embedded_postgres_stop_failed',
    problem: `The embedded PostgreSQL (process ${pid}) did not stop.`,
    remedy: 'Its data is safe. Read its log, postgres.log in the data directory, and end the process.',
  });
}

/**
 * Ends the processes that a killed server of `clusterDir` left in the middle of a statement; they
 * would finish it first, and no other server can start until then. Their transactions are rolled
 * back, as all that a crash interrupts. Does nothing while the server lives, nor outside Linux.
 */
export function endLeftBackends(clusterDir: string): void {
  if (process.platform !== 'linux') return;
  const workingDir = realpathSync(clusterDir);
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isServerProcessIn(name, workingDir));
  // The main process shows how it was called, its children what they do: "postgres: holdfast: ...".
  if (pids.some((pid) => !readCommandLine(Number(pid)).startsWith('postgres: '))) return;
  for (const pid of pids) {
    try {
      process.kill(Number(pid), 'SIGQUIT');
    } catch {
      // It has just ended by itself.
    }
  }
}

function isServerProcessIn(pid: string, workingDir: string): boolean {
  try {
    return (
      readFileSync(`/proc/${pid}/comm`, 'utf8') === 'postgres\n' && readlinkSync(`/proc/${pid}/cwd`) === workingDir
    );
  } catch {
    return false; // It has ended, or belongs to another user.
  }
}

async function sendSignal(pid: number, signal: 'INT' | 'QUIT', locatePgCtl: () => string): Promise<void> {
  // Node's signals end a Windows process on the spot; PostgreSQL listens on a pipe there, which
  // pg_ctl knows.
  if (process.platform === 'win32') await promisify(execFile)(locatePgCtl(), ['kill', signal, String(pid)]);
  else process.kill(pid, `SIG${signal}`);
}

/** Empty for a process that has ended, is a zombie, or is not visible to this user. */
function readCommandLine(pid: number): string {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replace(/\0+$/, '');
    return execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], {
      encoding: 'utf8',
      stdio: 'pipe',
    }).trimEnd();
  } catch {
    return '';
  }
}
