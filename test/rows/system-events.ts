import { table } from './table.ts';

export const { read: readSystemEvents, add: addSystemEvents } = table('system_events', 'id', {
  id: 'text',
  sessionId: 'text',
  text: 'text',
  contextKey: 'text?',
  isTrusted: 'bool',
  state: 'text',
  turnId: 'text?',
  causeKey: 'text?',
  createdAt: 'time',
  settledAt: 'time?',
});
