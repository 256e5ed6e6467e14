import { table } from './table.ts';

export const { read: readHeartbeats, add: addHeartbeats } = table('heartbeats', 'id', {
  text: 'id agentId sessionId trigger status',
  time: 'scheduledFor createdAt',
  'text?': 'reason detail result messageId owner',
  'time?': 'leaseExpiresAt settledAt',
});
