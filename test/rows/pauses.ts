import { table } from './table.ts';

export const {
  count: countModelBlocks,
  change: changeModelBlocks,
  remove: removeModelBlocks,
} = table('model_blocks', 'account, model', {
  account: 'text',
  model: 'text',
  until: 'time',
  since: 'time',
  detail: 'text?',
  liftedAt: 'time?',
  probeAt: 'time?',
});

export const { add: addRateWindows } = table('rate_windows', 'limit_id', {
  limitId: 'text',
  unit: 'text',
  amount: 'int',
  granted: 'int',
});
