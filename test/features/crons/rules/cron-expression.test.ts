// Goal: a shift of the clocks neither skips nor doubles a slot (G20). Method: tables over six zones
// with both transitions of a year, and a search by brute force (walk the minutes, read the wall)
// that must agree with the computed slots around every transition.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CronFields, nextCronSlot, findMisreading } from '../../../../src/features/crons/rules/cron-expression.ts';
import { findZone } from '../../../../src/core/time.ts';
import { parseCronFields, cronInput } from '../../../../src/features/crons/config.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The slots in [from, until), as `MM-DD HH:MM` in UTC. */
function slotsBetween(expr: string, zone: string, from: string, until: string): string[] {
  const [fromMs, untilMs] = [Date.parse(from), Date.parse(until)];
  const fields = parseCronFields(expr);
  const slots: string[] = [];
  for (
    let slot = nextCronSlot(fields, findZone(zone), fromMs - 1);
    slot !== null && slot < untilMs;
    slot = nextCronSlot(fields, findZone(zone), slot)
  ) {
    slots.push(new Date(slot).toISOString().slice(5, 16).replace('T', ' '));
  }
  return slots;
}

describe('Europe/Berlin', () => {
  const spring = ['2026-03-28T12:00Z', '2026-03-30T12:00Z'] as const;
  const autumn = ['2026-10-24T12:00Z', '2026-10-26T12:00Z'] as const;

  test.each([
    // 02:30 does not exist: it is due when the gap is over.
    ['30 2 * * *', spring, ['03-29 01:00', '03-30 00:30']],
    // Two times in the gap pass at the same instant.
    ['0,30 2 * * *', spring, ['03-29 01:00', '03-30 00:00', '03-30 00:30']],
    ['30 2,3 * * *', spring, ['03-29 01:00', '03-29 01:30', '03-30 00:30', '03-30 01:30']],
    ['0 3 * * *', spring, ['03-29 01:00', '03-30 01:00']],
    // 02:30 occurs twice: the first one counts.
    ['30 2 * * *', autumn, ['10-25 00:30', '10-26 01:30']],
    ['0,30 2 * * *', autumn, ['10-25 00:00', '10-25 00:30', '10-26 01:00', '10-26 01:30']],
    [
      '*/20 2 * * *',
      autumn,
      ['10-25 00:00', '10-25 00:20', '10-25 00:40', '10-26 01:00', '10-26 01:20', '10-26 01:40'],
    ],
    ['0 1-3 * * *', autumn, ['10-24 23:00', '10-25 00:00', '10-25 02:00', '10-26 00:00', '10-26 01:00', '10-26 02:00']],
  ])('%s', (expr, [from, until], expected) => {
    expect(slotsBetween(expr, 'Europe/Berlin', from, until)).toEqual(expected);
  });

  test('an hourly beat has 23 and 25 slots on the days of the shifts', () => {
    expect(slotsBetween('0 * * * *', 'Europe/Berlin', '2026-03-28T23:00Z', '2026-03-29T22:00Z')).toHaveLength(23);
    expect(slotsBetween('0 * * * *', 'Europe/Berlin', '2026-10-24T22:00Z', '2026-10-25T23:00Z')).toHaveLength(25);
    expect(slotsBetween('20 * * * *', 'Europe/Berlin', '2026-10-24T22:00Z', '2026-10-25T23:00Z')).toHaveLength(25);
  });
});

