// What a dry run says that a batch costs, beside what it costs: with a long prompt that all items
// share, which live calls read from the cache, and with long texts of their own.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { agentOf } from '../../../src/config.ts';
import { useApiRig } from '../../api/use-api-rig.ts';
import { readPromptTokens } from '../../rows/calls.ts';
import { laneBatchRig } from './lane-batch-rig.ts';

const HITS = 0.5;
const ITEMS = 12;
/** How far an estimate may be from the bill. */
const DEVIATION_MAX = 0.15;

const shared = useApiRig({ batchCacheHits: HITS });

const chars = (tokens: number, of: string): string => of.repeat(Math.ceil((tokens * 4) / of.length));

/** Items with an answer of 300 tokens. */
function linesOf(name: string, ownTokens: number): string {
  const answer = chars(300, 'word ').trim();
  return Array.from({ length: ITEMS }, (_, n) =>
    JSON.stringify({ text: `[[reply: ${answer}]] ${name} ${n} ${chars(ownTokens - 300, 'detail ')}` }),
  ).join('\n');
}

async function writePrompt(tokens: number): Promise<void> {
  const { workspaceDir } = agentOf(shared.rig.turns.config, 'main');
  await mkdir(workspaceDir, { recursive: true });
  for (const file of ['AGENTS.md', 'SOUL.md', 'TOOLS.md', 'USER.md']) {
    await writeFile(join(workspaceDir, file), chars(tokens / 4, 'Answer in one word. '));
  }
}

function share(estimated: number, actual: number): number {
  return Math.abs(estimated / actual - 1);
}

describe.each([
  {
    shape: 'a shared prompt of 16,000 tokens',
    sharedTokens: 16_000,
    ownTokens: 400,
    mode: 'full',
    recommended: 'live',
  },
  {
    shape: 'long texts of their own',
    sharedTokens: 0,
    ownTokens: 3_000,
    mode: 'minimal',
    recommended: 'provider-batch',
  },
])('a dry run of items with $shape', ({ shape, sharedTokens, ownTokens, mode, recommended }) => {
  test('is near the bill of both ways, and recommends the cheaper one', async () => {
    await writePrompt(sharedTokens);
    const batches = laneBatchRig(shared.rig);
    const settings = `promptMode=${mode}&cache=5m`;
    const cost = async (via: string): Promise<number> => {
      const made = await batches.submitLines(linesOf(`${shape} ${via}`, ownTokens), `?${settings}&via=${via}`);
      const ended = await batches.runByLane(made.body.id);
      expect(ended).toMatchObject({ outcome: 'completed', counts: { answered: ITEMS } });
      return Number(ended.costUsd);
    };
    const dry = (await batches.submitLines(linesOf(`${shape} dry`, ownTokens), `?${settings}&dryRun=true`)).body;
    expect(dry).toMatchObject({ items: ITEMS, recommended });
    const live = await cost('live');
    const batch = await cost('provider-batch');
    expect(share(dry.costUsd.live, live), `live: ${dry.costUsd.live} instead of ${live}`).toBeLessThan(DEVIATION_MAX);
    const { at50 } = dry.costUsd.providerBatch;
    expect(share(at50, batch), `batch: ${at50} instead of ${batch}`).toBeLessThan(DEVIATION_MAX);
    expect(batch < live ? 'provider-batch' : 'live').toBe(recommended);
  });
});

test('a dry run counts the tools of an item, and stores nothing', async () => {
  const { rig } = shared;
  const batches = laneBatchRig(rig);
  const tokens = async (settings: object): Promise<number> => {
    const answer = await rig.post('/v1/batches?dryRun=true', { items: [{ text: 'one' }], ...settings });
    return answer.body.tokens.input;
  };
  const without = await tokens({});
  const spec = JSON.stringify({ name: 'echo', description: 'Says it again.', input_schema: { type: 'object' } });
  expect(await tokens({ tools: { allow: ['*'] } })).toBeGreaterThanOrEqual(without + Math.floor(spec.length / 4));
  const made = await batches.submit({ items: [{ text: 'one' }] });
  await batches.run(made.body.id);
  expect(share(without, (await readPromptTokens(rig)).at(-1)!)).toBeLessThan(DEVIATION_MAX);
});
