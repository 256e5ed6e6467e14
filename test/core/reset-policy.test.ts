// When a session begins anew by itself: never, by the clock on the user's wall, or after a silence (G15).
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { resetDue, type ResetPolicy } from '../../src/core/reset-policy.ts';

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

describe('daily', () => {
  test.each([
    ['before the hour of the same day', '2026-05-01T22:00+02:00', '2026-05-02T03:59+02:00', null],
    ['after the hour', '2026-05-01T22:00+02:00', '2026-05-02T04:00+02:00', 'daily'],
    ['both before the hour', '2026-05-02T00:30+02:00', '2026-05-02T03:30+02:00', null],
    ['both after the hour', '2026-05-02T04:00+02:00', '2026-05-02T23:59+02:00', null],
    ['days later', '2026-05-02T12:00+02:00', '2026-05-09T03:00+02:00', 'daily'],
    ['over the turn of the year', '2026-12-31T23:00+01:00', '2027-01-01T05:00+01:00', 'daily'],
    ['nobody talked before', null, '2026-05-02T04:00+02:00', null],
    ['a clock that went back', '2026-05-02T05:00+02:00', '2026-05-02T03:00+02:00', null],
  ])('%s', (_title, last, now, expected) => {
    expect(due('daily', last, now)).toBe(expected);
  });

  test.each([
    // 02:00 to 03:00 does not exist: the day begins at 03:00.
    ['an hour that is left out', '2026-03-29T01:59+01:00', '2026-03-29T03:00+02:00', 'daily'],
    ['the same day after it', '2026-03-29T03:00+02:00', '2026-03-29T12:00+02:00', null],
    // 02:00 to 03:00 comes twice: the day begins at the first.
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
  ])('in %s talk every hour begins anew once a day', (zone) => {
    const hour = 3_600_000;
    const start = Date.parse('2026-01-01T12:00Z');
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 23 }), (atHour) => {
        let resets = 0;
        for (let at = start; at < start + 365 * 24 * hour; at += hour) {
          const policy = { mode: 'daily', atHour, idleMinutes: 60 } as const;
          if (resetDue({ policy, timeZone: zone, lastTalkMs: at, nowMs: at + hour }) !== null) resets += 1;
        }
        expect(resets).toBe(365);
      }),
      { numRuns: 1 },
    );
  });
});

describe('idle', () => {
  test.each([
    ['less than the time', '2026-05-01T22:00Z', '2026-05-01T22:59:59.999Z', null],
    ['the time', '2026-05-01T22:00Z', '2026-05-01T23:00Z', 'idle'],
    ['nobody talked before', null, '2026-05-01T23:00Z', null],
  ])('%s', (_title, last, now, expected) => {
    expect(due('idle', last, now)).toBe(expected);
  });
});

test('without a policy a session never begins anew', () => {
  expect(due('none', '2000-01-01T00:00Z', '2026-05-01T23:00Z')).toBe(null);
});
