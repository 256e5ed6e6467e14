// `holdfast workers`: the processes, and how to drain one.
import type { WorkerView } from '../../contract/workers.ts';
import { command, lists, prints, type Words } from '../command.ts';
import { pages } from '../options.ts';
import type { Style } from '../table.ts';

const STATE_STYLES: Partial<Record<WorkerView['state'], Style>> = { draining: 'yellow', lost: 'red' };

export const words: Words = {
  workers: {
    list: command({
      summary: 'list processes with the slots of their lanes, newest first',
      takes: pages(),
      run: lists('listWorkers', (terminal) => [
        { title: 'ID', value: (row) => row.id },
        { title: 'STATE', value: (row) => row.state, style: (row) => STATE_STYLES[row.state] },
        { title: 'ROLES', value: (row) => row.roles.join(',') },
        { title: 'HOST', value: (row) => row.host, dropOrder: 3 },
        { title: 'PID', value: (row) => row.pid, dropOrder: 4 },
        { title: 'VERSION', value: (row) => row.version, dropOrder: 1 },
        { title: 'SEEN', value: (row) => terminal.time(row.seenAt) },
        { title: 'IN USE', value: lanesText, dropOrder: 2 },
      ]),
    }),
    drain: command({
      summary: 'drain a process: it finishes or releases its turns, then exits',
      takes: { id: ['<id>'] },
      run: prints('drainWorker', ({ id }) => `${id} is asked to drain`),
    }),
  },
};

function lanesText({ lanes }: WorkerView): string {
  return Object.entries(lanes)
    .map(([lane, { slots, inUse }]) => `${lane} ${inUse}/${slots}`)
    .join(', ');
}
