// `holdfast workers`: the processes, and how to drain one.
import type { WorkerView as WorkerAnswer } from '../../contract/workers.ts';
import { connectApi, type ClientFlags } from '../api-client.ts';
import { EXIT, type ExitCode } from '../cli-error.ts';
import type { PageOptions } from '../options.ts';
import { printList } from '../print.ts';
import type { Style } from '../style.ts';
import type { Terminal } from '../terminal.ts';

const STATE_STYLES: Partial<Record<WorkerAnswer['state'], Style>> = { draining: 'yellow', lost: 'red' };

/** Lists the processes. */
export async function runWorkersList(options: PageOptions, flags: ClientFlags, terminal: Terminal): Promise<ExitCode> {
  const body = await connectApi(flags).listWorkers({ ...options });
  printList<WorkerAnswer>(
    body,
    [
      { title: 'ID', value: (row) => row.id },
      { title: 'STATE', value: (row) => row.state, style: (row) => STATE_STYLES[row.state] },
      { title: 'ROLES', value: (row) => row.roles.join(',') },
      { title: 'HOST', value: (row) => row.host, dropOrder: 3 },
      { title: 'PID', value: (row) => String(row.pid), align: 'right', dropOrder: 4 },
      { title: 'VERSION', value: (row) => row.version, dropOrder: 1 },
      { title: 'SEEN', value: (row) => terminal.time(row.seenAt) },
      { title: 'IN USE', value: lanesText, dropOrder: 2 },
    ],
    terminal,
  );
  return EXIT.ok;
}

function lanesText({ lanes }: WorkerAnswer): string {
  return Object.entries(lanes)
    .map(([lane, { slots, inUse }]) => `${lane} ${inUse}/${slots}`)
    .join(', ');
}

/** Asks a process to drain. */
export async function runWorkersDrain(id: string, flags: ClientFlags, terminal: Terminal): Promise<ExitCode> {
  const body = await connectApi(flags).drainWorker({ id });
  if (terminal.isJson) terminal.json(body);
  else terminal.print(`${body.id} is asked to drain`);
  return EXIT.ok;
}
