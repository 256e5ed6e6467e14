// The bill: all sums equal the cost of the requests that the model server received, to the
// micro-dollar.
import { expect, test } from 'vitest';
import { priceBookOf } from '../../src/config.ts';
import { priceCall } from '../../src/core/prices.ts';
import { viewUsage } from '../../src/features/costs/views.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { readModelCalls } from '../rows/calls.ts';
import { readSessions } from '../rows/sessions.ts';
import { sumOf } from '../rows/table.ts';
import { readTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';
import { EVERYTHING } from '../../src/core/scope.ts';

const CONVERSATIONS = 12;
const CALLS_EACH = 3;

const probe: Tool = {
  spec: { name: 'probe', description: 'Looks.', input_schema: { type: 'object' } },
  summary: 'looks',
  isIdempotent: true,
  run: async () => ({ content: 'seen', isError: false }),
};

let rig: TurnRig;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  rig = await createTurnRig(database.url, { tools: [probe] });
  const made = rig;
  onEnd(() => made.close());
});

test('calls, turns, sessions, usage and the requests that the server received have one sum', async () => {
  const worker = rig.worker();
  const names = Array.from({ length: CONVERSATIONS }, (_, index) => `bill-${index}`);
  await Promise.all(
    names.map(async (name, index) => {
      await rig.send(name, `${'x'.repeat(index * 37)} [[tool: probe {}]] [[tool: probe {}]] [[reply: done ${index}]]`);
      await worker.run(name);
    }),
  );
  worker.stop();

  const book = priceBookOf(rig.config);
  const received = rig.scripted.requests.map(({ usage, body }) => {
    const call = {
      model: `anthropic/${(body as { model: string }).model}`,
      tier: 'standard',
      startedAt: new Date(),
    } as const;
    const { costMicros } = priceCall(book, call, {
      inputTokens: usage?.input_tokens ?? Number.NaN,
      outputTokens: usage?.output_tokens ?? 0,
      cacheReadTokens: usage?.cache_read_input_tokens ?? 0,
      cacheWriteTokens: usage?.cache_creation_input_tokens ?? 0,
    });
    return costMicros ?? Number.NaN;
  });
  expect(received).toHaveLength(CONVERSATIONS * CALLS_EACH);
  const bill = received.reduce((sum, micros) => sum + micros, 0);
  expect(bill).toBeGreaterThan(0);

  expect(sumOf(await readModelCalls(rig), 'costMicros')).toBe(bill);
  expect(sumOf(await readTurns(rig), 'costMicros')).toBe(bill);
  expect(sumOf(await readSessions(rig), 'costMicros')).toBe(bill);
  const span = { from: new Date(0), to: new Date(Date.now() + 86_400_000) };
  const usage = await viewUsage(rig.database.views, { by: 'day', group: null, scope: EVERYTHING, ...span });
  expect(usage.reduce((sum, { costMicros }) => sum + (costMicros ?? 0), 0)).toBe(bill);
});
