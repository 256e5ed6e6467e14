// The values that the screens compute from the API's answers.
import { expect, test } from 'vitest';
import { columnDollarsText, dollarsText, namedCountText } from '../../web/src/format/amounts.ts';
import { scheduleText } from '../../web/src/format/schedule.ts';

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
