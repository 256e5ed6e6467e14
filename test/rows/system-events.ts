import { table } from './table.ts';

export const {
  read: readSystemEvents,
  count: countSystemEvents,
  add: addSystemEvents,
} = table('system_events', 'id', {
  text: 'id sessionId text state',
  'text?': 'contextKey turnId causeKey',
  bool: 'isTrusted',
  time: 'createdAt',
  'time?': 'settledAt',
});
