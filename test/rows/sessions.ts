import { newId } from '../../src/ids.ts';
import { ago, table, type Store } from './table.ts';

export const {
  read: readSessions,
  count: countSessions,
  change: changeSessions,
  add: addSessions,
} = table(
  'sessions',
  'id',
  {
    id: 'text',
    key: 'text',
    agentId: 'text',
    kind: 'text',
    lane: 'text',
    parentId: 'text?',
    label: 'text?',
    channel: 'text?',
    queueMode: 'text?',
    queueDebounceMs: 'int?',
    queueCap: 'int?',
    queueDrop: 'text?',
    model: 'text?',
    thinking: 'text?',
    owner: 'text?',
    epoch: 'int',
    leaseExpiresAt: 'time?',
    turnId: 'text?',
    waiting: 'int',
    transcriptNo: 'int',
    entrySeq: 'int',
    leafSeq: 'int?',
    transcriptVersion: 'int',
    stopReason: 'text?',
    wasAborted: 'bool',
    inputTokens: 'int',
    outputTokens: 'int',
    contextTokens: 'int',
    createdAt: 'time',
    updatedAt: 'time',
    view: 'json',
    ancestors: 'texts',
    runId: 'text?',
    liveChildren: 'int',
    liveDescendants: 'int',
    archivedAt: 'time?',
    reasoning: 'text?',
    stopKind: 'text?',
    costMicros: 'int?',
    unpricedCalls: 'int',
    isSimulated: 'bool',
    collectMax: 'int?',
  },
  { ordinary: () => ({ id: newId<string>(), agentId: 'main', kind: 'main', lane: 'main' }) },
);

/** The worker that holds these sessions has not renewed its leases in time. */
export async function expireLeases(store: Store, where: Parameters<typeof changeSessions>[1]): Promise<void> {
  await changeSessions(store, where, { leaseExpiresAt: ago('1 second') });
}
