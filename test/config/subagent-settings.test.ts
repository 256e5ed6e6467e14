// The settings of families: defaults, overrides of an agent, and refused values.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { agentOf, ConfigError, loadConfig, type Config } from '../../src/config.ts';

let cwd: string;

beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'holdfast-config-'));
});
afterEach(() => rm(cwd, { recursive: true }));

async function load(file: object): Promise<Config> {
  await writeFile(join(cwd, 'holdfast.json'), JSON.stringify(file));
  return loadConfig({ env: {}, cwd, isTty: false });
}

test('subagents have the documented defaults', async () => {
  const config = await load({});
  expect(config.agents.defaults.subagents).toEqual({
    maxSpawnDepth: 1,
    maxChildrenPerSession: 5,
    maxDescendants: 50,
    maxConcurrent: 64,
    runTimeoutSeconds: 0,
    allowAgents: [],
    announceDebounce: 1000,
  });
  expect(config.session.agentToAgent).toEqual({ maxPingPongTurns: 5 });
  expect(config.tools).toMatchObject({ sessions: { visibility: 'tree' }, agentToAgent: { enabled: false, allow: [] } });
});

test('an agent may have its own', async () => {
  const list = [
    { id: 'main' },
    { id: 'boss', subagents: { maxSpawnDepth: 3, allowAgents: ['main'], thinking: 'low' } },
  ];
  const config = await load({ agents: { list } });
  expect(agentOf(config, 'boss').subagents).toMatchObject({
    maxSpawnDepth: 3,
    maxChildrenPerSession: 5,
    thinking: 'low',
  });
  expect(agentOf(config, 'main').subagents.maxSpawnDepth).toBe(1);
});

test.each([
  [{ tools: { sessions: { visibility: 'everything' } } }, 'tools.sessions.visibility'],
  [{ session: { agentToAgent: { maxPingPongTurns: 6 } } }, 'session.agentToAgent.maxPingPongTurns'],
  [{ agents: { defaults: { subagents: { model: 'gpt' } } } }, 'agents.defaults.subagents.model'],
  [{ agents: { defaults: { subagents: { maxDepth: 1 } } } }, 'agents.defaults.subagents.maxDepth'],
])('%j is refused by name', async (file, path) => {
  const error: unknown = await load(file).catch((fault: unknown) => fault);
  expect(error).toBeInstanceOf(ConfigError);
  expect((error as ConfigError).issues.map((issue) => issue.path)).toContain(path);
});
