import { expect, test } from 'vitest';
import { IDLE_LIMITS_DEFAULT, idleTimeoutMs } from '../../../src/model/stream/stop-reasons.ts';

const both = (seconds: number) => ({ idleTimeoutSeconds: seconds, cronIdleTimeoutSeconds: seconds });

test.each([
  ['message', IDLE_LIMITS_DEFAULT, 600, 120_000],
  ['subagent', IDLE_LIMITS_DEFAULT, 600, 120_000],
  ['heartbeat', IDLE_LIMITS_DEFAULT, 600, 120_000],
  ['cron', IDLE_LIMITS_DEFAULT, 600, 60_000],
  ['cron', both(120), 600, 120_000],
  ['cron', both(300), 600, 300_000],
  ['message', both(0), 600, 0],
  ['cron', both(0), 600, 0],
  ['message', IDLE_LIMITS_DEFAULT, 30, 30_000],
  ['cron', IDLE_LIMITS_DEFAULT, 5, 5_000],
] as const)('a turn started by a %s with %j configured and %i s to live waits %i ms', (trigger, limits, turn, ms) => {
  expect(idleTimeoutMs({ limits, isCron: trigger === 'cron', turnTimeoutSeconds: turn })).toBe(ms);
});
