import { newId } from '../../src/ids.ts';
import { ahead, table } from './table.ts';

export const {
  read: readDeliveries,
  count: countDeliveries,
  change: changeDeliveries,
  add: addDeliveries,
} = table(
  'deliveries',
  'session_id, seq',
  {
    text: 'id sessionId channel status',
    'text?': 'turnId owner lastError causeKey text platformId',
    int: 'seq part parts attempts wakes',
    json: 'target payload',
    time: 'dueAt expiresAt createdAt',
    'time?': 'leaseExpiresAt settledAt',
    'int?': 'lastStatus',
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
