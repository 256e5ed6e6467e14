// Which models a configuration may name, before plugins are loaded and after.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  checkServedModels,
  ConfigError,
  loadConfig,
  modelFault,
  noteServedProviders,
  type Config,
} from '../../src/config.ts';

let cwd: string;
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'holdfast-models-'));
});
afterEach(() => rm(cwd, { recursive: true }));

async function load(file: object): Promise<Config> {
  await writeFile(join(cwd, 'holdfast.json'), JSON.stringify(file));
  return loadConfig({ env: {}, cwd, isTty: false });
}

function faultsOf(check: () => void): string[] {
  try {
    check();
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.issues.map(({ path, message }) => `${path} ${message}`);
  }
}

const agents = {
  defaults: { model: 'local/small', models: { big: 'local/big', other: 'anthropic/x' } },
  list: [{ id: 'main' }, { id: 'second', compaction: { model: 'remote/tiny' } }],
};

test('without plugins, only the built-in provider serves models', async () => {
  await expect(load({ agents: { defaults: { model: 'local/small' } } })).rejects.toThrow(
    'agents.defaults.model is "local/small"; allowed: "anthropic/<model>"',
  );
});

test('with plugins, any provider may be named, and once they are loaded those that are served', async () => {
  const config = await load({ agents, plugins: ['./p.ts'] });
  expect(faultsOf(() => checkServedModels(config, ['local', 'remote', 'anthropic']))).toEqual([]);
  expect(faultsOf(() => checkServedModels(config, ['local', 'anthropic']))).toEqual([
    expect.stringMatching(
      /^agents\.list\[1\]\.compaction\.model is "remote\/tiny"; allowed: "local\/<model>", "anthropic\//,
    ),
  ]);
  expect(faultsOf(() => checkServedModels(config, ['anthropic']))).toContainEqual(
    expect.stringContaining('agents.defaults.models.big is "local/big"'),
  );
});

test('with plugins, too, a model has a provider and a name', async () => {
  for (const model of ['small', '/small', 'local/']) {
    await expect(load({ agents: { defaults: { model } }, plugins: ['./p.ts'] })).rejects.toThrow(
      'allowed: "<provider>/<model>"',
    );
  }
});

test('a cron of the file names a model that is served, or an alias of its agent', async () => {
  const job = (model: string) => ({
    name: 'tea',
    agentId: 'second',
    schedule: { kind: 'every', everyMs: 60_000 },
    payload: { kind: 'agentTurn', message: 'x', model },
  });
  const list = [{ id: 'main' }, { id: 'second', models: { own: 'anthropic/x' } }];
  const file = (model: string, more: object = {}) => ({ agents: { list }, cron: { jobs: [job(model)] }, ...more });
  await load(file('own'));
  await load(file('anthropic/y'));
  await expect(load(file('local/small'))).rejects.toThrow('cron.jobs[0].payload.model is "local/small"');
  const config = await load(file('local/small', { plugins: ['./p.ts'] }));
  expect(faultsOf(() => checkServedModels(config, ['anthropic']))).toEqual([
    expect.stringContaining('cron.jobs[0].payload.model is "local/small"'),
  ]);
});

test('a model that is set later is judged by the providers that are loaded, with the aliases of its agent', async () => {
  const config = await load({ agents: { defaults: { models: { big: 'anthropic/x' } } }, plugins: ['./p.ts'] });
  expect(modelFault(config, 'main', 'remote/x')).toBeNull();
  noteServedProviders(config, ['local', 'anthropic']);
  for (const name of ['big', 'local/x', 'anthropic/y']) expect(modelFault(config, 'main', name)).toBeNull();
  expect(modelFault(config, 'main', 'remote/x')).toBe(
    'no provider serves the model "remote/x"; use "local/<model>", "anthropic/<model>", or an alias: big',
  );
});
