import { newId } from '../../src/ids.ts';
import { table } from './table.ts';

export const {
  read: readDeadLetters,
  count: countDeadLetters,
  change: changeDeadLetters,
  add: addDeadLetters,
  remove: removeDeadLetters,
} = table(
  'dead_letters',
  'id',
  {
    text: 'id kind code reason state',
    'text?': 'sessionId turnId deliveryId',
    time: 'createdAt',
    'time?': 'settledAt',
  },
  { ordinary: () => ({ id: newId<string>(), kind: 'turn', code: 'poison', reason: 'a test' }) },
);
