import { table } from './table.ts';

export const {
  read: readMcpServers,
  add: addMcpServers,
  change: changeMcpServers,
} = table('mcp_servers', 'name', {
  text: 'name state',
  'text?': 'error',
  int: 'failedTries',
  'json?': 'info',
  time: 'changedAt dueAt',
  'time?': 'checkedAt claimedUntil',
});
