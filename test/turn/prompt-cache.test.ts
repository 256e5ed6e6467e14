// The provider's prompt cache over a long conversation, with a model that reads from the cache only
// what a provider allows: prefixes that end at a breakpoint of an earlier request, at most twenty
// blocks before one of this request, and that are equal to the last character.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Tool } from '../../src/tools/tool.ts';
import { readModelCalls } from '../rows/calls.ts';
import { sumOf } from '../rows/table.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

const lookup: Tool = {
  spec: {
    name: 'lookup',
    description: 'Looks something up.',
    input_schema: { type: 'object', properties: { key: { type: 'string' } } },
  },
  summary: 'Look something up',
  isIdempotent: true,
  run: (input) =>
    Promise.resolve({ content: `${(input as { key: string }).key}: ${'a fact '.repeat(20)}`, isError: false }),
};

let rig: TurnRig;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  rig = await createTurnRig(database.url, { tools: [lookup] });
  const made = rig;
  onEnd(() => made.close());
});

interface TurnUsage {
  turn: number;
  read: number;
  written: number;
  uncached: number;
}

/** The share of its input tokens that a turn read from the cache. */
function shareOf({ read, written, uncached }: Omit<TurnUsage, 'turn'>): number {
  return read / (read + written + uncached);
}

async function usageByTurn(name: string): Promise<TurnUsage[]> {
  const calls = await readModelCalls(rig, { sessionId: await rig.sessionOf(name), status: 'ok' });
  return [...Map.groupBy(calls, ({ turnId }) => turnId).values()].map((own, index) => ({
    turn: index + 1,
    read: sumOf(own, 'cacheReadTokens'),
    written: sumOf(own, 'cacheWriteTokens'),
    uncached: sumOf(own, 'inputTokens'),
  }));
}

/**
 * The n-th message: two steps with tools and an answer; once many tools in one step, once a call
 * that fails first.
 */
function textOf(n: number): string {
  const many = Array.from({ length: 24 }, (_, index) => `[[tool: lookup {"key":"${n}-${index}"}]]`).join(' & ');
  const steps = n === 15 ? many : `[[tool: lookup {"key":"a${n}"}]] & [[tool: lookup {"key":"b${n}"}]]`;
  const fault = n === 10 ? '[[error: 529]] ' : '';
  return `Question ${n}. ${fault}${steps} [[tool: lookup {"key":"c${n}"}]] [[reply: Answer ${n}.]]`;
}

test('a conversation of 30 turns with tools reads 90 % of its input from the cache from its third turn on', async () => {
  await mkdir(rig.config.workspace.path, { recursive: true });
  await writeFile(join(rig.config.workspace.path, 'AGENTS.md'), '# Rules\nBe brief.\n');
  const workers = [rig.worker(), rig.worker()];
  for (let n = 1; n <= 30; n += 1) {
    await rig.send('talk', textOf(n), {
      messageId: `m${n}`,
      channel: 'telegram',
      chatId: '4711',
      sender: { id: '42', name: 'Ada' },
      timestamp: Date.UTC(2026, 10, 1, 12, n),
    });
    // The second worker builds the history from rows; the first had it in memory.
    await workers[n <= 20 ? 0 : 1]?.run('talk');
  }
  for (const worker of workers) worker.stop();

  const usage = (await usageByTurn('talk')).map((turn) => ({ ...turn, share: shareOf(turn) }));
  expect(usage).toHaveLength(30);
  const later = usage.slice(2);
  const total = later.reduce(
    (sum, turn) => ({
      read: sum.read + turn.read,
      written: sum.written + turn.written,
      uncached: sum.uncached + turn.uncached,
    }),
    { read: 0, written: 0, uncached: 0 },
  );
  expect(shareOf(total)).toBeGreaterThanOrEqual(0.9);
  expect(later.filter(({ share }) => share < 0.9)).toEqual([]);
  // All input is either read or written: nothing follows the last breakpoint.
  expect(total.uncached).toBe(0);
});
