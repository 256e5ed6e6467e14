// Goal: an expression means what it means to Vixie cron. Method: the rules of its manual page
// crontab(5), written down once more and applied to a wall time, must agree with the fields of the
// expression, for random expressions and times.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { nextWallTime } from '../../../../src/features/crons/rules/cron-expression.ts';
import { parseCronFields } from '../../../../src/features/crons/config.ts';

const MONTHS = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ');
const WEEKDAYS = 'sun mon tue wed thu fri sat'.split(' ');

interface Field {
  min: number;
  max: number;
  /** The names of its values, from the first on. */
  names: readonly string[];
}

const MINUTE: Field = { min: 0, max: 59, names: [] };
const HOUR: Field = { min: 0, max: 23, names: [] };
const DAY: Field = { min: 1, max: 31, names: [] };
const MONTH: Field = { min: 1, max: 12, names: MONTHS };
/** Both 0 and 7 are Sunday. */
const WEEKDAY: Field = { min: 0, max: 7, names: WEEKDAYS };

function fieldOf({ min, max, names }: Field): fc.Arbitrary<string> {
  const value = fc.integer({ min, max });
  const range = fc.tuple(value, value).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`);
  const step = fc.integer({ min: 1, max: max - min + 1 });
  const part = fc.oneof(
    { weight: 3, arbitrary: fc.constant('*') },
    value.map((one) => String(one).padStart(one % 2 === 0 ? 2 : 1, '0')),
    range,
    fc.tuple(fc.oneof(fc.constant('*'), range, fc.constant(`${min}-${max}`)), step).map((both) => both.join('/')),
    ...(names.length === 0 ? [] : [fc.constantFrom(...names, ...names.map((name) => name.toUpperCase()))]),
  );
  return fc.oneof(
    part,
    fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(',')),
  );
}

/**
 * The values of a field: lists of ranges with steps, where a star stands for the range from the
 * first to the last.
 */
function valuesOf(text: string, { min, max, names }: Field): Set<number> {
  const numberOf = (word: string): number =>
    names.includes(word.toLowerCase()) ? names.indexOf(word.toLowerCase()) + min : Number(word);
  const values = new Set<number>();
  for (const part of text.split(',')) {
    const [range = '', step = '1'] = part.split('/');
    const [first = min, last = range === '*' ? max : first] = range === '*' ? [] : range.split('-').map(numberOf);
    for (let value = first; value <= last; value += Number(step)) values.add(max === 7 ? value % 7 : value);
  }
  return values;
}

/** Whether it is refused because it names days that its months do not have. */
function isRefused(expr: string): boolean {
  const [, , day = '', month = ''] = expr.trim().split(/[ \t]+/);
  try {
    parseCronFields(expr);
    return false;
  } catch (error) {
    expect((error as Error).message).toContain('an impossible day of month');
    const months = [...valuesOf(month, MONTH)];
    const lengths = months.map((one) => new Date(Date.UTC(2024, one, 0)).getUTCDate());
    expect(Math.max(...valuesOf(day, DAY)), expr).toBeGreaterThan(Math.min(...lengths));
    return true;
  }
}

/**
 * "If both fields are restricted (i.e., do not start with *), the command will be run when either
 * field matches the current time."
 */
function isMeant(expr: string, wall: Date): boolean {
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = expr.trim().split(/[ \t]+/);
  const isDay = valuesOf(day, DAY).has(wall.getUTCDate());
  const isWeekday = valuesOf(weekday, WEEKDAY).has(wall.getUTCDay());
  const hasStar = day.startsWith('*') || weekday.startsWith('*');
  return (
    valuesOf(minute, MINUTE).has(wall.getUTCMinutes()) &&
    valuesOf(hour, HOUR).has(wall.getUTCHours()) &&
    valuesOf(month, MONTH).has(wall.getUTCMonth() + 1) &&
    (hasStar ? isDay && isWeekday : isDay || isWeekday)
  );
}

test('every expression means the times that the manual page says', () => {
  const gap = fc.constantFrom(' ', '\t', '  ', ' \t ');
  const expression = fc
    .tuple(...[MINUTE, HOUR, DAY, MONTH, WEEKDAY].map(fieldOf), fc.array(gap, { minLength: 6, maxLength: 6 }))
    .map((all) => {
      const gaps = all.at(-1) as string[];
      return (all.slice(0, -1) as string[]).map((field, at) => `${gaps[at]}${field}`).join('') + gaps[5];
    })
    .filter((expr) => !isRefused(expr));
  const minute = fc.integer({ min: Date.UTC(2024, 0) / 60_000, max: Date.UTC(2032, 0) / 60_000 });
  fc.assert(
    fc.property(expression, fc.array(minute, { minLength: 20, maxLength: 20 }), (expr, minutes) => {
      const fields = parseCronFields(expr);
      for (const at of minutes) {
        const wallMs = at * 60_000;
        // Near a time that is meant, too: most random times are not.
        for (const checked of [wallMs, nextWallTime(fields, wallMs) ?? wallMs]) {
          expect(nextWallTime(fields, checked) === checked, new Date(checked).toISOString()).toBe(
            isMeant(expr, new Date(checked)),
          );
        }
      }
    }),
    { numRuns: 500 },
  );
});

test.each([
  // Mondays with an odd day, days that are stars with a step on both sides, every day, and either.
  ['0 9 */2 * 1', ['2026-06-01', '2026-06-15', '2026-06-29', '2026-07-13']],
  ['0 9 1 * */2', ['2026-08-01', '2026-09-01', '2026-10-01', '2026-11-01']],
  ['0 9 1-31 * 1', ['2026-06-01', '2026-06-02', '2026-06-03', '2026-06-04']],
  ['0 9 1,15 * 1', ['2026-06-01', '2026-06-08', '2026-06-15', '2026-06-22']],
  ['0 9 ? * 1', ['2026-06-01', '2026-06-08', '2026-06-15', '2026-06-22']],
  ['0 0\t9  1 * *', ['2026-06-01', '2026-07-01', '2026-08-01', '2026-09-01']],
])('the days of %j', (expr, days) => {
  const fields = parseCronFields(expr);
  const found: string[] = [];
  for (let from = Date.parse('2026-06-01T00:00Z'); found.length < days.length; from += 1000) {
    from = nextWallTime(fields, from) ?? Number.NaN;
    found.push(new Date(from).toISOString().slice(0, 10));
  }
  expect(found).toEqual(days);
});
