import { newId } from '../../src/ids.ts';
import { table } from './table.ts';

export const { read: readDeadLetters, count: countDeadLetters } = table(
  'dead_letters',
  'id',
  {
    id: 'text',
    kind: 'text',
    sessionId: 'text?',
    turnId: 'text?',
    deliveryId: 'text?',
    code: 'text',
    reason: 'text',
    state: 'text',
    createdAt: 'time',
    settledAt: 'time?',
  },
  { ordinary: () => ({ id: newId<string>(), kind: 'turn', code: 'poison', reason: 'a test' }) },
);
