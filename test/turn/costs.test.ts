// The cost of turns, from the tokens that the provider reported: each figure is compared with the
// requests that the model server received.
import { describe, expect, test } from 'vitest';
import { priceCall } from '../../src/core/prices.ts';
import { createLogger } from '../../src/logger.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { priceBookOf } from '../../src/config.ts';
import { readModelCalls } from '../rows/calls.ts';
import { countEvents, readEvents } from '../rows/events.ts';
import { refuseWrites } from '../rows/refuse-writes.ts';
import { readSessions } from '../rows/sessions.ts';
import { readTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { seedHistory } from './seed-history.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

const MODEL = 'anthropic/claude-sonnet-5-5';

const echo: Tool = {
  spec: { name: 'echo', description: 'Says it again.', input_schema: { type: 'object' } },
  summary: 'says it again',
  isIdempotent: true,
  run: async () => ({ content: 'again', isError: false }),
};

const settings = {
  agents: { defaults: { fallbacks: ['anthropic/claude-haiku-5-5'] } },
  models: { prices: [{ model: 'anthropic/claude-haiku-5-5', inputPerMTok: 7, outputPerMTok: 70 }] },
};

let rig: TurnRig;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  rig = await createTurnRig(database.url, { tools: [echo], settings });
  const made = rig;
  onEnd(() => made.close());
});

/** Sends a message, runs its turn, and returns the stored rows. */
async function turnOf(name: string, text: string, model?: string) {
  const worker = rig.worker();
  await rig.send(name, text, model === undefined ? {} : { model });
  await worker.run(name);
  worker.stop();
  return await storedOf(name);
}

async function storedOf(name: string) {
  const sessionId = await rig.sessionOf(name);
  const turn = (
    await readTurns(
      rig,
      { sessionId },
      'id',
      'status',
      'inputTokens',
      'outputTokens',
      'costMicros',
      'unpricedCalls',
      'isSimulated',
    )
  ).at(-1);
  const calls = await readModelCalls(
    rig,
    { turnId: turn?.['id'] },
    'model',
    'status',
    'inputTokens',
    'outputTokens',
    'costMicros',
    'priceVersion',
    'tier',
    'isEstimated',
    'isSimulated',
  );
  const [session] = await readSessions(rig, { id: sessionId }, 'costMicros', 'unpricedCalls', 'isSimulated');
  return { turn, calls, session };
}

/**
 * The cost of the answers that the server sent for a session by the price table, each rounded
 * separately.
 */
function receivedMicros(name: string): number[] {
  const book = priceBookOf(rig.config);
  return rig.scripted.requests
    .filter(({ headers, usage }) => headers['x-holdfast-session'] === `agent:main:${name}` && usage !== null)
    .map(({ usage, body }) => {
      const model = `anthropic/${(body as { model: string }).model}`;
      const { costMicros } = priceCall(
        book,
        { model, tier: 'standard', startedAt: new Date() },
        {
          inputTokens: usage?.input_tokens ?? 0,
          outputTokens: usage?.output_tokens ?? 0,
          cacheReadTokens: usage?.cache_read_input_tokens ?? 0,
          cacheWriteTokens: usage?.cache_creation_input_tokens ?? 0,
        },
      );
      return costMicros ?? Number.NaN;
    });
}

const sumOf = (costs: readonly number[]): number => costs.reduce((sum, cost) => sum + cost, 0);

