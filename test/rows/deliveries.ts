import { newId } from '../../src/ids.ts';
import { ahead, table } from './table.ts';

export const { read: readDeliveries, count: countDeliveries } = table(
  'deliveries',
  'session_id, seq',
  {
    id: 'text',
    sessionId: 'text',
    turnId: 'text?',
    seq: 'int',
    channel: 'text',
    target: 'json',
    payload: 'json',
    status: 'text',
    attempts: 'int',
    dueAt: 'time',
    owner: 'text?',
    leaseExpiresAt: 'time?',
    expiresAt: 'time',
    lastStatus: 'int?',
    lastError: 'text?',
    createdAt: 'time',
    settledAt: 'time?',
    causeKey: 'text?',
    text: 'text?',
  },
  {
    ordinary: () => ({
      id: newId<string>(),
      seq: 1,
      channel: 'webhook',
      target: {},
      payload: {},
      expiresAt: ahead('1 hour'),
    }),
    computed: { text: "payload ->> 'text'" },
  },
);
