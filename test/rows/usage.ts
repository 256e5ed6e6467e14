// Sums of what turns used, and what they are counted from.
import { readEvents } from './events.ts';
import { above, table, type Store } from './table.ts';

const SUMS =
  'turns failedTurns calls failures unpricedCalls inputTokens outputTokens cacheReadTokens cacheWriteTokens cacheWrite1hTokens costMicros waitMs turnMs callMs firstChunkMs';
const noUsage = Object.fromEntries(SUMS.split(' ').map((column) => [column, 0]));

export const {
  read: readUsageBuckets,
  change: changeUsageBuckets,
  add: addUsageBuckets,
  remove: removeUsageBuckets,
} = table(
  'usage_buckets',
  'size, starts_at, model, kind',
  {
    text: 'size agentId model lane tier kind',
    time: 'startsAt',
    int: SUMS,
    bool: 'isSimulated',
  },
  {
    ordinary: () => ({
      size: 'hour',
      agentId: 'main',
      model: 'm',
      lane: 'main',
      tier: 'standard',
      kind: 'message',
      ...noUsage,
    }),
  },
);

export const { read: readRollUpCursor, change: changeRollUpCursor } = table('roll_up_cursor', '1', {
  int: 'afterId sessions',
  'time?': 'countedAt',
  'text?': 'sessionsTo',
});

export const { remove: removeRowCounts } = table('row_counts', 'subject, status', {
  text: 'subject status',
  int: 'count',
});

export const { count: countMinuteSamples, change: changeMinuteSamples } = table('minute_samples', 'starts_at', {
  time: 'startsAt',
  int: 'waiting running',
});

/** The events that the roll-ups have not counted yet. */
export async function readUncounted(store: Store) {
  const [cursor] = await readRollUpCursor(store, {}, 'afterId');
  return readEvents(store, { id: above(cursor!.afterId) }, 'id', 'type');
}
