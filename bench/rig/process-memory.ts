// Memory of a process tree without PostgreSQL. PSS shares pages that several processes map among
// them, so the sum over a tree counts each page once.
import { listProcesses, readOf, statusOf } from './process-tree.ts';

export interface TreeMemory {
  megabytes: number;
  /** Which processes were counted, e.g. `node 61`. */
  parts: string[];
}

/**
 * Adds up the tree below and including this process; PostgreSQL's processes, and what they started,
 * are left out.
 */
export function memoryOfTree(rootPid: number): TreeMemory {
  const childrenOf = Map.groupBy(listProcesses(), (each) => each.parent);
  const parts: string[] = [];
  let total = 0;
  const visit = (pid: number, name: string): void => {
    if (name.startsWith('postgres')) return;
    const megabytes = pssOf(pid);
    total += megabytes;
    parts.push(`${name} ${megabytes.toFixed(0)}`);
    for (const child of childrenOf.get(pid) ?? []) visit(child.pid, child.name);
  };
  visit(rootPid, statusOf(rootPid)?.name ?? '?');
  return { megabytes: total, parts };
}

const pollMs = 50;

/** Does the work and reads the memory of the process tree meanwhile; returns the highest. */
export async function peakMemory<Result>(
  rootPid: number,
  work: () => Promise<Result>,
): Promise<{ result: Result; peak: TreeMemory }> {
  let peak = memoryOfTree(rootPid);
  const polling = setInterval(() => {
    const now = memoryOfTree(rootPid);
    if (now.megabytes > peak.megabytes) peak = now;
  }, pollMs);
  try {
    const result = await work();
    return { result, peak };
  } finally {
    clearInterval(polling);
  }
}

function pssOf(pid: number): number {
  const kilobytes = /^Pss:\s*(\d+) kB$/m.exec(readOf(`/proc/${pid}/smaps_rollup`))?.[1];
  return Number(kilobytes ?? 0) / 1024;
}
