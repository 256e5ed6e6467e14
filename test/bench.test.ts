// Goal: the parts of the benchmarks that compute and print are right, so that a figure that they
// print is what was measured. Nothing is measured here.
import { expect, test } from 'vitest';
import { alternate } from '../bench/rig/alternate.ts';
import { formatBars, verdictOf, type BarLine } from '../bench/rig/bar.ts';
import { formatComparison } from '../bench/rig/comparison.ts';
import { beforeDefault, formatUsage, readArguments } from '../bench/rig/read-arguments.ts';

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

test('a ratio can be that of another figure of the same rounds', async () => {
  const { ratioOf } = await alternate(
    1,
    [
      { name: 'before', measure: () => Promise.resolve({ rate: 10, ms: 2 }) },
      { name: 'after', measure: () => Promise.resolve({ rate: 5, ms: 3 }) },
    ],
    ({ rate }) => rate,
  );
  expect([ratioOf('after', 'before'), ratioOf('after', 'before', ({ ms }) => ms)]).toEqual([0.5, 1.5]);
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

const PARTS = ['a', 'b', 'peers', 'plain', 'before'].map((letter) => ({ letter, title: `part ${letter}` }));

test.each<[string, string[], string[]]>([
  ['without options all parts run but those on request', [], ['a', 'b']],
  ['--only runs the named parts in the order of the run', ['--only', 'b, a'], ['a', 'b']],
  ['--peers runs the comparison with peers alone', ['--peers'], ['peers']],
  ['--before runs both comparisons with an older commit alone', ['--before'], ['plain', 'before']],
  ['options that choose parts add up', ['--only=b', '--before', '--peers'], ['b', 'peers', 'plain', 'before']],
  ['--quick chooses no part', ['--quick'], ['a', 'b']],
])('%s', (_, given, letters) => {
  expect(readArguments(given, PARTS)?.letters).toEqual(letters);
});

test.each<[string, string[], string]>([
  ['--before without a commit means an early version', ['--before', '--quick'], beforeDefault],
  ['--before takes a commit as the next argument', ['--before', 'abc123', '--quick'], 'abc123'],
  ['--before takes a commit after an equals sign', ['--quick', '--before=abc123'], 'abc123'],
])('%s', (_, given, before) => {
  expect(readArguments(given, PARTS)).toMatchObject({ before, isQuick: true });
});

test('--after compares two commits, and needs the older one', () => {
  expect(readArguments(['--before', 'abc123', '--after', 'def456'], PARTS)).toMatchObject({
    letters: ['plain', 'before'],
    before: 'abc123',
    after: 'def456',
  });
  expect(readArguments(['--before'], PARTS)).toMatchObject({ after: null });
  expect(() => readArguments(['--after', 'def456'], PARTS)).toThrow('Name the older one with --before.');
});

test('--help asks for the help, which lists every part', () => {
  expect(readArguments(['--help'], PARTS)).toBeNull();
  expect(formatUsage(PARTS)).toMatch(/ {2}peers {3}part peers\n {2}plain {3}part plain\n {2}before {2}part before$/);
});

test('a part that does not exist is an error that names the parts', () => {
  expect(() => readArguments(['--only', 'a,x'], PARTS)).toThrow(
    '--only names parts that do not exist: "x". The parts are a, b, peers, plain, before.',
  );
});

test('an unknown option and a stray word are errors', () => {
  expect(() => readArguments(['--fast'], PARTS)).toThrow('--fast');
  expect(() => readArguments(['fast'], PARTS)).toThrow('fast');
});

test('a comparison prints both commits, the floor and both ratios', () => {
  const lines = formatComparison([
    { what: 'turns/s', unit: '', floor: 200, before: 160, after: 120, change: 0.75, ofFloor: 0.6 },
    { what: 'memory', unit: ' MB', floor: null, before: 80, after: 60, change: 0.75, ofFloor: null },
  ]);
  expect(lines.map((line) => line.trim().split(/ {2,}/))).toEqual([
    ['floor', 'before', 'after', 'after/before', 'after/floor'],
    ['turns/s', '200', '160', '120', '0.75', '0.60'],
    ['memory', '-', '80.0 MB', '60.0 MB', '0.75', '-'],
  ]);
  expect(new Set(lines.map(({ length }) => length)).size).toBe(1);
});
