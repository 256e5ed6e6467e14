// A process group: a command with everything that it started, ended as one (G24). Grandchildren belong to it unless they leave it on
// purpose (setsid).
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * The time between two checks of a group that is ending: short at first, since most end immediately; longer later, since a check reads
 * all of /proc.
 */
const POLL_MS_MIN = 10;
const POLL_MS_MAX = 200;

/** Sends TERM to the group and waits until it has ended; processes that are left after `graceMs` get KILL, which cannot be ignored. */
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
 * True while a process of the group runs. Zombies do not count: where nothing reaps orphans, as in a container without an init, they
 * would keep the group alive without end.
 */
export async function isGroupAlive(groupId: number): Promise<boolean> {
  if (!signalGroup(groupId, 0)) return false;
  const processIds = await readdir('/proc').then(
    (names) => names.filter((name) => /^\d+$/.test(name)),
    () => [],
  );
  // No /proc on this system: the group exists, and more cannot be known.
  if (processIds.length === 0) return true;
  const isMember = await Promise.all(processIds.map((id) => isLivingMember(id, groupId)));
  return isMember.includes(true);
}

async function isLivingMember(processId: string, groupId: number): Promise<boolean> {
  const status = await readFile(`/proc/${processId}/stat`, 'utf8').catch(() => '');
  // `pid (name) state parent group ...`: the name may contain anything, so count from its last parenthesis.
  const [state, , group] = status.slice(status.lastIndexOf(')') + 2).split(' ');
  return Number(group) === groupId && state !== 'Z' && state !== 'X';
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
