// The sandbox that whole suites can be run in.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/config.ts';
import { planAllCommands, type CommandPlan } from '../../src/tools/command-user.ts';
import { Sandbox } from '../../src/tools/sandbox/sandbox.ts';

/**
 * What the suites of `exec` and `process` run commands in: nothing, or with
 * `HOLDFAST_TEST_SANDBOX=on` the sandbox, in which they must pass, too. Each of their workspaces
 * gets one.
 */
export const SUITE_SANDBOX: Pick<Sandbox, 'enter'> | undefined =
  process.env['HOLDFAST_TEST_SANDBOX'] === 'on' ? { enter: enterAny } : undefined;

async function enterAny({ workspaceDir }: CommandPlan) {
  const base = mkdtempSync(join(tmpdir(), 'holdfast-sandbox-'));
  const settings = { workspace: { path: workspaceDir }, tools: { exec: { sandbox: 'required' } } };
  writeFileSync(join(base, 'holdfast.json'), JSON.stringify(settings));
  mkdirSync(join(base, 'data'));
  const config = loadConfig({ env: { HOLDFAST_DATA_DIR: join(base, 'data') }, cwd: base });
  const [plan] = planAllCommands(config);
  if (plan === undefined) throw new Error('there is no workspace');
  return new Sandbox(config).enter(plan).finally(() => rmSync(base, { recursive: true }));
}
