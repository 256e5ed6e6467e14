import { table } from './table.ts';

export const { read: readBulkActionItems } = table('bulk_action_items', 'action_id', {
  text: 'actionId subject status',
  int: 'n',
  'text?': 'reason',
  'texts?': 'messageIds',
  'time?': 'settledAt',
});
