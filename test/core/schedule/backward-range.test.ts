import { describe, expect, test } from 'vitest';
import { cronInput } from '../../../src/config/schema-crons.ts';
import { findBackwardRange } from '../../../src/core/schedule/backward-range.ts';

describe('a range of a cron expression', () => {
  test.each([
    ['5-1 * * * *', '5-1'],
    ['* 22-2 * * *', '22-2'],
    ['0 0 1,28-3 * *', '28-3'],
    ['5-1/2 * * * *', '5-1/2'],
    ['* * * * FRI-MON', 'FRI-MON'],
    ['* * * nov-feb *', 'nov-feb'],
  ])('that begins after its end is refused: %s', (expr, range) => {
    expect(findBackwardRange(expr)).toBe(range);
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
  ])('may be in order, and other parts may contain a hyphen: %s', (expr) => expect(findBackwardRange(expr)).toBeNull());
});