describe('America/New_York', () => {
  const spring = ['2026-03-08T03:00Z', '2026-03-09T12:00Z'] as const;
  const autumn = ['2026-11-01T03:00Z', '2026-11-02T12:00Z'] as const;

  test.each([
    ['15 2 * * *', spring, ['03-08 07:00', '03-09 06:15']],
    ['30 1 * * *', autumn, ['11-01 05:30', '11-02 06:30']],
    ['0,30 1 * * *', autumn, ['11-01 05:00', '11-01 05:30', '11-02 06:00', '11-02 06:30']],
    ['0 9 * * 1-5', spring, []],
    ['0 4 * * 1', spring, ['03-09 08:00']],
  ])('%s', (expr, [from, until], expected) => {
    expect(slotsBetween(expr, 'America/New_York', from, until)).toEqual(expected);
  });

  test('a schedule of quarters never pauses', () => {
    for (const [from, until] of [spring, autumn]) {
      expect(slotsBetween('*/15 * * * *', 'America/New_York', from, until)).toHaveLength(
        (Date.parse(until) - Date.parse(from)) / (15 * MINUTE),
      );
    }
  });
});

describe('America/Sao_Paulo, where the clocks were set at midnight', () => {
  test.each([
    // 4 November 2018 began at 01:00.
    ['0 0 * * *', '2018-11-03T12:00Z', '2018-11-05T12:00Z', ['11-04 03:00', '11-05 02:00']],
    ['15 0 4 11 *', '2018-11-03T12:00Z', '2018-11-05T12:00Z', ['11-04 03:00']],
    // 16 February 2019 had 25 hours: 23:00 occurred twice.
    ['30 23 * * *', '2019-02-16T12:00Z', '2019-02-18T12:00Z', ['02-17 01:30', '02-18 02:30']],
    ['0 0 * * *', '2019-02-16T12:00Z', '2019-02-18T12:00Z', ['02-17 03:00', '02-18 03:00']],
    // Since then they stay.
    ['0 0 * * *', '2026-10-17T12:00Z', '2026-10-19T12:00Z', ['10-18 03:00', '10-19 03:00']],
  ])('%s from %s', (expr, from, until, expected) => {
    expect(slotsBetween(expr, 'America/Sao_Paulo', from, until)).toEqual(expected);
  });
});

describe('Australia/Lord_Howe, where a shift is half an hour', () => {
  const spring = ['2026-10-03T13:00Z', '2026-10-04T17:00Z'] as const;
  const autumn = ['2026-04-04T13:00Z', '2026-04-05T17:00Z'] as const;

  test.each([
    // 02:00 to 02:30 does not exist.
    ['15 2 * * *', spring, ['10-03 15:30', '10-04 15:15']],
    ['45 2 * * *', spring, ['10-03 15:45', '10-04 15:45']],
    // 01:30 to 02:00 occurs twice.
    ['45 1 * * *', autumn, ['04-04 14:45', '04-05 15:15']],
    ['15 1 * * *', autumn, ['04-04 14:15', '04-05 14:45']],
  ])('%s', (expr, [from, until], expected) => {
    expect(slotsBetween(expr, 'Australia/Lord_Howe', from, until)).toEqual(expected);
  });

  test('every hour of the wall has one slot', () => {
    const hours = slotsBetween('0 * * * *', 'Australia/Lord_Howe', '2026-10-03T13:30Z', '2026-10-04T13:00Z');
    expect(hours.slice(0, 4)).toEqual(['10-03 13:30', '10-03 14:30', '10-03 15:30', '10-03 16:00']);
    expect(hours).toHaveLength(24);
    expect(slotsBetween('30 * * * *', 'Australia/Lord_Howe', '2026-04-04T13:00Z', '2026-04-05T13:30Z')).toHaveLength(
      24,
    );
  });

  test('a beat of half an hour follows elapsed time', () => {
    expect(slotsBetween('*/30 * * * *', 'Australia/Lord_Howe', '2026-04-04T14:00Z', '2026-04-04T16:30Z')).toEqual([
      '04-04 14:00',
      '04-04 14:30',
      '04-04 15:00',
      '04-04 15:30',
      '04-04 16:00',
    ]);
  });
});

