// Goal: the parts of the benchmarks that compute and print are right, so that a figure that they print is what was measured. Nothing is
// measured here.
import { expect, test } from 'vitest';
import { alternate } from '../bench/rig/alternate.ts';
import { formatBars, verdictOf, type BarLine } from '../bench/rig/bar.ts';

test('rounds measure every side once, and every second round in reverse order', async () => {
  const order: string[] = [];
  const side = (name: string) => ({
    name,
    measure: () => {
      order.push(name);
      return Promise.resolve(1);
    },
  });
  await alternate(3, [side('floor'), side('before'), side('after')], Number);
  expect(order.join(' ')).toBe('floor before after after before floor floor before after');
});

test('a ratio compares two sides of the same round, and the median round counts', async () => {
  const values = { floor: [10, 20, 40], service: [5, 18, 20] };
  const { runsOf, ratioOf } = await alternate(
    3,
    [
      { name: 'floor', measure: () => Promise.resolve(values.floor.shift() ?? 0) },
      { name: 'service', measure: () => Promise.resolve(values.service.shift() ?? 0) },
    ],
    Number,
  );
  expect(runsOf('service')).toEqual([5, 18, 20]);
  expect(ratioOf('service', 'floor')).toBe(0.5);
  expect(ratioOf('floor', 'service')).toBe(2);
});

const FIGURE = { part: 'a', what: 'turns', floor: '10/s', holdfast: '5/s', measured: 0.5, unit: 'x' };

test.each<[string, BarLine, string]>([
  ['a ratio at its bar passes', { ...FIGURE, bar: 0.5, sense: 'atLeast' }, 'pass'],
  ['a ratio below its bar is missed', { ...FIGURE, bar: 0.6, sense: 'atLeast' }, 'MISS'],
  ['a time above its bar is missed', { ...FIGURE, bar: 0.4, sense: 'atMost' }, 'MISS'],
  ['a figure without a bar is not judged', { ...FIGURE, bar: null }, 'no bar'],
  [
    'a figure that was not measured does not pass',
    { ...FIGURE, measured: null, bar: 0.5, sense: 'atLeast' },
    'not measured',
  ],
])('%s', (_, line, verdict) => {
  expect(verdictOf(line)).toBe(verdict);
});

test('a figure without a bar is printed beside the floor', () => {
  const [, , row] = formatBars([{ ...FIGURE, bar: null }]).split('\n');
  expect(row?.split(/ {2,}/)).toEqual(['a', 'turns', '10/s', '5/s', '0.50x', '-', 'no bar']);
});
