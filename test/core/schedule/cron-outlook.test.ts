import { expect, test } from 'vitest';
import {
  clockChangeBetween,
  costOfRuns,
  slotsInMonth,
  slotsAfter,
} from '../../../src/features/crons/rules/timetable.ts';
import { buildTimetable } from '../../../src/features/crons/config.ts';

const at = (iso: string): number => Date.parse(iso);
const cron = (expr: string, tz = 'UTC') => buildTimetable({ kind: 'cron', expr, tz });

test.each([
  ['Europe/Berlin', '2026-03-28T08:00:00Z', '2026-03-29T07:00:00Z', '2026-03-29T01:00:00Z', 60, 120],
  ['Europe/Berlin', '2026-10-24T07:00:00Z', '2026-10-25T08:00:00Z', '2026-10-25T01:00:00Z', 120, 60],
  ['Australia/Lord_Howe', '2026-04-04T00:00:00Z', '2026-04-05T00:00:00Z', '2026-04-04T15:00:00Z', 660, 630],
])('clocks that are set in %s after %s are reported with both offsets', (tz, from, until, changedAt, before, after) => {
  const timetable = cron('0 9 * * *', tz);
  expect(clockChangeBetween(timetable, at(from), at(until))).toEqual({
    atMs: at(changedAt),
    beforeMinutes: before,
    afterMinutes: after,
  });
  expect(clockChangeBetween(timetable, at(from), at(from))).toBeNull();
});

test('schedules without a zone and zones without changes report none', () => {
  const [from, until] = [at('2026-01-01T00:00:00Z'), at('2026-12-31T00:00:00Z')];
  expect(clockChangeBetween(cron('0 9 * * *', 'Asia/Kolkata'), from, until)).toBeNull();
  const every = buildTimetable({ kind: 'every', everyMs: 60_000, anchor: '2026-01-01T00:00:00Z' });
  expect(clockChangeBetween(every, from, until)).toBeNull();
});

test.each(['0 9 * * 1-5', '*/7 3,4 * * *', '0 0 31 * *', '15 10 L * *', '30 6 13 * 5'])(
  'the slots of a month of %s are those that come in it',
  (expr) => {
    for (const month of ['2026-02', '2026-10', '2028-02']) {
      const startMs = at(`${month}-01T00:00:00Z`);
      const inMonth = slotsAfter(cron(expr), startMs - 1000, 600).filter((slot) =>
        new Date(slot).toISOString().startsWith(month),
      );
      expect(slotsInMonth(cron(expr), startMs + 12 * 3_600_000)).toBe(inMonth.length);
    }
  },
);

test('the month is that of the zone, and steps are counted from their anchor', () => {
  const newYear = at('2026-01-31T23:30:00Z');
  expect(slotsInMonth(cron('0 9 * * *', 'Europe/Berlin'), newYear)).toBe(28);
  expect(slotsInMonth(cron('0 9 * * *'), newYear)).toBe(31);
  expect(slotsInMonth(cron('0 12 1 2 *'), newYear)).toBe(0);
  const daily = buildTimetable({ kind: 'every', everyMs: 86_400_000, anchor: '2026-01-10T00:00:00Z' });
  expect(slotsInMonth(daily, newYear)).toBe(22);
  expect(slotsInMonth(daily, at('2025-12-05T00:00:00Z'))).toBe(0);
  expect(slotsInMonth(buildTimetable({ kind: 'at', at: '2026-01-05T00:00:00Z' }), newYear)).toBe(1);
  expect(slotsInMonth(buildTimetable({ kind: 'at', at: '2026-02-01T00:00:00Z' }), newYear)).toBe(0);
});

test('a forecast is the mean of known costs, and unknown without any', () => {
  expect(costOfRuns(30, [4000, 2000])).toBe(90_000);
  expect(costOfRuns(30, [])).toBeNull();
});
