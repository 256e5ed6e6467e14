// Goal: a command does not outlive the process that runs it, even if that is killed with SIGKILL.
// Method: a real process runs a command whose grandchildren hold a named pipe; the process is
// killed, and the test waits for the end of the pipe.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { NO_SANDBOX, testUnless } from './machine-sandbox.ts';
import { createLifeline, createWorkspace } from './workspace.ts';

const RUNNER = `
import { createExecTool } from ${JSON.stringify(new URL('../../src/tools/exec-tool.ts', import.meta.url).href)};
import { SUITE_SANDBOX } from ${JSON.stringify(new URL('./suite-sandbox.ts', import.meta.url).href)};
const [workspaceDir, first, command] = process.argv.slice(1);
const exec = createExecTool({ timeoutSeconds: 600, environment: { PATH: process.env.PATH }, sandbox: SUITE_SANDBOX });
const lease = { epoch: 1, assertHeld: () => undefined };
const call = { workspaceDir, idempotencyKey: crypto.randomUUID(), lease, signal: new AbortController().signal };
// The first ends by itself: the guard must notice that and still watch the second.
await exec.run({ command: first }, call);
await exec.run({ command }, call);
`;

for (const place of ['outside', 'inside'])
  testUnless(
    place === 'inside' ? NO_SANDBOX : null,
    `a command ${place} a sandbox and its grandchildren end when their process is killed (G11)`,
    async () => {
      await using workspace = Object.assign(await createWorkspace(), {
        [Symbol.asyncDispose]: () => workspace.remove(),
      });
      const lifeline = createLifeline(workspace.dir);
      const command = `trap '' TERM; ${lifeline.hold}; (sleep 300 & sleep 300) & sleep 300`;
      const runner = spawn(
        process.execPath,
        ['--input-type=module', '-e', RUNNER, workspace.dir, 'echo first', command],
        {
          env: { ...process.env, HOLDFAST_TEST_SANDBOX: place === 'inside' ? 'on' : 'off' },
          stdio: ['ignore', 'ignore', 'inherit'],
        },
      );
      const exited = once(runner, 'exit');
      await lifeline.held;
      runner.kill('SIGKILL');
      await exited;
      await lifeline.gone;
      expect(runner.signalCode).toBe('SIGKILL');
    },
  );

test('a process that has run commands exits when it has nothing more to do', async () => {
  await using workspace = Object.assign(await createWorkspace(), {
    [Symbol.asyncDispose]: () => workspace.remove(),
  });
  const runner = spawn(process.execPath, ['--input-type=module', '-e', RUNNER, workspace.dir, 'echo a', 'echo b'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  expect(await once(runner, 'exit')).toEqual([0, null]);
});
