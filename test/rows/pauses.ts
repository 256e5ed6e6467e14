import { newId } from '../../src/ids.ts';
import { table } from './table.ts';

export const { add: addPauses, remove: removePauses } = table(
  'pauses',
  'id',
  { text: 'id pausedBy', 'text?': 'lane agentId sessionKey reason', time: 'createdAt' },
  { ordinary: () => ({ id: newId<string>(), pausedBy: 'test' }) },
);

export const {
  count: countModelBlocks,
  change: changeModelBlocks,
  add: addModelBlocks,
  remove: removeModelBlocks,
} = table('model_blocks', 'account, model', {
  text: 'account model',
  time: 'until since',
  'text?': 'detail code',
  'time?': 'liftedAt probeAt',
});

export const { change: changeRateWindows, add: addRateWindows } = table('rate_windows', 'limit_id', {
  text: 'limitId unit',
  int: 'amount granted',
  time: 'refilledAt',
});
