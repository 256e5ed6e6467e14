// What commands may do when a part of the sandbox is missing or fails later: less, never more
// (G42).
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, rmdirSync, symlinkSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { Sandbox } from '../../src/tools/sandbox/sandbox.ts';
import { findProgram, findRuntime } from '../../src/tools/sandbox/runtimes.ts';
import type { SandboxRuntime } from '../../src/tools/sandbox/port.ts';
import { describeUnless, NO_SANDBOX } from './machine-sandbox.ts';
import { openSandboxRig } from './sandbox-rig.ts';
import { takePath } from './take-path.ts';

async function openRig(file: { sandbox?: object; tools?: object; plugins?: object } = {}) {
  const rig = await openSandboxRig(file);
  onTestFinished(() => rig.close());
  const { port } = rig;
  /** Prints where a command runs, and whether it reaches this machine. */
  const pry = () =>
    rig.run(
      `[ -e /root ] && echo outside || echo inside; (exec 3<>/dev/tcp/127.0.0.1/${port}) 2>/dev/null && echo online`,
    );
  return { ...rig, pry };
}

describeUnless(NO_SANDBOX, 'a command in a sandbox', () => {
  test('runs inside also where the limits of the service are lower than those of the configuration (G42)', async () => {
    const rig = await openRig();
    const check = [process.execPath, join(import.meta.dirname, '../../src/cli/bin.mjs'), 'sandbox', 'check', '--json'];
    const env = { PATH: process.env['PATH'], HOLDFAST_DATA_DIR: rig.dataDir };
    const limits = ['--fsize=100000000', '--cpu=50000'];
    const { stdout } = await promisify(execFile)('prlimit', [...limits, ...check], { cwd: rig.base, env });
    expect(JSON.parse(stdout)).toMatchObject({ status: 'on', reason: null });
  });

  test.each(['auto', 'required'])(
    'without socat runs inside without a network, and the state says so: %s (G42)',
    async (mode) => {
      const folder = takePath();
      const rig = await openRig({
        sandbox: { network: ['*'], readable: [folder] },
        tools: { exec: { sandbox: mode } },
      });
      const reason = 'there is no network, because socat is not on the PATH';
      expect(await rig.sandbox.check()).toMatchObject({ status: 'reduced', reason });
      expect(await rig.pry()).toBe('inside\n[exit code 1]');
      expect(await rig.run('echo "proxy $http_proxy"')).toBe('proxy \n[exit code 0]');
    },
  );

  test('does not get out by a workspace that cannot be written (G42)', async () => {
    const rig = await openRig();
    expect(await rig.run('chmod 555 .')).toBe('[exit code 0]');
    const reason = 'commands cannot write to the workspace';
    expect(await rig.sandbox.check()).toMatchObject({ status: 'reduced', reason });
    expect(await rig.pry()).toBe('inside\n[exit code 1]');
  });

  test('does not get out by a workspace that was closed before the first check (G42)', async () => {
    const rig = await openRig();
    chmodSync(rig.workspaceDir, 0);
    expect(await rig.sandbox.check()).toMatchObject({
      status: 'refused',
      reason: expect.stringMatching(/Permission denied; it works in an empty folder, so nothing runs outside$/),
    });
    await expect(rig.sandbox.enter(rig.plan)).rejects.toThrow('commands are off: the sandbox cannot be used now');
    chmodSync(rig.workspaceDir, 0o700);
    expect(await rig.sandbox.check()).toMatchObject({ status: 'on' });
  });

  test('does not run outside where the sandbox has worked and fails later, and runs when it works again (G42)', async () => {
    const folder = takePath();
    const rig = await openRig({ sandbox: { readable: [folder] } });
    expect(await rig.sandbox.check()).toMatchObject({ status: 'on' });
    const bwrap = findProgram('/usr/bin/bwrap') ?? '';
    unlinkSync(join(folder, 'bwrap'));
    expect(await rig.sandbox.check()).toMatchObject({
      status: 'refused',
      reason: expect.stringContaining('it has worked, so nothing runs outside until a restart'),
    });
    await expect(rig.pry()).rejects.toThrow('commands are off: the sandbox cannot be used now');
    symlinkSync(bwrap, join(folder, 'bwrap'));
    expect(await rig.sandbox.check()).toMatchObject({ status: 'on' });
    expect(await rig.pry()).toBe('inside\n[exit code 1]');
  });

  test('a runtime that warns of what it lacks is used, but not where the sandbox is required (G42)', async () => {
    for (const [mode, status] of [
      ['auto', 'reduced'],
      ['required', 'refused'],
    ] as const) {
      const rig = await openRig({
        sandbox: { runtime: 'boxes' },
        plugins: { modules: ['./x.mjs'] },
        tools: { exec: { sandbox: mode } },
      });
      const inner = findRuntime('bubblewrap', []);
      if (typeof inner === 'string') throw new Error(inner);
      const boxes: SandboxRuntime = {
        name: 'boxes',
        wrap(policy, command) {
          const { argv, ...rest } = inner.wrap(policy, command);
          return { ...rest, argv: ['/bin/sh', '-c', 'echo no limit of swap >&2; exec "$@"', 'sh', ...argv] };
        },
      };
      const sandbox = new Sandbox(rig.config, [boxes]);
      expect(await sandbox.check()).toMatchObject({ mode, status, reason: 'no limit of swap' });
    }
  });

  test('does not run before a canary has had an answer (G42)', async () => {
    const rig = await openRig();
    expect(rig.sandbox.known).toMatchObject({ status: 'unknown', reason: 'no canary has been sent yet' });
    // The canary cannot write its bait.
    mkdirSync(join(rig.dataDir, 'sandbox-canary'));
    expect(await rig.sandbox.check()).toMatchObject({ status: 'unknown', reason: expect.stringContaining('EISDIR') });
    await expect(rig.pry()).rejects.toThrow('commands are off: the sandbox cannot be used now');
    rmdirSync(join(rig.dataDir, 'sandbox-canary'));
    expect(await rig.pry()).toBe('inside\n[exit code 1]');
  });
});

test('commands do not run where no plugin of the process has registered the runtime of the configuration (G42)', async () => {
  const rig = await openRig({ sandbox: { runtime: 'gvisor' }, plugins: { modules: ['./plugin.mjs'] } });
  const reason = 'no plugin has registered the runtime "gvisor" in this process';
  expect(await new Sandbox(rig.config).check()).toMatchObject({ mode: 'auto', status: 'refused', reason });
  await expect(rig.pry()).rejects.toThrow(reason);
});