describe('Africa/Casablanca, where Ramadan has its own offset', () => {
  test.each([
    // Back on 15 February 2026 at 03:00, forward on 22 March at 02:00.
    ['30 2 * * *', '2026-02-14T12:00Z', '2026-02-16T12:00Z', ['02-15 01:30', '02-16 02:30']],
    ['30 2 * * *', '2026-03-21T12:00Z', '2026-03-23T12:00Z', ['03-22 02:00', '03-23 01:30']],
    ['0 12 * * *', '2026-02-14T00:00Z', '2026-02-16T23:00Z', ['02-14 11:00', '02-15 12:00', '02-16 12:00']],
  ])('%s from %s', (expr, from, until, expected) => {
    expect(slotsBetween(expr, 'Africa/Casablanca', from, until)).toEqual(expected);
  });
});

describe('Asia/Kolkata, where the clocks are never set', () => {
  test.each([
    ['30 2 * * *', '2026-03-28T12:00Z', '2026-03-30T12:00Z', ['03-28 21:00', '03-29 21:00']],
    ['30 2 * * *', '2026-10-24T12:00Z', '2026-10-26T12:00Z', ['10-24 21:00', '10-25 21:00']],
  ])('%s from %s', (expr, from, until, expected) => {
    expect(slotsBetween(expr, 'Asia/Kolkata', from, until)).toEqual(expected);
  });
});

describe('the calendar', () => {
  test.each([
    // When both days are limited, either is enough.
    [
      '0 12 13 * 5',
      '2026-02-01T00:00Z',
      '2026-03-01T00:00Z',
      ['02-06 12:00', '02-13 12:00', '02-20 12:00', '02-27 12:00'],
    ],
    ['0 0 L * *', '2028-01-15T00:00Z', '2028-03-15T00:00Z', ['01-31 00:00', '02-29 00:00']],
    ['0 0 L-1 2 *', '2026-01-15T00:00Z', '2026-03-15T00:00Z', ['02-27 00:00']],
    // 15 August 2026 is a Saturday, 1 August, too: the nearest weekday stays in the month.
    ['0 0 15W 8 *', '2026-01-01T00:00Z', '2026-12-01T00:00Z', ['08-14 00:00']],
    ['0 0 1W 8 *', '2026-01-01T00:00Z', '2026-12-01T00:00Z', ['08-03 00:00']],
    ['0 0 LW 5 *', '2026-01-01T00:00Z', '2026-12-01T00:00Z', ['05-29 00:00']],
    ['0 0 * 1,2 5#2', '2026-01-01T00:00Z', '2026-12-01T00:00Z', ['01-09 00:00', '02-13 00:00']],
    ['0 0 * 1,2 5L', '2026-01-01T00:00Z', '2026-12-01T00:00Z', ['01-30 00:00', '02-27 00:00']],
    ['0 0 * 1 sun', '2026-01-01T00:00Z', '2026-01-12T00:00Z', ['01-04 00:00', '01-11 00:00']],
    [
      '0 22-1 1 1 *',
      '2026-01-01T00:00Z',
      '2026-01-03T00:00Z',
      ['01-01 00:00', '01-01 01:00', '01-01 22:00', '01-01 23:00'],
    ],
  ])('%s', (expr, from, until, expected) => {
    expect(slotsBetween(expr, 'UTC', from, until)).toEqual(expected);
  });

  test('a leap day is found over a century without one', () => {
    const slot = nextCronSlot(parseCronFields('0 0 29 2 *'), findZone('UTC'), Date.parse('2096-03-01T00:00Z'));
    expect(new Date(slot ?? 0).toISOString()).toBe('2104-02-29T00:00:00.000Z');
  });

  test('six fields begin with seconds', () => {
    const slot = nextCronSlot(
      parseCronFields('*/20 * * * * *'),
      findZone('UTC'),
      Date.parse('2026-01-01T00:00:20.500Z'),
    );
    expect(new Date(slot ?? 0).toISOString()).toBe('2026-01-01T00:00:40.000Z');
  });
});

