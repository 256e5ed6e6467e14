import { table } from './table.ts';

export const { read: readPriceVersions } = table('price_versions', 'version', { text: 'version sha256', json: 'rows' });

export const { read: readRepricings } = table('repricings', '1', {
  text: 'id priceVersion',
  time: 'startedAt',
  'text?': 'reason',
  int: 'calls beforeMicros afterMicros',
  'time?': 'endedAt',
});

export const { read: readEarlierCosts, count: countEarlierCosts } = table('earlier_costs', 'turn_id, call_no', {
  text: 'turnId',
  int: 'callNo',
  'int?': 'costMicros',
  'text?': 'priceVersion',
  time: 'changedAt',
});
