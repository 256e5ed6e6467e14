// Processes that a command started and that left its process group (setsid, job control): the end of the group does not reach them. They are
// found by the idempotency key in the environment that they inherited. One that also cleared its environment is not found; that would take a
// cgroup, which an ordinary process cannot make. Elsewhere than on Linux nothing is found.
import { readdir, readFile } from 'node:fs/promises';
import { endProcessGroup } from './process-group.ts';

/** An escaped process may start others while it is ended. */
const ROUNDS_MAX = 3;

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

/** Ends processes that left a command's group, once the group has ended; returns whether there were any. */
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
  const status = await readFile(`/proc/${processId}/stat`, 'utf8').catch(() => '');
  // `pid (name) state parent group ...`: the name may contain anything, so count from its last parenthesis.
  const [state, , group] = status.slice(status.lastIndexOf(')') + 2).split(' ');
  return state === undefined || state === 'Z' || state === 'X' || !(Number(group) > 1) ? null : Number(group);
}
