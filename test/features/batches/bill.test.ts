// The bill of a batch is what the provider counts: the sum over its items, the batch, the usage and
// the provider's own figures are equal to the micro-dollar. The provider's figures are read from
// the scripted server, and priced here.
import { expect, test } from 'vitest';
import { priceBookOf } from '../../../src/config.ts';
import { priceCall, type PriceTier } from '../../../src/core/prices.ts';
import { useApiRig } from '../../api/use-api-rig.ts';
import { laneBatchRig } from './lane-batch-rig.ts';

const shared = useApiRig();

const ITEMS = 12;
const lines = Array.from({ length: ITEMS }, (_, n) =>
  JSON.stringify({
    text: `[[tool: echo {"n": ${n}}]] [[tool: echo {"again": ${n}}]] [[reply: ${'done '.repeat(n + 1)}]]`,
  }),
).join('\n');

interface ProviderUsage {
  input_tokens: number;
  output_tokens: number;
  cache_read_input_tokens: number;
  cache_creation_input_tokens: number;
  cache_creation?: { ephemeral_1h_input_tokens: number };
}

/** The cost of a request, rounded once. */
function priceOf({ model, usage, tier }: { model: string; usage: ProviderUsage; tier: PriceTier }): number {
  const call = { model: `anthropic/${model}`, tier, startedAt: new Date() };
  const { costMicros } = priceCall(priceBookOf(shared.rig.turns.config), call, {
    inputTokens: usage.input_tokens,
    outputTokens: usage.output_tokens,
    cacheReadTokens: usage.cache_read_input_tokens,
    cacheWriteTokens: usage.cache_creation_input_tokens,
    cacheWrite1hTokens: usage.cache_creation?.ephemeral_1h_input_tokens,
  });
  return costMicros ?? Number.NaN;
}

/** The costs of all requests that the server has answered, one by one and in its batches. */
async function billOfProvider(): Promise<number[]> {
  const { scripted } = shared.rig.turns;
  const called = scripted.requests.filter(({ path }) => path === '/v1/messages');
  const live = called.map(({ body, usage }) => {
    if (usage === null) throw new Error('a request without an answer');
    return priceOf({ model: (body as { model: string }).model, usage, tier: 'standard' });
  });
  const inBatches = await Promise.all(
    scripted.batches.records.map(async ({ id }) => {
      const answer = await fetch(`${scripted.url}/v1/messages/batches/${id}/results`, {
        headers: { 'x-api-key': 'test' },
      });
      const results = (await answer.text()).split('\n').filter((line) => line !== '');
      return results.map((line) => {
        const { message } = JSON.parse(line).result as { message: { model: string; usage: ProviderUsage } };
        return priceOf({ ...message, tier: 'batch' });
      });
    }),
  );
  return [...live, ...inBatches.flat()];
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

async function usageMicros(): Promise<number> {
  const { body } = await shared.rig.get('/v1/usage?by=day');
  return sum(body.items.map((item: { costMicros: number }) => item.costMicros));
}

test.each(['live', 'provider-batch'])('the bill of a batch with via "%s" is the same everywhere', async (via) => {
  const batches = laneBatchRig(shared.rig);
  const before = { usage: await usageMicros(), provider: await billOfProvider() };
  const made = await batches.submitLines(lines, `?via=${via}`);
  const batch = await batches.runByLane(made.body.id);
  expect(batch).toMatchObject({ outcome: 'completed', counts: { answered: ITEMS } });
  const items = await batches.results(made.body.id);
  const listed = (await shared.rig.get(`/v1/batches/${made.body.id}/items`)).body.items;
  for (const item of [...items, ...listed]) expect(item.simulated).toBe(true);
  expect(sum(items.map(({ costUsd }) => Math.round(costUsd * 1_000_000)))).toBe(batch.costMicros);
  expect((await usageMicros()) - before.usage).toBe(batch.costMicros);
  const provider = await billOfProvider();
  expect(provider).toHaveLength(before.provider.length + ITEMS * 3);
  expect(sum(provider) - sum(before.provider)).toBe(batch.costMicros);
});
