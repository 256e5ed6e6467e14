import { table } from './table.ts';

export const {
  read: readSubagentRuns,
  count: countSubagentRuns,
  change: changeSubagentRuns,
  add: addSubagentRuns,
} = table('subagent_runs', 'created_at, id', {
  text: 'id parentId childId rootId task cleanup status mode route',
  int: 'depth inputTokens outputTokens unpricedCalls',
  'text?': 'label result causeKey error announcedTo',
  'time?': 'deadlineAt endedAt',
  time: 'createdAt',
  'json?': 'deliver options',
  'int?': 'costMicros',
  bool: 'isSimulated',
});
