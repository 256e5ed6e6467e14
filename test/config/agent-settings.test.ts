import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { agentOf, isAgent, loadConfig, modelRefOf, UnknownAgentError, type Config } from '../../src/config.ts';

let cwd: string;

beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'holdfast-agents-'));
});
afterEach(() => rm(cwd, { recursive: true }));

async function load(file: string): Promise<Config> {
  await writeFile(join(cwd, 'holdfast.json'), file);
  return loadConfig({ env: {}, cwd });
}

test('an agent has the defaults with its own settings over them', async () => {
  const config = await load(
    '{agents: {defaults: {maxSteps: 50}, list: [{id: "main"}, {id: "ops", timeoutSeconds: 5, llm: {idleTimeoutSeconds: 9}}]}}',
  );
  expect(agentOf(config, 'ops')).toMatchObject({
    id: 'ops',
    maxSteps: 50,
    timeoutSeconds: 5,
    llm: { idleTimeoutSeconds: 9 },
  });
  expect(agentOf(config, 'main')).toMatchObject({ id: 'main', maxSteps: 50, timeoutSeconds: 600 });
});

test('the settings of an agent are made once, and frozen', async () => {
  const config = await load('{}');
  const settings = agentOf(config, 'main');
  expect(agentOf(config, 'main')).toBe(settings);
  expect(Object.isFrozen(settings.compaction)).toBe(true);
});

test('an alias of a model is resolved', async () => {
  const config = await load('{agents: {defaults: {model: "fast", models: {fast: "anthropic/claude-haiku-4-5"}}}}');
  const agent = agentOf(config, 'main');
  expect(agent.model).toBe('anthropic/claude-haiku-4-5');
  expect(modelRefOf(agent, 'fast')).toBe('anthropic/claude-haiku-4-5');
  expect(modelRefOf(agent, 'anthropic/other')).toBe('anthropic/other');
  expect(modelRefOf(agent, 'unheard')).toBeNull();
  expect(modelRefOf(agent, 'constructor')).toBeNull();
});

test('agents share a workspace only if configured to', async () => {
  const config = await load(
    '{workspace: {path: "w/workspace"}, agents: {list: [{id: "main"}, {id: "ops"}, {id: "dev", workspace: "d"}]}}',
  );
  expect(['main', 'ops', 'dev'].map((id) => agentOf(config, id).workspaceDir)).toEqual([
    join(cwd, 'w/workspace'),
    join(cwd, 'w/workspace-ops'),
    join(cwd, 'd'),
  ]);
});

test('a tool must pass the policy of all agents and that of its agent', async () => {
  const config = await load(
    '{tools: {deny: ["exec"]}, agents: {list: [{id: "main", tools: {allow: ["read"]}}, {id: "ops"}]}}',
  );
  expect(agentOf(config, 'main').toolPolicies).toEqual([{ deny: ['exec'] }, { allow: ['read'], deny: [] }]);
  expect(agentOf(config, 'ops').toolPolicies).toEqual([{ deny: ['exec'] }]);
});

test('an agent that is not listed is unknown', async () => {
  const config = await load('{}');
  expect(isAgent(config, 'main')).toBe(true);
  expect(isAgent(config, 'nobody')).toBe(false);
  expect(() => agentOf(config, 'nobody')).toThrow(UnknownAgentError);
});

test('an idle timeout that the file sets holds in cron jobs too, also when it is the default', async () => {
  const limitsOf = async (file: string, id = 'main') => agentOf(await load(file), id).llm;
  expect(await limitsOf('{}')).toEqual({ idleTimeoutSeconds: 120, cronIdleTimeoutSeconds: 60 });
  const explicit = '{agents: {defaults: {llm: {idleTimeoutSeconds: 120}}}}';
  expect(await limitsOf(explicit)).toEqual({ idleTimeoutSeconds: 120, cronIdleTimeoutSeconds: 120 });
  const both = '{agents: {defaults: {llm: {idleTimeoutSeconds: 90, cronIdleTimeoutSeconds: 30}}}}';
  expect(await limitsOf(both)).toEqual({ idleTimeoutSeconds: 90, cronIdleTimeoutSeconds: 30 });
  const ofOne = '{agents: {list: [{id: "main"}, {id: "ops", llm: {idleTimeoutSeconds: 120}}]}}';
  expect(await limitsOf(ofOne)).toEqual({ idleTimeoutSeconds: 120, cronIdleTimeoutSeconds: 60 });
  expect(await limitsOf(ofOne, 'ops')).toEqual({ idleTimeoutSeconds: 120, cronIdleTimeoutSeconds: 120 });
});
