// A process group: a command with everything that it started, ended as one (G24). Grandchildren
// belong to it unless they leave it on purpose (setsid, job control). Those are found by the
// idempotency key in the environment that they inherited. One that also cleared its environment is
// not found; that would take a cgroup, which an ordinary process cannot make. Elsewhere than on
// Linux nothing is found.
import { readdir, readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * The time between two checks of a group that is ending: short at first, since most end
 * immediately; longer later, since a check reads all of /proc.
 */
const POLL_MS_MIN = 10;
const POLL_MS_MAX = 200;
/** An escaped process may start others while it is ended. */
const ROUNDS_MAX = 3;

/**
 * Sends TERM to the group and waits until it has ended; processes that are left after `graceMs` get
 * KILL, which cannot be ignored.
 */
export async function endProcessGroup(groupId: number, graceMs: number): Promise<void> {
  const killAtMs = performance.now() + graceMs;
  signalGroup(groupId, 'SIGTERM');
  for (let pollMs = POLL_MS_MIN; await isGroupAlive(groupId); pollMs = Math.min(pollMs * 2, POLL_MS_MAX)) {
    const leftMs = killAtMs - performance.now();
    if (leftMs <= 0) {
      signalGroup(groupId, 'SIGKILL');
      return;
    }
    await delay(Math.min(pollMs, leftMs));
  }
}

/**
 * True while a process of the group runs. Zombies do not count: where nothing reaps orphans, as in
 * a container without an init, they would keep the group alive without end.
 */
export async function isGroupAlive(groupId: number): Promise<boolean> {
  if (!signalGroup(groupId, 0)) return false;
  const processIds = [...(await processesNow())];
  // No /proc on this system: the group exists, and more cannot be known.
  if (processIds.length === 0) return true;
  const groups = await Promise.all(processIds.map(readLivingGroup));
  return groups.includes(groupId);
}

/** False when the group no longer exists. */
function signalGroup(groupId: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-groupId, signal);
    return true;
  } catch (error) {
    // EPERM: it exists, with a process of another user in it.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** The processes of this machine now, so that later ones can be recognised. */
export async function processesNow(): Promise<ReadonlySet<string>> {
  const names = await readdir('/proc').catch(() => []);
  return new Set(names.filter((name) => /^\d+$/.test(name)));
}

export interface CommandTrace {
  /** What ran before the command began. */
  before: ReadonlySet<string>;
  /** `HOLDFAST_IDEMPOTENCY_KEY` of the command; absent: nothing can be found. */
  key: string | undefined;
}

/**
 * Ends processes that left a command's group, once the group has ended; returns whether there were
 * any.
 */
export async function endEscaped(trace: CommandTrace, graceMs: number): Promise<boolean> {
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const groups = await escapedGroups(trace);
    if (groups.length === 0) return round > 0;
    await Promise.all(groups.map((groupId) => endProcessGroup(groupId, graceMs)));
  }
  return true;
}

async function escapedGroups({ before, key }: CommandTrace): Promise<number[]> {
  if (key === undefined) return [];
  const fresh = [...(await processesNow())].filter((id) => !before.has(id));
  const groups = await Promise.all(fresh.map((id) => groupOfMarked(id, `HOLDFAST_IDEMPOTENCY_KEY=${key}`)));
  return [...new Set(groups.filter((group) => group !== null))];
}

/** The group of a living process with this variable in its environment. */
async function groupOfMarked(processId: string, variable: string): Promise<number | null> {
  const environment = await readFile(`/proc/${processId}/environ`, 'latin1').catch(() => '');
  if (!environment.split('\0').includes(variable)) return null;
  return await readLivingGroup(processId);
}

/**
 * Where process ids mean the same as here: this boot, this namespace. A number alone is used again
 * after the process, after a boot, and in every container: with these and the start time it means
 * one process only. Elsewhere than on Linux only the host's name.
 */
export async function machineName(): Promise<string> {
  const [boot, namespace] = await Promise.all([
    readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => ''),
    readlink('/proc/self/ns/pid').catch(() => ''),
  ]);
  return boot === '' || namespace === '' ? hostname() : `${boot.trim()} ${namespace}`;
}

/**
 * When a process was started, in ticks since the boot; null: it does not exist, or this system does
 * not provide it.
 */
export async function readStartedTicks(pid: number): Promise<number | null> {
  const ticks = Number((await readStat(pid))[19]);
  return Number.isFinite(ticks) ? ticks : null;
}

/** The group of a process that runs; null: it does not exist, or has ended and was not reaped. */
async function readLivingGroup(pid: string): Promise<number | null> {
  const [state, , group] = await readStat(pid);
  return state === undefined || state === 'Z' || state === 'X' || !(Number(group) > 1) ? null : Number(group);
}

/** What the system says of a process from its state on. */
async function readStat(pid: string | number): Promise<string[]> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  // `pid (name) state parent group ...`: the name may contain anything, so count from its last
  // parenthesis.
  return status?.slice(status.lastIndexOf(')') + 2).split(' ') ?? [];
}
