// Sessions that have work, and turns that wait for their subagents.
import { now, table, type Store } from './table.ts';

export const {
  read: readDoorbells,
  count: countDoorbells,
  change: changeDoorbells,
  add: addDoorbells,
} = table('doorbells', 'session_id', {
  sessionId: 'text',
  lane: 'text',
  dueAt: 'time',
  rings: 'int',
  gatherUntil: 'time?',
});

export const { count: countYields, change: changeYields } = table('yields', 'session_id', {
  sessionId: 'text',
  turnId: 'text',
  epoch: 'int',
  seconds: 'int',
  dueAt: 'time',
  createdAt: 'time',
});

/** Ends the time in which waiting messages are gathered. */
export async function endGathering(store: Store, where: Parameters<typeof changeDoorbells>[1] = {}): Promise<void> {
  await changeDoorbells(store, where, { gatherUntil: now, dueAt: now });
}
