import { table } from './table.ts';

export const { change: changeRetention } = table('retention', 'kind', {
  text: 'kind',
  'int?': 'keepMs',
  'text?': 'position',
  'time?': 'cutoffAt completedTo completedAt',
  int: 'deletedInPass deleted',
  time: 'createdAt',
});
