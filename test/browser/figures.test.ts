// The values that the screens compute from the API's answers.
import { expect, test } from 'vitest';
import { scheduleText } from '../../web/src/format/schedule.ts';

test.each([
  [{ kind: 'at', at: '2026-11-01T00:00:00Z' }, 'once'],
  [{ kind: 'every', everyMs: 300_000, anchor: '2026-11-01T00:00:00Z' }, 'every 5 min'],
  [{ kind: 'cron', expr: '0 9 * * *', tz: 'Europe/Berlin' }, '0 9 * * * (Europe/Berlin)'],
] as const)('%o reads as %s', (schedule, text) => {
  expect(scheduleText(schedule)).toBe(text);
});
