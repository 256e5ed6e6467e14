import { expect, test } from 'vitest';
import { expectedCostMicros, type SpentBatch } from '../../../src/core/batch/expected-cost.ts';
import { priceRowOf } from '../../../src/core/prices/price-row.ts';

const price = priceRowOf(
  { model: 'm', inputPerMTok: 3, outputPerMTok: 15, cacheReadPerMTok: 0.3, cacheWrite5mPerMTok: 3.75 },
  'test',
);
const spent: SpentBatch = {
  via: 'live',
  total: 100,
  ended: 20,
  costMicros: 20_000,
  liveRounds: [],
  price,
  measured: null,
};
// A live pilot: 20 calls with a prompt of 4,000 tokens, of which 3,000 were in the cache, and answers of 300.
const round = {
  n: 1,
  requests: 20,
  inputTokens: 0,
  cacheReadTokens: 60_000,
  cacheWriteTokens: 20_000,
  outputTokens: 6_000,
};
const pilot = { ...round, costMicros: 183_000 };

test('the expected cost of a batch follows the cost of its ended items, from 20 ends on', () => {
  expect(expectedCostMicros(spent)).toBe(100_000);
  expect(expectedCostMicros({ ...spent, ended: 19 })).toBeNull();
  expect(expectedCostMicros({ ...spent, costMicros: null })).toBeNull();
  expect(expectedCostMicros({ ...spent, ended: 100 })).toBe(20_000);
});

test('after a live pilot it is that of the other way, at the cache hit rate that was measured last', () => {
  const batch: SpentBatch = { ...spent, via: 'provider-batch', costMicros: 183_000, liveRounds: [pilot] };
  expect(expectedCostMicros(batch)).toBeNull();
  // At a rate of 1, half of the live price.
  expect(expectedCostMicros({ ...batch, measured: { hitRate: 1 } })).toBe(183_000 + (80 * 183_000) / 20 / 2);
  // Live is cheaper than a cold cache, and then `auto` stays live.
  const cold = { ...batch, measured: { hitRate: 0 }, liveRounds: [{ ...pilot, costMicros: 100_000 }] };
  expect(expectedCostMicros({ ...cold, via: 'auto' })).toBe(183_000 + 80 * 5_000);
  // As soon as enough of the rest has ended, its own costs count.
  expect(expectedCostMicros({ ...batch, ended: 40, costMicros: 283_000, measured: null })).toBe(283_000 + 60 * 5_000);
});
