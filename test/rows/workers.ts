import { newId } from '../../src/ids.ts';
import { table } from './table.ts';

export const { change: changeWorkers } = table(
  'workers',
  'id',
  {
    id: 'text',
    name: 'text',
    host: 'text',
    pid: 'int',
    roles: 'texts',
    version: 'text',
    lanes: 'json',
    startedAt: 'time',
    seenAt: 'time',
  },
  {
    ordinary: () => ({
      id: newId<string>(),
      name: 'a worker',
      host: 'host',
      pid: 1,
      roles: ['worker'],
      version: '1',
      lanes: {},
    }),
  },
);
