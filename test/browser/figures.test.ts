// What the screens compute from what the API answers.
import { describe, expect, test } from 'vitest';
import { clockChanges, costPerMonth, runsPerMonth, scheduleText } from '../../web/src/format/schedule.ts';

describe('slots', () => {
  test.each([
    {
      zone: 'Europe/Berlin',
      slots: ['2027-03-27T01:30:00Z', '2027-03-28T01:30:00Z', '2027-03-29T00:30:00Z'],
      says: [0, 60, 0],
    },
    { zone: 'Europe/Berlin', slots: ['2026-10-24T10:00:00Z', '2026-10-25T11:00:00Z'], says: [0, -60] },
    { zone: 'Australia/Lord_Howe', slots: ['2026-10-03T00:00:00Z', '2026-10-04T00:00:00Z'], says: [0, 30] },
    { zone: 'Asia/Kolkata', slots: ['2026-10-03T00:00:00Z', '2027-10-04T00:00:00Z'], says: [0, 0] },
    { zone: 'America/St_Johns', slots: ['2026-10-31T12:00:00Z', '2026-11-01T12:00:00Z'], says: [0, -60] },
    { zone: 'UTC', slots: [], says: [] },
  ])('of $zone show by how much the clocks change before each', ({ zone, slots, says }) => {
    expect(clockChanges(slots, zone)).toEqual(says);
  });

  test('say how often a schedule runs in 30 days, and what that costs when runs cost what they did', () => {
    const hourly = ['2026-11-01T00:00:00Z', '2026-11-01T01:00:00Z', '2026-11-01T02:00:00Z'];
    expect(runsPerMonth(hourly)).toBe(720);
    expect(costPerMonth(720, [100, null, 300])).toBe(144_000);
  });

  test('say nothing when there is one slot, or no cost is known', () => {
    expect(runsPerMonth(['2026-11-01T00:00:00Z'])).toBeNull();
    expect(costPerMonth(null, [100])).toBeNull();
    expect(costPerMonth(720, [null])).toBeNull();
  });
});

test.each([
  [{ kind: 'at', at: '2026-11-01T00:00:00Z' }, 'once'],
  [{ kind: 'every', everyMs: 300_000, anchor: '2026-11-01T00:00:00Z' }, 'every 5 min'],
  [{ kind: 'cron', expr: '0 9 * * *', tz: 'Europe/Berlin' }, '0 9 * * * (Europe/Berlin)'],
] as const)('%o reads as %s', (schedule, text) => {
  expect(scheduleText(schedule)).toBe(text);
});
