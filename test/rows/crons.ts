import { newId } from '../../src/ids.ts';
import { table } from './table.ts';

export const { read: readCrons } = table(
  'crons',
  'id',
  {
    id: 'text',
    name: 'text',
    agentId: 'text',
    origin: 'text',
    schedule: 'json',
    target: 'text',
    payload: 'json',
    wake: 'text',
    misfire: 'text?',
    delivery: 'json?',
    deleteAfterRun: 'bool',
    isEnabled: 'bool',
    disabledReason: 'text?',
    lastSlotAt: 'time?',
    nextSlotAt: 'time?',
    createdAt: 'time',
    updatedAt: 'time',
    revision: 'int',
    dueAt: 'time?',
    causeKey: 'text?',
    options: 'json?',
  },
  { ordinary: () => ({ id: newId<string>(), agentId: 'main' }) },
);
