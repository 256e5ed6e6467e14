import { newId } from '../../src/ids.ts';
import { table } from './table.ts';

export const {
  read: readBatches,
  count: countBatches,
  change: changeBatches,
  add: addBatches,
  remove: removeBatches,
} = table(
  'batches',
  'id',
  {
    text: 'id status via agentId fallback cache format createdBy recent',
    'text?': 'name outcome pauseReason pauseDetail model',
    'time?': 'deadlineAt markAt startedAt endedAt probeAt',
    json: 'defaults',
    int: 'concurrency weight maxFailurePercent reservedMicros revision itemCount inFlight answered silent failed cancelled expired inputTokens outputTokens cacheReadTokens cacheWriteTokens unpricedCalls',
    'int?': 'pilot maxCostMicros costMicros ratePerMinute',
    bool: 'isSimulated',
    time: 'createdAt',
    'json?': 'choice',
  },
  {
    ordinary: () => ({
      id: newId<string>(),
      agentId: 'main',
      defaults: {},
      concurrency: 1,
      maxFailurePercent: 50,
      format: 'holdfast',
      createdBy: 'test',
    }),
  },
);

export const {
  read: readBatchItems,
  count: countBatchItems,
  change: changeBatchItems,
  add: addBatchItems,
  remove: removeBatchItems,
} = table(
  'batch_items',
  'batch_id, n',
  {
    text: 'batchId sessionKey status',
    int: 'n attempt inputTokens outputTokens cacheReadTokens cacheWriteTokens',
    'text?': 'customId sessionId messageId turnId errorCode code',
    bool: 'isOwnSession isReady',
    'int?': 'afterN costMicros',
    json: 'body',
    'json?': 'error',
    'time?': 'endedAt',
  },
  { computed: { code: "error ->> 'code'" } },
);

export const { add: addBatchHops } = table('batch_hops', 'batch_id, n', {
  text: 'batchId via reason',
  int: 'n requests answered inputTokens outputTokens cacheReadTokens cacheWriteTokens wastedMicros',
  'time?': 'submittedAt endedAt',
  texts: 'providerBatchIds',
  'int?': 'costMicros liveMicros',
});

export const { read: readBatchMinutes, change: changeBatchMinutes } = table('batch_minutes', 'batch_id, starts_at', {
  text: 'batchId',
  time: 'startsAt',
  int: 'ended',
});
