// Policies that name tools and agents which do not exist: refused before plugins are loaded where
// there are none, afterwards where there are.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { checkKnownTools, ConfigError, loadConfig, toolPolicyFault, type Config } from '../../src/config.ts';
import { BUILT_IN_TOOLS } from '../../src/core/tool-policy.ts';
import { createLogger } from '../../src/logger.ts';
import { loadCheckedPlugins } from '../../src/plugins/load-checked-plugins.ts';

let cwd: string;
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'holdfast-tools-'));
});
afterEach(() => rm(cwd, { recursive: true }));

async function load(file: object): Promise<Config> {
  await writeFile(join(cwd, 'holdfast.json'), JSON.stringify(file));
  return loadConfig({ env: {}, cwd, isTty: false });
}

function faultsOf(error: unknown): string[] {
  if (!(error instanceof ConfigError)) throw error;
  return error.issues.map(({ path, message }) => `${path} ${message}`);
}

const faultsIn = (file: object): Promise<string[]> => load(file).then(() => [], faultsOf);

const KNOWN = `known: ${BUILT_IN_TOOLS.join(', ')}`;

test('a policy that names no tool is refused with the name that was probably meant (G30)', async () => {
  expect(await faultsIn({ tools: { deny: ['exce'], allow: ['read', 'xyzzy'] } })).toEqual([
    `tools.allow[1] is "xyzzy"; allowed: the name of a tool or a pattern with "*" (${KNOWN})`,
    'tools.deny[0] is "exce"; allowed: the name of a tool or a pattern with "*" (did you mean "exec"?)',
  ]);
});

test('the policy of one agent is checked as that of all agents is (G30)', async () => {
  const list = [{ id: 'main' }, { id: 'ops', tools: { allow: ['web-fetsh'] } }];
  expect(await faultsIn({ agents: { list } })).toEqual([
    'agents.list[1].tools.allow[0] is "web-fetsh"; allowed: the name of a tool or a pattern with "*" (did you mean "web_fetch"?)',
  ]);
});

test('the policy of a cron of the file is checked, too (G30)', async () => {
  const job = {
    name: 'tea',
    schedule: { kind: 'every', everyMs: 60_000 },
    payload: { kind: 'agentTurn', message: 'x' },
    tools: { deny: ['read', 'exce'] },
  };
  expect(await faultsIn({ cron: { jobs: [job] } })).toEqual([
    'cron.jobs[0].tools.deny[1] is "exce"; allowed: the name of a tool or a pattern with "*" (did you mean "exec"?)',
  ]);
});

test('agents that may be spawned or spoken with must be listed', async () => {
  const agents = {
    defaults: { subagents: { allowAgents: ['helpr'] } },
    list: [{ id: 'main' }, { id: 'helper', subagents: { allowAgents: ['*', 'main', 'nn'] } }],
  };
  const allowed = 'allowed: "*" or the id of an agent';
  expect(await faultsIn({ agents, tools: { agentToAgent: { allow: ['mian', 'helper'] } } })).toEqual([
    `agents.defaults.subagents.allowAgents[0] is "helpr"; ${allowed} (did you mean "helper"?)`,
    `agents.list[1].subagents.allowAgents[2] is "nn"; ${allowed} (known: main, helper)`,
    `tools.agentToAgent.allow[0] is "mian"; ${allowed} (did you mean "main"?)`,
  ]);
});

test('patterns, names in other letter case and tools that are switched off may be named', async () => {
  const tools = { allow: ['*', 'Exec', 'gone_*'], deny: ['web_fetch', 'MESSAGE'], exec: { enabled: false } };
  expect(await faultsIn({ tools: { ...tools, fetch: { enabled: false } } })).toEqual([]);
});

test('with plugins, names are checked once their tools are known', async () => {
  const config = await load({ tools: { deny: ['lamp', 'exce'] }, plugins: ['./p.ts'] });
  const check = (): void => checkKnownTools(config, ['lamp']);
  expect(check).toThrow(ConfigError);
  expect(check).toThrow(/tools\.deny\[1\] is "exce"/);
  expect(check).not.toThrow(/lamp"/);
  expect(() => checkKnownTools(config, ['lamp', 'exce'])).not.toThrow();
});

test('the policy of a request is judged by the tools that are loaded; before that, any name may be that of a plugin', async () => {
  const lamp = `{ spec: { name: 'lamp', description: 'Lights.', input_schema: { type: 'object' } }, summary: 'Lights', isIdempotent: true, run() {} }`;
  const module = join(cwd, 'lamp.mjs');
  await writeFile(module, `export const tools = [${lamp}];`);
  const config = await load({ plugins: [module] });
  const policy = { allow: ['read', 'lamp'], deny: ['lmap'] };
  expect(toolPolicyFault(config, policy)).toBeNull();
  await loadCheckedPlugins(config, createLogger({ level: 'silent', format: 'json', name: 'test' }));
  expect(toolPolicyFault(config, { allow: ['Lamp', 'exec', 'gone_*'] })).toBeNull();
  expect(toolPolicyFault(config, policy)).toEqual({
    path: 'tools.deny[0]',
    message: 'expected the name of a tool or a pattern with "*" (did you mean "lamp"?), got "lmap"',
  });
});
