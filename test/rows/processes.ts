import { newId } from '../../src/ids.ts';
import { now, table } from './table.ts';

export const {
  read: readProcesses,
  change: changeProcesses,
  add: addProcesses,
} = table(
  'processes',
  'id',
  {
    text: 'id sessionId turnId causeKey command workdir status worker machine',
    time: 'leaseExpiresAt startedAt',
    'int?': 'pid exitCode',
    'text?': 'reason outputTail',
    'time?': 'endedAt',
  },
  {
    ordinary: () => ({
      id: newId<string>(),
      command: 'c',
      workdir: '/',
      worker: 'w',
      leaseExpiresAt: now,
      machine: 'm',
    }),
  },
);

export const { read: readProcessInputs, add: addProcessInputs } = table('process_inputs', 'process_id, n', {
  int: 'n',
  text: 'processId causeKey data',
  bool: 'isLast',
  time: 'createdAt',
});
