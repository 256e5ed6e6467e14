import { newId } from '../../src/ids.ts';
import { table } from './table.ts';

export const { add: addProviderBatches, remove: removeProviderBatches } = table(
  'provider_batches',
  'id',
  {
    text: 'id account status bodySha256',
    int: 'requestCount bodyBytes looks',
    time: 'submitStartedAt dueAt createdAt',
    'time?': 'expiresAt leaseExpiresAt endedAt',
    'text?': 'providerId owner',
    bool: 'isAdopted isProved',
    'json?': 'counts error wasted hops',
  },
  {
    ordinary: () => ({
      id: newId<string>(),
      account: 'a',
      status: 'submitted',
      requestCount: 1,
      bodyBytes: 1,
      bodySha256: '',
    }),
  },
);

export const {
  read: readProviderRequests,
  change: changeProviderRequests,
  add: addProviderRequests,
} = table('provider_requests', 'turn_id, call_no', {
  text: 'turnId sessionId model status paramsSha256 fallback',
  int: 'callNo paramsBytes returns',
  'text?': 'batchId providerBatchId split reason cache',
  'int?': 'requestNo hop',
  'bytes?': 'params',
  'json?': 'result error',
  time: 'leaveAt queuedAt',
  'time?': 'settledAt',
});