describe('a turn', () => {
  test('costs the sum of the requests that the server received, to the micro-dollar', async () => {
    const { turn, calls, session } = await turnOf(
      'loop',
      '[[reply: a]] [[tool: echo {}]] [[tool: echo {}]] [[usage: input=3 output=1]] [[reply: done]]',
    );
    const received = receivedMicros('loop');
    expect(received).toHaveLength(3);
    expect(calls.map((call) => call['costMicros'])).toEqual(received);
    expect(turn).toMatchObject({ costMicros: sumOf(received), unpricedCalls: 0, isSimulated: true });
    expect(session).toEqual({ costMicros: sumOf(received), unpricedCalls: 0, isSimulated: true });
    const { version } = priceBookOf(rig.config);
    expect(calls[0]).toMatchObject({ model: MODEL, tier: 'standard', priceVersion: version, isEstimated: false });
  });

  test('adds to the cost of its session, and a reset subtracts nothing', async () => {
    await turnOf('kept', '[[reply: one]]');
    await turnOf('kept', '/new');
    const { session } = await turnOf('kept', '[[reply: two]]');
    const received = receivedMicros('kept');
    expect(session?.['costMicros']).toBe(sumOf(received));
    expect(received.length).toBeGreaterThan(1);
  });

  test('of a model without a price has no known cost, and its calls are counted', async () => {
    const { turn, calls, session } = await turnOf('unpriced', '[[reply: ok]]', 'anthropic/scripted-1');
    expect(calls).toMatchObject([{ costMicros: null, priceVersion: null }]);
    expect(turn).toMatchObject({ costMicros: null, unpricedCalls: 1 });
    expect(session).toMatchObject({ costMicros: null, unpricedCalls: 1 });
    const next = await turnOf('unpriced', '[[reply: ok]]');
    expect(next.session).toMatchObject({ costMicros: next.turn?.['costMicros'], unpricedCalls: 1 });
  });

  test('that falls back is charged for each model at its own prices', async () => {
    const { turn, calls } = await turnOf(
      'fallback',
      '[[error: 404 times=1]] [[usage: input=10 output=10 cache-read=0 cache-write=0]] [[reply: ok]]',
    );
    expect(calls).toMatchObject([
      { model: MODEL, status: 'failed', costMicros: 0, isEstimated: false },
      { model: 'anthropic/claude-haiku-5-5', status: 'ok', costMicros: 770 },
    ]);
    expect(turn?.['costMicros']).toBe(770);
  });
});

describe('an interrupted call', () => {
  test('is charged for what its stream reported, in addition to the call that follows it', async () => {
    const { turn, calls } = await turnOf(
      'cut',
      '[[cut: after=3]] [[usage: input=1000 output=50 cache-read=0 cache-write=0]] [[reply: whole]]',
    );
    expect(calls).toMatchObject([
      {
        status: 'failed',
        inputTokens: 1000,
        outputTokens: 1,
        costMicros: 2010,
        isEstimated: true,
        isSimulated: true,
      },
      { status: 'ok', inputTokens: 1000, outputTokens: 50, costMicros: 2500, isEstimated: false },
    ]);
    expect(turn).toMatchObject({ inputTokens: 2000, outputTokens: 51, costMicros: 4510 });
  });

  test('without reported usage has no known cost', async () => {
    const { calls } = await turnOf('silent', '[[cut: after=0]] [[reply: whole]]');
    expect(calls[0]).toMatchObject({ status: 'failed', costMicros: 0, isEstimated: true });
  });

  test('of a stopped turn is charged, too', async () => {
    const worker = rig.worker();
    await rig.send(
      'stopped',
      '[[stall: after=5 times=always]] [[usage: input=1000 output=50 cache-read=0 cache-write=0]] [[reply: partial]]',
    );
    const running = worker.run('stopped');
    const sessionId = await rig.sessionOf('stopped');
    await expect.poll(() => countEvents(rig, { sessionId, type: 'model.delta' })).toBeGreaterThan(0);
    worker.context.store.locks.stopAll({ kind: 'stopped', message: 'Stopped by the test.' });
    await running;
    worker.stop();
    expect((await storedOf('stopped')).turn).toMatchObject({ status: 'aborted', costMicros: 2010 });
  });
});

