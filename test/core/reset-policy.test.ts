// When a session is reset automatically: never, at an hour of the user's clock, or after an idle
// time (G15).
import { describe, expect, test } from 'vitest';
import { resetDue, type ResetPolicy } from '../../src/kernel/rules/reset-policy.ts';
import { HOUR_MS } from '../../src/core/time.ts';

function due(
  mode: ResetPolicy['mode'],
  last: string | null,
  now: string,
  more: Partial<ResetPolicy> & { zone?: string } = {},
) {
  const { zone = 'Europe/Berlin', ...rest } = more;
  return resetDue({
    policy: { mode, atHour: 4, idleMinutes: 60, ...rest },
    timeZone: zone,
    lastTalkMs: last === null ? null : Date.parse(last),
    nowMs: Date.parse(now),
  });
}

function everyHour(from: string, to: string): number[] {
  const [start, end] = [Date.parse(from), Date.parse(to)];
  return Array.from({ length: (end - start) / HOUR_MS + 1 }, (_, index) => start + index * HOUR_MS);
}

describe('daily', () => {
  test.each([
    ['before the hour of the same day', '2026-05-01T22:00+02:00', '2026-05-02T03:59+02:00', null],
    ['after the hour', '2026-05-01T22:00+02:00', '2026-05-02T04:00+02:00', 'daily'],
    ['both before the hour', '2026-05-02T00:30+02:00', '2026-05-02T03:30+02:00', null],
    ['both after the hour', '2026-05-02T04:00+02:00', '2026-05-02T23:59+02:00', null],
    ['days later', '2026-05-02T12:00+02:00', '2026-05-09T03:00+02:00', 'daily'],
    ['over the turn of the year', '2026-12-31T23:00+01:00', '2027-01-01T05:00+01:00', 'daily'],
    ['no earlier message', null, '2026-05-02T04:00+02:00', null],
    ['a clock that went back', '2026-05-02T05:00+02:00', '2026-05-02T03:00+02:00', null],
  ])('%s', (_title, last, now, expected) => {
    expect(due('daily', last, now)).toBe(expected);
  });

  test.each([
    // 02:00 to 03:00 does not exist: the day begins at 03:00.
    ['an hour that is left out', '2026-03-29T01:59+01:00', '2026-03-29T03:00+02:00', 'daily'],
    ['the same day after it', '2026-03-29T03:00+02:00', '2026-03-29T12:00+02:00', null],
    // 02:00 to 03:00 occurs twice: the day begins at the first.
    ['an hour that comes twice, first', '2026-10-25T01:59+02:00', '2026-10-25T02:00+02:00', 'daily'],
    ['an hour that comes twice, again', '2026-10-25T02:30+02:00', '2026-10-25T02:00+01:00', null],
  ])('the clocks change: %s', (_title, last, now, expected) => {
    expect(due('daily', last, now, { atHour: 2 })).toBe(expected);
  });

  test('is by the zone of the user', () => {
    const between = ['2026-05-01T18:00Z', '2026-05-01T20:00Z'] as const;
    expect(due('daily', ...between, { zone: 'Asia/Shanghai' })).toBe('daily');
    expect(due('daily', ...between, { zone: 'Asia/Shanghai', atHour: 5 })).toBe(null);
    expect(due('daily', ...between, { zone: 'UTC' })).toBe(null);
  });

  test.each([
    'Europe/Berlin',
    'America/New_York',
    'America/Sao_Paulo',
    'Australia/Lord_Howe',
    'Africa/Casablanca',
    'Asia/Kolkata',
    'Africa/Cairo',
  ])('in %s a session with a message every hour is reset once on every day of the calendar, at any hour', (zone) => {
    const day = new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' });
    const talk = everyHour('2026-01-01T00:00Z', '2026-12-31T00:00Z').map((at) => ({ at, date: day.format(at) }));
    // The first and the last date are not complete, and a zone that changes its clocks in between
    // has them at other hours.
    const dates = [...new Set(talk.map(({ date }) => date))].slice(1, -1);
    for (let atHour = 0; atHour < 24; atHour += 1) {
      const policy = { mode: 'daily', atHour, idleMinutes: 60 } as const;
      const resets = talk.filter(
        ({ at }) => resetDue({ policy, timeZone: zone, lastTalkMs: at - HOUR_MS, nowMs: at }) !== null,
      );
      const found = resets.map(({ date }) => date).filter((date) => date >= dates[0]! && date <= dates.at(-1)!);
      expect(found, `at hour ${atHour}`).toEqual(dates);
    }
  });
});

describe('idle', () => {
  test.each([
    ['less than the time', '2026-05-01T22:00Z', '2026-05-01T22:59:59.999Z', null],
    ['the time', '2026-05-01T22:00Z', '2026-05-01T23:00Z', 'idle'],
    ['no earlier message', null, '2026-05-01T23:00Z', null],
  ])('%s', (_title, last, now, expected) => {
    expect(due('idle', last, now)).toBe(expected);
  });
});

test('without a policy a session never starts a new transcript', () => {
  expect(due('none', '2000-01-01T00:00Z', '2026-05-01T23:00Z')).toBe(null);
});
