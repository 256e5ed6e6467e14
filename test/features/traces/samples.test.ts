// Which traces are exported.
import { expect, test } from 'vitest';
import { samples } from '../../../src/features/traces/start-tracing.ts';

const parentOf = (isSampled: boolean) => ({ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), isSampled });
const isKept = (): boolean => false;

test('a sampler by the parent does as the parent, and as its own kind without one', () => {
  expect(samples('parentbased_always_on', { parent: parentOf(false), isKept })).toBe(false);
  expect(samples('parentbased_always_off', { parent: parentOf(true), isKept })).toBe(true);
  expect(samples('parentbased_always_on', { parent: null, isKept })).toBe(true);
  expect(samples('parentbased_traceidratio', { parent: null, isKept })).toBe(false);
});

test('other samplers ignore the parent', () => {
  expect(samples('always_on', { parent: parentOf(false), isKept })).toBe(true);
  expect(samples('always_off', { parent: parentOf(true), isKept })).toBe(false);
  expect(samples('traceidratio', { parent: parentOf(true), isKept })).toBe(false);
});
