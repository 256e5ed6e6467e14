import { expect, test } from 'vitest';
import { idleTimeoutMs } from '../../../src/core/stream/idle-timeout.ts';

test.each([
  ['message', 120, 600, 120_000],
  ['subagent', 120, 600, 120_000],
  ['heartbeat', 120, 600, 120_000],
  ['cron', 120, 600, 60_000],
  ['cron', 300, 600, 300_000],
  ['message', 0, 600, 0],
  ['cron', 0, 600, 0],
  ['message', 120, 30, 30_000],
  ['cron', 120, 5, 5_000],
] as const)(
  'a turn started by a %s with %i s configured and %i s to live waits %i ms',
  (trigger, configured, turn, ms) => {
    expect(idleTimeoutMs({ configuredSeconds: configured, trigger, turnTimeoutSeconds: turn })).toBe(ms);
  },
);
