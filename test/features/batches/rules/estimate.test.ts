import { expect, test } from 'vitest';
import { expectedCostMicros, type SpentBatch } from '../../../../src/features/batches/rules/estimate.ts';

const spent: SpentBatch = {
  way: 'live',
  total: 100,
  ended: 20,
  costMicros: 20_000,
  live: { items: 0, costMicros: 0 },
  batchShare: null,
};
const pilot = { items: 20, costMicros: 183_000 };

test('the expected cost of a batch follows the cost of its ended items, from 20 ends on', () => {
  expect(expectedCostMicros(spent)).toBe(100_000);
  expect(expectedCostMicros({ ...spent, ended: 19 })).toBeNull();
  expect(expectedCostMicros({ ...spent, costMicros: null })).toBeNull();
  expect(expectedCostMicros({ ...spent, ended: 100 })).toBe(20_000);
});

test('after a live pilot it is that of the other way, at what batches of the provider have cost lately beside live calls', () => {
  const batch: SpentBatch = { ...spent, way: 'provider-batch', costMicros: 183_000, live: pilot };
  expect(expectedCostMicros(batch)).toBeNull();
  expect(expectedCostMicros({ ...batch, batchShare: 0.5 })).toBe(183_000 + (80 * 183_000) / 20 / 2);
  // As soon as enough of the rest has ended, its own costs count.
  expect(expectedCostMicros({ ...batch, ended: 40, costMicros: 283_000 })).toBe(283_000 + 60 * 5_000);
});

test('when the first items went through the provider and the others do not, the cost of these counts', () => {
  const batch: SpentBatch = { ...spent, ended: 40, costMicros: 500_000, live: { items: 20, costMicros: 100_000 } };
  expect(expectedCostMicros(batch)).toBe(500_000 + 60 * 5_000);
  expect(expectedCostMicros({ ...batch, ended: 30, live: { items: 10, costMicros: 50_000 } })).toBeNull();
});
