import { table } from './table.ts';

export const { read: readHeartbeats, add: addHeartbeats } = table('heartbeats', 'id', {
  id: 'text',
  agentId: 'text',
  sessionId: 'text',
  scheduledFor: 'time',
  trigger: 'text',
  status: 'text',
  reason: 'text?',
  detail: 'text?',
  result: 'text?',
  messageId: 'text?',
  owner: 'text?',
  leaseExpiresAt: 'time?',
  createdAt: 'time',
  settledAt: 'time?',
});
