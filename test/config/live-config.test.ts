// Reloading the configuration: the changes, the settings that need a restart, and the checks
// beforehand.
import { expect, test } from 'vitest';
import { agentOf, LiveConfig, livePriceBook, loadConfigWithSources, type Config } from '../../src/config.ts';
import { readAgentFacts } from '../../src/kernel/turn/open/agent-facts.ts';

const base = loadConfigWithSources({ env: {}, cwd: '/nowhere', isTty: false });

/** A live configuration that finds these changes when it is read again. */
function liveConfig(changes: () => Partial<Config>): LiveConfig {
  let reads = 0;
  return new LiveConfig(() => {
    reads += 1;
    return reads === 1 ? base : { ...base, config: { ...base.config, ...changes() } };
  });
}

const { agents, models } = base.config;
const quick = { ...agents.defaults, maxSteps: 3 };

test('code that reads a section when it uses it sees the newest one: agents, and the price book with its version', async () => {
  const rows = [
    { model: 'anthropic/claude-sonnet-5-5', inputPerMTok: 1, outputPerMTok: 2 },
  ] as Config['models']['prices'];
  const live = liveConfig(() => ({ agents: { ...agents, defaults: quick }, models: { ...models, prices: rows } }));
  const prices = livePriceBook(live.config);
  const { version } = prices;
  expect(agentOf(live.config, 'main').maxSteps).toBe(100);
  await live.reload();
  expect(agentOf(live.config, 'main').maxSteps).toBe(3);
  expect(prices.version).not.toBe(version);
});

test('the facts for prompts change with their section, and are the same object otherwise', async () => {
  const live = liveConfig(() => ({ tts: { enabled: true, hint: 'Speak slowly.' } }));
  const factsNow = () => readAgentFacts(live.config, agentOf(live.config, 'main'));
  const before = factsNow();
  expect(factsNow()).toBe(before);
  await live.reload();
  expect(factsNow()).toMatchObject({ ttsHint: 'Speak slowly.' });
  expect(factsNow()).toBe(factsNow());
});

test('a list that was empty is shown by what it has now, and one that is emptied by what it had', async () => {
  const limits = [{ model: 'anthropic/*', requestsPerMinute: 600 }] as unknown as Config['models']['limits'];
  let next: Config['models'] = { ...models, limits };
  const live = liveConfig(() => ({ models: next }));
  const parts = ['models.limits[0].model', 'models.limits[0].requestsPerMinute'];
  expect((await live.reload()).map(({ path }) => path)).toEqual(parts);
  next = models;
  expect(live.compare().map(({ path }) => path)).toEqual(parts);
});

test('budgets that the file no longer has are a change without an effect, and an empty list is one with an effect', async () => {
  const budgets = [{ scope: 'all', per: 'day', limitUsd: 5 }] as NonNullable<Config['budgets']>;
  let next: Partial<Config> = { budgets };
  const live = liveConfig(() => next);
  const effects = () => live.compare().map(({ path, hasEffect }) => [path, hasEffect]);
  const paths = ['budgets[0].scope', 'budgets[0].per', 'budgets[0].limitUsd'];
  expect(effects()).toEqual(paths.map((path) => [path, true]));
  await live.reload();
  next = {};
  expect(effects()).toEqual(paths.map((path) => [path, false]));
  next = { budgets: [] };
  expect(effects()).toEqual(paths.map((path) => [path, true]));
});

test('agents change as a whole: one that is added waits for a restart, and so do the other changes of agents', async () => {
  const live = liveConfig(() => ({ agents: { defaults: quick, list: [...agents.list, { id: 'clerk' }] } }));
  const changes = await live.reload();
  expect(changes.map(({ path, needsRestart }) => [path, needsRestart])).toEqual([
    ['agents.defaults.maxSteps', true],
    ['agents.list[1].id', true],
  ]);
  expect(live.config.agents).toBe(agents);
});

test('a part of the process that refuses a configuration keeps all of it from being used', async () => {
  const live = liveConfig(() => ({ agents: { ...agents, defaults: quick } }));
  const applied: string[] = [];
  live.follow({ apply: () => void applied.push('first') });
  live.follow({ store: async () => applied.push('stored') });
  live.follow({ prepare: ({ agents: next }) => Promise.reject(new Error(`not ${next.defaults.maxSteps}`)) });
  await expect(live.reload()).rejects.toThrow('not 3');
  expect(live.config.agents).toBe(agents);
  expect(applied).toEqual([]);
  // The next one is not kept from trying.
  await expect(live.reload()).rejects.toThrow('not 3');
});

test('a change that may not be shown is still a change (G31)', async () => {
  const { webhook } = base.config.channels;
  const live = liveConfig(() => ({
    channels: { platforms: {}, webhook: { ...webhook, url: 'https://hooks.example/canary-path' } },
  }));
  expect(live.compare()).toMatchObject([{ path: 'channels.webhook.url', needsRestart: false }]);
  expect(JSON.stringify(live.compare())).not.toContain('canary');
});
