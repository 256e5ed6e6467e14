// Sessions that have work, and turns that wait for their subagents.
import type { SessionId } from '../../src/core/ids.ts';
import { readSessions } from './sessions.ts';
import { atMost, now, table, type Store } from './table.ts';

export const {
  read: readDoorbells,
  count: countDoorbells,
  change: changeDoorbells,
  add: addDoorbells,
  remove: removeDoorbells,
} = table('doorbells', 'session_id', {
  text: 'sessionId lane',
  time: 'dueAt rungAt',
  int: 'rings',
  'int?': 'quietMs',
  'time?': 'gatherUntil',
});

export const {
  count: countYields,
  change: changeYields,
  add: addYields,
} = table('yields', 'session_id', { text: 'sessionId turnId', int: 'epoch seconds', time: 'dueAt createdAt' });

/** Ends the time in which waiting messages are gathered. */
export async function endGathering(store: Store, where: Parameters<typeof changeDoorbells>[1] = {}): Promise<void> {
  await changeDoorbells(store, where, { gatherUntil: now, dueAt: now });
}

/** The sessions that are due and that no worker holds, in the order of their doorbells. */
export async function readDueSessions(store: Store): Promise<SessionId[]> {
  const due = await readDoorbells(store, { dueAt: atMost(now) }, 'sessionId', 'dueAt');
  const free = await readSessions(store, { id: due.map(({ sessionId }) => sessionId), owner: null }, 'id');
  const dueMs = ({ id }: { id: string }): number => Number(due.find(({ sessionId }) => sessionId === id)?.dueAt);
  return free.toSorted((one, other) => dueMs(one) - dueMs(other)).map(({ id }) => id as SessionId);
}
