// (x) A sandboxed `true`, as the exec tool runs it (with its shell, its mounts and its limits), to
// bubblewrap alone with the whole file system.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { loadConfig } from '../../src/config.ts';
import { planCommands } from '../../src/tools/command-user.ts';
import { Sandbox } from '../../src/tools/sandbox/sandbox.ts';
import { alternate } from '../rig/alternate.ts';
import { formatNumber, type BarLine } from '../rig/bar.ts';
import type { BenchContext, BenchPart } from '../rig/bench-context.ts';
import { median } from '../rig/statistics.ts';

export const sandboxed: BenchPart = { letter: 'x', title: 'commands in the sandbox', run };

const line = {
  part: 'x',
  what: 'a command in the sandbox, to bubblewrap alone',
  unit: 'x',
  bar: 4,
  sense: 'atMost',
} as const;

async function run(context: BenchContext): Promise<BarLine[]> {
  const base = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  try {
    const [workspaceDir, dataDir] = [join(base, 'workspace'), join(base, 'data')];
    for (const folder of [workspaceDir, dataDir]) mkdirSync(folder);
    const settings = { workspace: { path: workspaceDir }, tools: { exec: { sandbox: 'required' } } };
    writeFileSync(join(base, 'holdfast.json'), JSON.stringify(settings));
    const config = loadConfig({ env: { HOLDFAST_DATA_DIR: dataDir }, cwd: base });
    const sandbox = new Sandbox(config);
    const { status, reason } = await sandbox.check();
    if (status !== 'on') return [{ ...line, floor: '', holdfast: `there is no sandbox: ${reason}`, measured: null }];
    const shell = {
      argv: ['/bin/bash', '--norc', '-c', '--', 'true'],
      workdir: workspaceDir,
      environment: {},
      user: null,
    };
    const wrapped = (await sandbox.enter(planCommands(config, workspaceDir)))?.(shell).argv ?? [];
    const bare = ['bwrap', '--ro-bind', '/', '/', 'true'];
    const commands = context.isQuick ? 20 : 100;
    const { runsOf, ratioOf } = await alternate(
      context.isQuick ? 5 : 15,
      [
        { name: 'bare', measure: async () => msOfOne(bare, commands) },
        { name: 'sandboxed', measure: async () => msOfOne(wrapped, commands) },
      ],
      (ms) => ms,
    );
    const text = (name: 'bare' | 'sandboxed') => `${formatNumber(median(runsOf(name)))} ms`;
    return [{ ...line, floor: text('bare'), holdfast: text('sandboxed'), measured: ratioOf('sandboxed', 'bare') }];
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
}

function msOfOne([program = '', ...words]: readonly string[], commands: number): number {
  const startMs = performance.now();
  for (let n = 0; n < commands; n += 1) {
    const { status } = spawnSync(program, words, { stdio: 'ignore' });
    if (status !== 0) throw new Error(`${program} ended with ${status}`);
  }
  return (performance.now() - startMs) / commands;
}
