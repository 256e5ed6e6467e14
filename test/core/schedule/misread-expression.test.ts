import { describe, expect, test } from 'vitest';
import { cronInput } from '../../../src/features/crons/config.ts';
import { findMisreading } from '../../../src/features/crons/rules/cron-expression.ts';

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
