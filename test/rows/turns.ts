import { newId } from '../../src/ids.ts';
import { ahead, now, table, type Store } from './table.ts';
import { changeSessions, readSessions } from './sessions.ts';

export const {
  read: readTurns,
  count: countTurns,
  change: changeTurns,
  add: addTurns,
  remove: removeTurns,
} = table(
  'turns',
  'id',
  {
    text: 'id sessionId kind lane status worker model systemSha256 toolsSha256',
    int: 'attempt deaths epoch promptSeq calls retries steps inputTokens outputTokens cacheReadTokens cacheWriteTokens parks crowdDeaths unpricedCalls',
    'text?': 'thinking reply parkCode parkText parkBy askedModel code',
    'json?': 'error tags',
    time: 'queuedAt claimedAt startedAt',
    'time?': 'endedAt parkSince parkNotBefore',
    json: 'view',
    'int?': 'costMicros',
    bool: 'isSimulated',
  },
  {
    ordinary: () => ({
      id: newId<string>(),
      kind: 'message',
      lane: 'main',
      status: 'completed',
      epoch: 1,
      worker: 'w',
      model: 'm',
      promptSeq: 1,
      systemSha256: 's',
      toolsSha256: 't',
      queuedAt: now,
      claimedAt: now,
    }),
    computed: { code: "error ->> 'code'" },
  },
);

export const { count: countTurnAttempts, change: changeTurnAttempts } = table('turn_attempts', 'turn_id, attempt', {
  text: 'turnId worker how',
  int: 'epoch attempt',
  time: 'claimedAt',
  'time?': 'endedAt',
  'text?': 'code',
});

/** A turn that a worker elsewhere runs in a session; returns its id. */
export async function openTurnElsewhere(store: Store, session: { key: string }, id = newId<string>()): Promise<string> {
  const [found] = await readSessions(store, session, 'id');
  await addTurns(store, { id, sessionId: found!.id, status: 'running', worker: 'elsewhere' });
  await changeSessions(store, session, { turnId: id, owner: 'elsewhere', leaseExpiresAt: ahead('1 hour') });
  return id;
}
