import { table } from './table.ts';

export const {
  read: readHeartbeats,
  count: countHeartbeats,
  change: changeHeartbeats,
  add: addHeartbeats,
  remove: removeHeartbeats,
} = table('heartbeats', 'id', {
  text: 'id agentId sessionId trigger status',
  time: 'scheduledFor createdAt',
  'text?': 'reason detail result messageId owner',
  'time?': 'leaseExpiresAt settledAt',
});

export const {
  read: readHeartbeatStates,
  count: countHeartbeatStates,
  change: changeHeartbeatStates,
  remove: removeHeartbeatStates,
} = table('heartbeat_states', 'agent_id', {
  text: 'agentId sessionId',
  int: 'everyMs',
  'time?': 'nextAt',
  json: 'tasks',
  time: 'updatedAt',
});
