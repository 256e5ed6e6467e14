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
    text: 'id key agentId kind lane',
    'text?':
      'parentId label channel queueMode queueDrop model thinking owner turnId stopReason lastEventText forkedFromId runId reasoning stopKind root',
    'int?': 'queueDebounceMs queueCap leafSeq costMicros collectMax',
    int: 'epoch inboxSeq waiting heldSeq transcriptNo entrySeq transcriptVersion inputTokens outputTokens contextTokens liveChildren liveDescendants lostClaims unpricedCalls',
    'time?': 'leaseExpiresAt archivedAt lastMessageAt',
    bool: 'wasAborted isSimulated',
    time: 'createdAt updatedAt',
    json: 'view',
    texts: 'ancestors',
  },
  { ordinary: () => ({ id: newId<string>(), agentId: 'main', kind: 'main', lane: 'main' }) },
);

/** The worker that holds these sessions has not renewed its leases in time. */
export async function expireLeases(store: Store, where: Parameters<typeof changeSessions>[1]): Promise<void> {
  await changeSessions(store, where, { leaseExpiresAt: ago('1 second') });
}
