import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatDuration, parseDuration } from '../../src/core/time.ts';

test.each([
  ['0m', 0],
  ['500ms', 500],
  ['30s', 30_000],
  ['30m', 1_800_000],
  ['1h30m', 5_400_000],
  ['1h 30m', 5_400_000],
  ['1.5h', 5_400_000],
  ['2d', 172_800_000],
  ['1W', 604_800_000],
])('%s is %d ms', (text, expected) => {
  expect(parseDuration(text)).toBe(expected);
});

test.each(['', '30', 'm', '30 min', '-5m', '5m!', '1e3s', '٣m', '1'.repeat(50) + 's'])(
  '%j is not a duration',
  (text) => {
    expect(parseDuration(text)).toBeUndefined();
  },
);

test('every sum of units is read as that sum', () => {
  const amount = fc.nat(999);
  fc.assert(
    fc.property(amount, amount, amount, amount, (days, hours, minutes, ms) => {
      const text = `${days}d${hours}h${minutes}m${ms}ms`;
      expect(parseDuration(text)).toBe(days * 86_400_000 + hours * 3_600_000 + minutes * 60_000 + ms);
    }),
  );
});

test.each([
  [850, '850ms'],
  [12_345, '12.3s'],
  [90_000, '1m 30s'],
  [3_600_000, '1h'],
  [5_400_000, '1h 30m'],
  [2_073_600_000, '24d'],
])('%d ms is written %s', (ms, expected) => {
  expect(formatDuration(ms)).toBe(expected);
});