describe('against brute force', () => {
  const windows = [
    ['Europe/Berlin', '2026-03-29T01:00Z'],
    ['Europe/Berlin', '2026-10-25T01:00Z'],
    ['America/New_York', '2026-03-08T07:00Z'],
    ['America/New_York', '2026-11-01T06:00Z'],
    ['America/Sao_Paulo', '2018-11-04T03:00Z'],
    ['America/Sao_Paulo', '2019-02-17T02:00Z'],
    ['Australia/Lord_Howe', '2026-04-04T15:00Z'],
    ['Australia/Lord_Howe', '2026-10-03T15:30Z'],
    ['Africa/Casablanca', '2026-02-15T02:00Z'],
    ['Africa/Casablanca', '2026-03-22T02:00Z'],
    ['Asia/Kolkata', '2026-03-29T01:00Z'],
    ['Pacific/Apia', '2011-12-30T10:00Z'],
  ] as const;

  const some = (max: number, most: number) =>
    fc
      .uniqueArray(fc.integer({ min: 0, max }), { minLength: 1, maxLength: most })
      .map((all) => all.toSorted((a, b) => a - b));
  const every = (count: number) => fc.constant(Array.from({ length: count }, (_, at) => at));
  const fieldsArb: fc.Arbitrary<CronFields> = fc.record({
    seconds: fc.constant([0]),
    minutes: fc.oneof(some(59, 4), fc.constant([0, 15, 30, 45]), every(60)),
    hours: fc.oneof(some(23, 4), fc.constant([0, 1, 2, 3]), every(24)),
    monthDays: fc.constant(null),
    daysMatch: fc.constant('both'),
    months: fc.constant([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]),
    weekDays: fc.oneof(
      fc.constant(null),
      fc.integer({ min: 0, max: 6 }).map((day) => [{ kind: 'day' as const, day }]),
    ),
  });

  test('every slot around a transition is found, and no other', () => {
    fc.assert(
      fc.property(fc.constantFrom(...windows), fieldsArb, ([zone, middle], fields) => {
        const fromMs = Date.parse(middle) - 2 * DAY;
        const untilMs = Date.parse(middle) + 2 * DAY;
        const computed: number[] = [];
        for (
          let at = nextCronSlot(fields, findZone(zone), fromMs - 1);
          at !== null && at < untilMs;
          at = nextCronSlot(fields, findZone(zone), at)
        ) {
          computed.push(at);
        }
        expect(computed).toEqual(bruteForce(fields, walkOf(zone, fromMs, untilMs)));
      }),
      { numRuns: 300 },
    );
  });

  test('the next slot is the same from any earlier instant', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...windows),
        fieldsArb,
        fc.integer({ min: -2 * DAY, max: 2 * DAY }),
        ([zone, middle], fields, offset) => {
          const from = Date.parse(middle) + offset;
          const slot = nextCronSlot(fields, findZone(zone), from);
          fc.pre(slot !== null);
          expect(slot).toBeGreaterThan(from);
          expect(nextCronSlot(fields, findZone(zone), Math.floor((from + slot) / 2))).toBe(slot);
          expect(nextCronSlot(fields, findZone(zone), slot - 1)).toBe(slot);
        },
      ),
      { numRuns: 500 },
    );
  });
});

interface Step {
  instantMs: number;
  /** The wall time, as milliseconds. */
  wallMs: number;
}

const walks = new Map<string, Step[]>();

/**
 * Every minute with its wall time, from a separate formatter; beginning a day earlier than
 * requested, to know the time before.
 */
function walkOf(zone: string, fromMs: number, untilMs: number): { steps: Step[]; fromMs: number } {
  let steps = walks.get(`${zone} ${fromMs}`);
  if (steps === undefined) {
    const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' });
    steps = [];
    for (let at = fromMs - 2 * DAY; at < untilMs; at += MINUTE) {
      steps.push({ instantMs: at, wallMs: Date.parse(`${format.format(at).replace(' ', 'T')}Z`) });
    }
    walks.set(`${zone} ${fromMs}`, steps);
  }
  return { steps, fromMs };
}

