import { newId } from '../../src/ids.ts';
import { table } from './table.ts';

export const {
  read: readWorkers,
  change: changeWorkers,
  add: addWorkers,
  remove: removeWorkers,
} = table(
  'workers',
  'id',
  {
    text: 'id name host version',
    int: 'pid',
    texts: 'roles',
    json: 'lanes sandbox',
    'time?': 'queueAwaySince drainingAt',
    time: 'startedAt seenAt',
    'int?': 'clockAheadMs',
  },
  {
    ordinary: () => ({
      id: newId<string>(),
      name: newId<string>(),
      host: 'host',
      pid: 1,
      roles: ['worker'],
      version: '1',
      lanes: {},
    }),
  },
);
