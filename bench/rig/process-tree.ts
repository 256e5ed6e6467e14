// The processes of this machine as /proc shows them, and the processor time that they have used.
import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessStatus {
  pid: number;
  parent: number;
  name: string;
}

/**
 * Linux counts processor time in hundredths of a second for every program, whatever its own clock
 * is.
 */
const msPerTick = 10;

/** Every process that runs now. */
export function listProcesses(): ProcessStatus[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map((entry) => statusOf(Number(entry)))
    .filter((status) => status !== null);
}

/** One process; null when it has ended. */
export function statusOf(pid: number): ProcessStatus | null {
  const text = readOf(`/proc/${pid}/status`);
  const name = /^Name:\s*(.+)$/m.exec(text)?.[1];
  const parent = /^PPid:\s*(\d+)$/m.exec(text)?.[1];
  if (name === undefined || parent === undefined) return null;
  // Node names its threads, and the first one's name is the process's.
  return { pid, parent: Number(parent), name: name === 'MainThread' ? 'node' : name };
}

/**
 * The processor time in milliseconds that these processes and the processes below them have used,
 * those that have ended and were waited for included. Processes whose name is `except` are left out
 * with what is below them.
 */
export function processorMsOf(rootPids: readonly number[], except?: string): number {
  const childrenOf = Map.groupBy(listProcesses(), (each) => each.parent);
  const visit = (pid: number): number =>
    ownProcessorMs(pid) +
    (childrenOf.get(pid) ?? [])
      .filter(({ name }) => name !== except)
      .reduce((total, child) => total + visit(child.pid), 0);
  return rootPids.reduce((total, pid) => total + visit(pid), 0);
}

function ownProcessorMs(pid: number): number {
  // The name, in brackets, can have blanks. After it, fields 14 to 17 are utime, stime, cutime and
  // cstime (proc(5)).
  const fields = readOf(`/proc/${pid}/stat`).split(') ').at(-1)?.split(' ') ?? [];
  return fields.slice(11, 15).reduce((total, ticks) => total + Number(ticks) * msPerTick, 0);
}

/** The file's text; empty when its process has ended. */
export function readOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
