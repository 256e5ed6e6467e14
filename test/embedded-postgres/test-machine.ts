// What the tests of the launcher need of the machine: data directories that are swept afterwards
// with every server and process that was started on them, other processes that use a server, and
// waiting for what can be seen only by looking.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, cpSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { isPostmasterAlive, readPostmasterFile } from '../../src/embedded-postgres/postmaster.ts';
import { canReach, type OsUser } from '../../src/config/places.ts';

const PROGRAM = fileURLToPath(new URL('holdfast-process.ts', import.meta.url));
const CHECK_MS_MAX = 120_000;

export const IS_ROOT = process.getuid?.() === 0;
export const NOBODY: OsUser = { uid: 65534, gid: 65534 };
/** Whether a process of NOBODY's can be started here and can read the sources. */
export const CAN_RUN_AS_NOBODY = IS_ROOT && canReach(PROGRAM, NOBODY) && canReach(process.execPath, NOBODY);

const dirs: string[] = [];
const children: ChildProcess[] = [];

/** A new directory that everyone can enter, owned by `owner`. */
export function makeDir(owner?: OsUser): string {
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-embedded-'));
  chmodSync(dir, 0o755);
  if (owner !== undefined) chownSync(dir, owner.uid, owner.gid);
  dirs.push(dir);
  return dir;
}

/**
 * A copy of the data directory `template` with the cluster's owner kept: much faster than a cold
 * start.
 */
export function copyDataDir(template: string): string {
  const dataDir = makeDir();
  const owner = statSync(clusterOf(template));
  cpSync(clusterOf(template), clusterOf(dataDir), { recursive: true });
  chmodSync(clusterOf(dataDir), 0o700);
  if (IS_ROOT) chownAll(clusterOf(dataDir), owner);
  return dataDir;
}

/** The cluster directory of a data directory. */
export function clusterOf(dataDir: string): string {
  return join(dataDir, 'postgres');
}

/** Ends every process and server that a test left, and removes its directories. */
export async function sweep(): Promise<void> {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const dir of dirs.splice(0)) {
    const pid = readPostmasterFile(clusterOf(dir))?.pid;
    if (pid !== undefined && isPostmasterAlive(pid, clusterOf(dir))) {
      process.kill(pid, 'SIGQUIT');
      await until(() => !isAlive(pid));
    }
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  }
}

export interface HoldfastProcess {
  child: ChildProcess;
  /** Its output when the server was ready; rejects when it ends before. */
  server: Promise<{ url: string; pid: number; wasAdopted: boolean }>;
  /** Has it sign off; resolves when it has ended. */
  stop: () => Promise<void>;
  /** SIGKILL to its whole process group, as a terminal's signals go; resolves when it has ended. */
  killGroup: () => Promise<void>;
}

/**
 * Starts another process that uses the server of `dataDir`, as `user` or the current one, in a new
 * process group.
 */
export function spawnHoldfast(dataDir: string, user?: OsUser): HoldfastProcess {
  const child = spawn(process.execPath, [PROGRAM, dataDir], {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
    ...user,
  });
  children.push(child);
  const ended = once(child, 'exit');
  const line = once(createInterface({ input: child.stdout }), 'line');
  const server = Promise.race([
    line.then(([json]) => JSON.parse(String(json)) as { url: string; pid: number; wasAdopted: boolean }),
    ended.then(([code]) => Promise.reject(new Error(`the process ended with ${code}`))),
  ]);
  server.catch(() => {}); // A test that kills the process does not look at it.
  return {
    child,
    server,
    stop: async () => {
      child.stdin.write('stop\n');
      await ended;
    },
    killGroup: async () => {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      await ended;
    },
  };
}

/** Runs one statement and returns its rows. */
export async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url);
  client.on('error', () => {}); // A test that kills the server learns of it from the statement.
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Polls until `isSo`; for states of other processes, which send no signal. */
export async function until(isSo: () => boolean): Promise<void> {
  const deadline = performance.now() + CHECK_MS_MAX;
  while (!isSo()) {
    if (performance.now() > deadline) throw new Error(`still not so after ${CHECK_MS_MAX} ms: ${isSo.toString()}`);
    await delay(5);
  }
}

/** Waits until an UPDATE is at work on the server. */
export async function untilBusy(url: string): Promise<void> {
  const sql = `SELECT FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'UPDATE%'`;
  const deadline = performance.now() + CHECK_MS_MAX;
  while ((await query(url, sql)).length === 0) {
    if (performance.now() > deadline) throw new Error(`no UPDATE after ${CHECK_MS_MAX} ms`);
  }
}

/** Whether the process exists; on Linux a zombie does not count. */
export function isAlive(pid: number): boolean {
  if (process.platform === 'linux') return statSync(`/proc/${pid}/exe`, { throwIfNoEntry: false }) !== undefined;
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Gives a directory and everything in it to `owner`. */
export function chownAll(dir: string, owner: OsUser): void {
  chownSync(dir, owner.uid, owner.gid);
  for (const entry of readdirSync(dir, { recursive: true, encoding: 'utf8' })) {
    chownSync(join(dir, entry), owner.uid, owner.gid);
  }
}