test('a call that a draining worker interrupts is charged before the turn is released', async () => {
  const first = rig.worker();
  await rig.send(
    'moved',
    '[[stall: after=5]] [[usage: input=1000 output=50 cache-read=0 cache-write=0]] [[reply: whole]]',
  );
  const running = first.run('moved');
  const sessionId = await rig.sessionOf('moved');
  const eventsOf = (type: string) => readEvents(rig, { sessionId, type }, 'data');
  await expect.poll(() => eventsOf('model.delta')).not.toEqual([]);
  first.context.store.locks.stopAll({ kind: 'shutdown', message: 'The worker leaves.' });
  expect(await running).toMatchObject({ kind: 'released' });
  first.stop();
  expect(await storedOf('moved')).toMatchObject({
    turn: { costMicros: 2010 },
    calls: [{ status: 'aborted', costMicros: 2010, isEstimated: true }],
  });
  const second = rig.worker();
  await second.run('moved');
  second.stop();
  expect((await storedOf('moved')).turn).toMatchObject({ status: 'completed', costMicros: 2010 + 2500 });
  expect((await eventsOf('model.ended')).map(({ data }) => (data as { costMicros: number }).costMicros)).toEqual([
    2010, 2500,
  ]);
});

test('a draining worker also releases its session when the database refuses to store the interrupted call', async () => {
  const first = rig.worker();
  await rig.send('refused', '[[stall: after=5]] [[reply: whole]]');
  const sessionId = await rig.sessionOf('refused');
  const when = `new.status = 'aborted' and new.stop_reason is null`;
  const accept = await refuseWrites(rig, { table: 'model_calls', when });
  const running = first.run('refused');
  await expect.poll(() => countEvents(rig, { sessionId, type: 'model.delta' })).toBeGreaterThan(0);
  first.context.store.locks.stopAll({ kind: 'shutdown', message: 'The worker leaves.' });
  expect(await running).toMatchObject({ kind: 'released' });
  first.stop();
  await accept();
  const second = rig.worker();
  expect(await second.run('refused')).toMatchObject({ kind: 'ended' });
  second.stop();
});

test('the calls of a compaction cost their turn and their session', async () => {
  await seedHistory(rig, 'long', { turns: 12, tokens: 60_000 });
  const { turn, calls, session } = await turnOf('long', '/compact');
  expect(calls.length).toBeGreaterThan(0);
  const received = receivedMicros('long');
  expect(sumOf(received)).toBeGreaterThan(0);
  expect(turn).toMatchObject({ costMicros: sumOf(received) });
  expect(session).toMatchObject({ costMicros: sumOf(received) });
});

describe('an impossible figure of the provider', () => {
  test.each([
    ['an answer', '[[usage: output=1000000000000]]'],
    ['a prompt', '[[usage: input=1000000000000]]'],
    ['a prompt in the cache', '[[usage: cache-read=9000000000000 cache-write=9000000000000]]'],
  ])('for %s is not charged: an estimate is, and it is logged', async (_part, usage) => {
    const name = `impossible-${usage.length}`;
    const lines: { msg: string }[] = [];
    const destination = { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[number]) };
    const logger = createLogger({ level: 'warn', format: 'json', name: 'test', destination });
    const worker = rig.worker({ logger });
    await rig.send(name, `${usage} [[reply: a short answer]]`);
    await worker.run(name);
    worker.stop();
    const { turn, calls } = await storedOf(name);
    expect(turn).toMatchObject({ status: 'completed', unpricedCalls: 0 });
    expect(calls).toMatchObject([{ isEstimated: true, status: 'ok' }]);
    expect(calls[0]?.['inputTokens']).toBeLessThan(100_000);
    expect(calls[0]?.['outputTokens']).toBeLessThan(1_000);
    expect(turn?.['costMicros']).toBeLessThan(1_000_000);
    expect(turn?.['costMicros']).toBeGreaterThan(0);
    expect(lines.map(({ msg }) => msg)).toEqual([
      'Provider reported tokens that the request cannot have used; an estimate is charged',
    ]);
  });
});
