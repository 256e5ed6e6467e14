// Which process a number means. A number alone is used again after the process, after a boot, and in every container: with the boot,
// the namespace and the start time it means one process only.
import { readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';

/** Where process ids mean the same as here: this boot, this namespace. Elsewhere than on Linux only the host's name. */
export async function machineName(): Promise<string> {
  const [boot, namespace] = await Promise.all([
    readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => ''),
    readlink('/proc/self/ns/pid').catch(() => ''),
  ]);
  return boot === '' || namespace === '' ? hostname() : `${boot.trim()} ${namespace}`;
}

/** When a process was started, in ticks since the boot; null: it does not exist, or this system does not provide it. */
export async function startedTicksOf(pid: number): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // `pid (name) state parent ...`: the name may contain anything, so count from its last parenthesis; the start is the 22nd field.
  const ticks = Number(status.slice(status.lastIndexOf(')') + 2).split(' ')[19]);
  return Number.isFinite(ticks) ? ticks : null;
}
