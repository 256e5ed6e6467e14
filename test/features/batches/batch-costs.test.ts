// What a batch costs by the way that it takes, beside the same conversations in live calls: three
// calls each, with a prompt of 1,000 tokens of their own and answers of 300 tokens, against a
// provider whose batches find a part of their prompts in the cache. The full form has 1,000 items,
// and the long form fewer, and fewer cases; what the first items cost, before the way is chosen, is
// part of the bill.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { agentOf } from '../../../src/config.ts';
import { createApiRig, type ApiRig } from '../../api/api-rig.ts';
import { readPromptTokens } from '../../rows/calls.ts';
import { withTestDatabase } from '../../servers/postgres.ts';
import { isFullForm } from '../../servers/test-form.ts';
import { laneBatchRig } from './lane-batch-rig.ts';

const ITEMS = isFullForm() ? 1_000 : 200;
/** With a long shared prompt the probe is expensive; with this many items it is a small part. */
const ITEMS_WITH_LONG_PROMPT = isFullForm() ? 1_000 : 500;
const PILOT = 20;

const CHARS_PER_TOKEN = 4;
const chars = (tokens: number, of: string): string => of.repeat(Math.ceil((tokens * CHARS_PER_TOKEN) / of.length));

/** Conversations; those of different names share nothing but the system prompt. */
function linesOf(name: string, count: number): string {
  const answer = chars(300, 'word ').trim();
  return Array.from({ length: count }, (_, n) => {
    const call = (at: string): string => `[[tool: echo {"at": "${at}", "word": "${answer}"}]]`;
    const text = `${name} ${n} ${call('first')} ${call('second')} [[reply: ${answer}]] ${chars(100, 'detail ')}`;
    return JSON.stringify({ text });
  }).join('\n');
}

// As the API shows it; each answer was held against its schema.
type ShownBatch = any; // oxlint-disable-line typescript/no-explicit-any

type Shape = { prefixTokens: number; hits: number };

/** An API whose agent has a shared prompt of that length, and a way to run batches on it. */
async function withBatches<Value>(
  { prefixTokens, hits }: Shape,
  act: (run: (lines: string, query: string, answered?: number) => Promise<ShownBatch>, rig: ApiRig) => Promise<Value>,
): Promise<Value> {
  const database = await withTestDatabase();
  const rig = await createApiRig(database.url, { batchCacheHits: hits });
  try {
    const batches = laneBatchRig(rig);
    const { workspaceDir } = agentOf(rig.turns.config, 'main');
    await mkdir(workspaceDir, { recursive: true });
    // The rest of the system prompt and the tools are about 1,500 tokens.
    const files = ['AGENTS.md', 'SOUL.md', 'TOOLS.md', 'USER.md'];
    const tokens = (prefixTokens - 1_500) / files.length;
    for (const file of files) await writeFile(join(workspaceDir, file), chars(tokens, 'Answer in one word. '));
    return await act(async (lines, query, answered = Infinity) => {
      const made = await batches.submitLines(lines, `?promptMode=full&${query}`);
      expect(made.status).toBe(201);
      return await batches.runByLane(made.body.id, { answered });
    }, rig);
  } finally {
    await rig.close();
    await database.drop();
  }
}

/** The costs of both ways in dollars, and the batch that has chosen. */
function costsOf(shape: Shape, items = ITEMS) {
  return withBatches(shape, async (run, rig) => {
    const live = await run(linesOf('live', items), 'via=live');
    const auto = await run(linesOf('auto', items), 'via=auto');
    expect([live.counts.answered, auto.counts.answered]).toEqual([items, items]);
    const [prompt] = await readPromptTokens(rig);
    expect(Math.abs(prompt! / (shape.prefixTokens + 1_000) - 1)).toBeLessThan(0.1);
    return { live: Number(live.costUsd), auto: Number(auto.costUsd), batch: auto };
  });
}

describe('a batch with via "auto"', () => {
  const cheap = [{ hits: 0.9, saved: 0.3 }, ...(isFullForm() ? [{ hits: 1, saved: 0.4 }] : [])];
  test.each(cheap)(
    'at a cache hit rate of $hits costs much less than live',
    async ({ hits, saved }) => {
      const { live, auto, batch } = await costsOf({ prefixTokens: 3_000, hits });
      expect(auto).toBeLessThanOrEqual(live * (1 - saved));
      expect(batch.savedPercent).toBeGreaterThan(saved * 100);
      expect(batch.hops.every((hop: { via: string }) => hop.via === 'provider-batch')).toBe(true);
    },
    1_800_000,
  );

  const dear = [
    { prefixTokens: 16_000, hits: 0.5, items: ITEMS_WITH_LONG_PROMPT },
    { prefixTokens: 3_000, hits: 0, items: ITEMS },
    ...(isFullForm() ? [{ prefixTokens: 3_000, hits: 0.5, items: ITEMS }] : []),
  ];
  test.each(dear)(
    'with a shared prompt of $prefixTokens tokens and a cache hit rate of $hits costs at most a twentieth more than live',
    async ({ items, ...shape }) => {
      const { live, auto } = await costsOf(shape, items);
      expect(auto).toBeLessThanOrEqual(live * 1.05);
    },
    1_800_000,
  );
});

test.each(['provider-batch', 'live'])(
  'after a pilot of 20 items, the expected cost of the rest with via "%s" is within 15 percent of its bill',
  async (via) => {
    const ended = await withBatches({ prefixTokens: 3_000, hits: 0.9 }, async (run, rig) => {
      await run(linesOf('measured', PILOT), 'via=provider-batch');
      const early = await run(linesOf('pilot', PILOT + ITEMS), `via=${via}&pilot=${PILOT}`, PILOT);
      expect(early.counts).toMatchObject({ answered: PILOT });
      const batch = await laneBatchRig(rig).runByLane(early.id);
      return { early, batch };
    });
    const { early, batch } = ended;
    expect(batch.counts.answered).toBe(PILOT + ITEMS);
    const rest = batch.costUsd - early.costUsd;
    expect(Math.abs(early.expectedCostUsd - batch.costUsd)).toBeLessThanOrEqual(rest * 0.15);
    expect(batch.expectedCostUsd).toBe(batch.costUsd);
  },
  1_800_000,
);
