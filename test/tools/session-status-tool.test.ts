// The session facts and the time that the model receives.
import { expect, test } from 'vitest';
import { createSessionStatusTool, type SessionStatus } from '../../src/tools/session-status-tool.ts';
import { aToolCall } from './tool-call.ts';
import { contentOf } from './workspace.ts';

async function statusOf(status: Partial<SessionStatus>): Promise<string> {
  const tool = createSessionStatusTool({
    status: async () => ({ now: new Date('2026-09-28T12:05:09Z'), ...status }),
    setModel: async () => null,
  });
  return contentOf(await tool.run({}, aToolCall({ workspaceDir: '/workspace' })));
}

test("the status names session, agent, model, thinking and the time in the user's zone", async () => {
  expect(await statusOf({ timezone: 'Europe/Berlin' })).toBe(
    [
      'Session: agent:main:test',
      'Agent: main',
      'Model: anthropic/claude-sonnet-5-5',
      'Thinking: off',
      'Current time: Monday, 2026-09-28 14:05:09 (Europe/Berlin, GMT+02:00)',
      'UTC: 2026-09-28T12:05:09.000Z',
    ].join('\n'),
  );
});

test('midnight is hour 0 of the new day', async () => {
  const now = new Date('2026-09-28T00:00:00Z');
  expect(await statusOf({ timezone: 'UTC', now })).toContain('Monday, 2026-09-28 00:00:00 (UTC, GMT+00:00)');
});

test("an unknown or absent time zone is the machine's own", async () => {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  expect(await statusOf({ timezone: 'Mars/Olympus' })).toContain(`(${own}, GMT`);
  expect(await statusOf({})).toContain(`(${own}, GMT`);
});
