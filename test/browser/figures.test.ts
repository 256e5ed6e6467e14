// The values that the screens compute from the API's answers.
import { expect, test } from 'vitest';
import { columnDollarsText, dollarsText, namedCountText } from '../../web/src/format/amounts.ts';
import { scheduleText } from '../../web/src/format/schedule.ts';
import { amountText, differenceText, probabilityText, relativeText } from '../../web/src/screens/evaluation-words.ts';

test.each([
  [{ kind: 'at', at: '2026-11-01T00:00:00Z' }, 'once'],
  [{ kind: 'every', everyMs: 300_000, anchor: '2026-11-01T00:00:00Z' }, 'every 5 min'],
  [{ kind: 'cron', expr: '0 9 * * *', tz: 'Europe/Berlin' }, '0 9 * * * (Europe/Berlin)'],
] as const)('%o reads as %s', (schedule, text) => {
  expect(scheduleText(schedule)).toBe(text);
});

test.each([
  [null, 'no price'],
  [0, '$0'],
  [1, '<$0.0001'],
  [99, '<$0.0001'],
  [100, '$0.0001'],
  [4_200, '$0.0042'],
  [12_500_000, '$12.50'],
])('a cost of %s millionths of a dollar reads as %s', (micros, text) => {
  expect(dollarsText(micros)).toBe(text);
});

test.each([
  [null, 'no price'],
  [0, '$0.0000'],
  [99, '<$0.0001'],
  [4_200, '$0.0042'],
  [12_500_000, '$12.5000'],
  [1_234_567_800, '$1,234.5678'],
])('a cost of %s millionths of a dollar reads as %s in a column, as precise as all others', (micros, text) => {
  expect(columnDollarsText(micros)).toBe(text);
});

test('one thing is counted in the singular, several in the plural', () => {
  expect(namedCountText(1, 'turn')).toBe('1 turn');
  expect(namedCountText(1_284, 'turn')).toBe('1,284 turns');
  expect(namedCountText(2, 'delivery')).toBe('2 deliveries');
});

test('amounts of graders, differences and probabilities read as people report them', () => {
  expect(amountText(0.8333, 'share')).toBe('83.3 %');
  expect(amountText(0.5, 'score')).toBe('0.50');
  expect(amountText(0.0034, 'usd')).toBe('$0.0034');
  expect(amountText(3.1, 'seconds')).toBe('3.1 s');
  expect(amountText(null, 'share')).toBe('—');
  expect(differenceText(9.17, 'share')).toBe('+9.2 points');
  expect(differenceText(-0.0116, 'usd')).toBe('−$0.0116');
  expect(differenceText(0, 'seconds')).toBe('0 ms');
  expect(relativeText(3, 4)).toBe('25 % less');
  expect(relativeText(5, 4)).toBe('25 % more');
  expect(relativeText(4, 4)).toBe('the same');
  expect(relativeText(4, 0)).toBeNull();
  expect(probabilityText(0.0127)).toBe('0.013');
  expect(probabilityText(0.0004)).toBe('<0.001');
});
