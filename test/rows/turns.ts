import { newId } from '../../src/ids.ts';
import { now, table } from './table.ts';

export const {
  read: readTurns,
  count: countTurns,
  change: changeTurns,
  add: addTurns,
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

export const { count: countTurnAttempts } = table('turn_attempts', 'turn_id, attempt', {
  text: 'turnId worker how',
  int: 'epoch attempt',
  time: 'claimedAt',
  'time?': 'endedAt',
  'text?': 'code',
});