function bruteForce(fields: CronFields, { steps, fromMs }: { steps: Step[]; fromMs: number }): number[] {
  const slots = new Set<number>();
  const pauses = fields.minutes.map((minute, at) => (fields.minutes[at + 1] ?? fields.minutes[0]! + 60) - minute);
  const isSteady = (shiftMs: number): boolean => fields.hours.length === 24 && Math.max(...pauses) * MINUTE <= shiftMs;
  let highest = Number.NEGATIVE_INFINITY;
  steps.forEach(({ instantMs, wallMs }, at) => {
    const before = steps[at - 1]?.wallMs ?? wallMs - MINUTE;
    const gapMs = wallMs - before - MINUTE;
    if (gapMs > 0 && !isSteady(gapMs)) {
      for (let missing = before + MINUTE; missing < wallMs; missing += MINUTE)
        if (isMeant(fields, missing)) slots.add(instantMs);
    }
    if (gapMs < 0) highest = Math.max(highest, isSteady(-gapMs) ? Number.NEGATIVE_INFINITY : before);
    if (isMeant(fields, wallMs) && wallMs > highest) slots.add(instantMs);
  });
  return [...slots].filter((slot) => slot >= fromMs).toSorted((a, b) => a - b);
}

function isMeant({ minutes, hours, weekDays }: CronFields, wallMs: number): boolean {
  const wall = new Date(wallMs);
  const isDay = weekDays === null || weekDays.some(({ day }) => day === wall.getUTCDay());
  return isDay && hours.includes(wall.getUTCHours()) && minutes.includes(wall.getUTCMinutes());
}

describe('a range of a cron expression', () => {
  test.each([
    ['5-1 * * * *', '5-1'],
    ['* 22-2 * * *', '22-2'],
    ['0 0 1,28-3 * *', '28-3'],
    ['5-1/2 * * * *', '5-1/2'],
    ['* * * * FRI-MON', 'FRI-MON'],
    ['* * * nov-feb *', 'nov-feb'],
  ])('that begins after its end is refused: %s', (expr, range) => {
    const schedule = { kind: 'cron', expr };
    const { error } = cronInput.safeParse({ schedule, payload: { kind: 'systemEvent', text: 'x' } });
    expect(error?.issues).toMatchObject([
      { path: ['schedule', 'expr'], message: expect.stringContaining(`"${range}"`) },
    ]);
  });

  test.each([
    '1-5 * * * *',
    '0-59/5 * * * *',
    '* * * * 5-7',
    '* * * * SAT-SUN',
    '* * * * MON-FRI',
    '0 0 L-3 * *',
    '@daily',
  ])('may be in order, and other parts may contain a hyphen: %s', (expr) => expect(findMisreading(expr)).toBeNull());
});

describe('a step of a cron expression', () => {
  test.each([
    ['*/90 * * * *', '*/90', '60 minutes'],
    ['*/90 * * * * *', '*/90', '60 seconds'],
    ['0 5,*/36 * * *', '*/36', '24 hours'],
    ['0\t0 1-31/40 * *', '1-31/40', '31 days of a month'],
    ['0 0 1 */18 *', '*/18', '12 months'],
    ['0 0 * * */8', '*/8', '7 days of a week'],
  ])('that is longer than its field is refused: %s', (expr, part, size) => {
    const { error } = cronInput.safeParse({
      schedule: { kind: 'cron', expr },
      payload: { kind: 'systemEvent', text: 'x' },
    });
    expect(error?.issues).toMatchObject([
      {
        path: ['schedule', 'expr'],
        message: expect.stringMatching(/^the step of .*; for a steady interval use .*every/),
      },
    ]);
    expect(error?.issues[0]?.message).toContain(`"${part}" is longer than the ${size}`);
  });

  test.each(['*/60 * * * *', '0 */24 * * *', '0 0 */31 */12 */7', '*/59 * * * *', '@daily'])(
    'may be as long as its field: %s',
    (expr) => expect(findMisreading(expr)).toBeNull(),
  );
});
