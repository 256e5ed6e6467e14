import { newId } from '../../src/ids.ts';
import { table } from './table.ts';

export const {
  read: readProviderBatches,
  count: countProviderBatches,
  change: changeProviderBatches,
  add: addProviderBatches,
  remove: removeProviderBatches,
} = table(
  'provider_batches',
  'id',
  {
    text: 'id account status bodySha256',
    int: 'requestCount bodyBytes looks',
    time: 'submitStartedAt dueAt createdAt',
    'time?': 'submittedAt expiresAt absentSince leaseExpiresAt endedAt',
    'text?': 'providerId owner',
    bool: 'isAdopted isProved',
    texts: 'disprovedIds',
    'json?': 'counts error wasted hops',
    'int?': 'wastedMicros',
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
  count: countProviderRequests,
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
