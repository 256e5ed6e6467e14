// The cost of turns, from the tokens that the provider reported: each figure is compared with the requests that the model server received.
import { describe, expect, test } from 'vitest';
import { priceCall } from '../../src/core/prices/price-table.ts';
import { createLogger } from '../../src/logger.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { priceBookOf } from '../../src/config.ts';
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
  const [turn] = await rig.rows(
    `select id, status, input_tokens::int, output_tokens::int, cost_micros::int, unpriced_calls, is_simulated
     from holdfast.turns where session_id = $1 order by id desc limit 1`,
    [sessionId],
  );
  const calls = await rig.rows(
    `select model, status, input_tokens::int, output_tokens::int, cost_micros::int, price_version, tier, is_estimated, is_simulated
     from holdfast.model_calls where turn_id = $1 order by call_no`,
    [turn?.['id']],
  );
  const [session] = await rig.rows(
    'select cost_micros::int, unpriced_calls, is_simulated from holdfast.sessions where id = $1',
    [sessionId],
  );
  return { turn, calls, session };
}

/** The cost of the answers that the server sent for a session by the price table, each rounded separately. */
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
    expect(calls.map((call) => call['cost_micros'])).toEqual(received);
    expect(turn).toMatchObject({ cost_micros: sumOf(received), unpriced_calls: 0, is_simulated: true });
    expect(session).toEqual({ cost_micros: sumOf(received), unpriced_calls: 0, is_simulated: true });
    const { version } = priceBookOf(rig.config);
    expect(calls[0]).toMatchObject({ model: MODEL, tier: 'standard', price_version: version, is_estimated: false });
  });

  test('adds to the cost of its session, and a reset subtracts nothing', async () => {
    await turnOf('kept', '[[reply: one]]');
    await turnOf('kept', '/new');
    const { session } = await turnOf('kept', '[[reply: two]]');
    const received = receivedMicros('kept');
    expect(session?.['cost_micros']).toBe(sumOf(received));
    expect(received.length).toBeGreaterThan(1);
  });

  test('of a model without a price has no known cost, and its calls are counted', async () => {
    const { turn, calls, session } = await turnOf('unpriced', '[[reply: ok]]', 'anthropic/scripted-1');
    expect(calls).toMatchObject([{ cost_micros: null, price_version: null }]);
    expect(turn).toMatchObject({ cost_micros: null, unpriced_calls: 1 });
    expect(session).toMatchObject({ cost_micros: null, unpriced_calls: 1 });
    const next = await turnOf('unpriced', '[[reply: ok]]');
    expect(next.session).toMatchObject({ cost_micros: next.turn?.['cost_micros'], unpriced_calls: 1 });
  });

  test('that falls back is charged for each model at its own prices', async () => {
    const { turn, calls } = await turnOf(
      'fallback',
      '[[error: 404 times=1]] [[usage: input=10 output=10 cache-read=0 cache-write=0]] [[reply: ok]]',
    );
    expect(calls).toMatchObject([
      { model: MODEL, status: 'failed', cost_micros: 0, is_estimated: false },
      { model: 'anthropic/claude-haiku-5-5', status: 'ok', cost_micros: 770 },
    ]);
    expect(turn?.['cost_micros']).toBe(770);
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
        input_tokens: 1000,
        output_tokens: 1,
        cost_micros: 2010,
        is_estimated: true,
        is_simulated: true,
      },
      { status: 'ok', input_tokens: 1000, output_tokens: 50, cost_micros: 2500, is_estimated: false },
    ]);
    expect(turn).toMatchObject({ input_tokens: 2000, output_tokens: 51, cost_micros: 4510 });
  });

  test('without reported usage has no known cost', async () => {
    const { calls } = await turnOf('silent', '[[cut: after=0]] [[reply: whole]]');
    expect(calls[0]).toMatchObject({ status: 'failed', cost_micros: 0, is_estimated: true });
  });

  test('of a stopped turn is charged, too', async () => {
    const worker = rig.worker();
    await rig.send(
      'stopped',
      '[[stall: after=5 times=always]] [[usage: input=1000 output=50 cache-read=0 cache-write=0]] [[reply: partial]]',
    );
    const running = worker.run('stopped');
    const shown = `select from holdfast.events where session_id = $1 and type = 'model.delta'`;
    await expect.poll(async () => await rig.rows(shown, [await rig.sessionOf('stopped')])).not.toEqual([]);
    worker.context.locks.stopAll({ kind: 'stopped', message: 'Stopped by the test.' });
    await running;
    worker.stop();
    expect((await storedOf('stopped')).turn).toMatchObject({ status: 'aborted', cost_micros: 2010 });
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
  const eventsOf = (type: string) =>
    rig.rows('select data from holdfast.events where session_id = $1 and type = $2 order by id', [sessionId, type]);
  await expect.poll(() => eventsOf('model.delta')).not.toEqual([]);
  first.context.locks.stopAll({ kind: 'shutdown', message: 'The worker leaves.' });
  expect(await running).toMatchObject({ kind: 'released' });
  first.stop();
  expect(await storedOf('moved')).toMatchObject({
    turn: { cost_micros: 2010 },
    calls: [{ status: 'aborted', cost_micros: 2010, is_estimated: true }],
  });
  const second = rig.worker();
  await second.run('moved');
  second.stop();
  expect((await storedOf('moved')).turn).toMatchObject({ status: 'completed', cost_micros: 2010 + 2500 });
  expect((await eventsOf('model.ended')).map(({ data }) => (data as { costMicros: number }).costMicros)).toEqual([
    2010, 2500,
  ]);
});

test('a draining worker also releases its session when the database refuses to store the interrupted call', async () => {
  const first = rig.worker();
  await rig.send('refused', '[[stall: after=5]] [[reply: whole]]');
  const sessionId = await rig.sessionOf('refused');
  await rig.rows(`create function holdfast.refuse_call() returns trigger language plpgsql as $$
begin raise exception 'not here' using errcode = '22003'; end $$`);
  await rig.rows(`create trigger refuse_call before insert on holdfast.model_calls for each row
when (new.status = 'aborted' and new.stop_reason is null) execute function holdfast.refuse_call()`);
  const running = first.run('refused');
  const deltas = `select 1 from holdfast.events where session_id = $1 and type = 'model.delta'`;
  await expect.poll(() => rig.rows(deltas, [sessionId])).not.toEqual([]);
  first.context.locks.stopAll({ kind: 'shutdown', message: 'The worker leaves.' });
  expect(await running).toMatchObject({ kind: 'released' });
  first.stop();
  await rig.rows('drop function holdfast.refuse_call() cascade');
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
  expect(turn).toMatchObject({ cost_micros: sumOf(received) });
  expect(session).toMatchObject({ cost_micros: sumOf(received) });
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
    expect(turn).toMatchObject({ status: 'completed', unpriced_calls: 0 });
    expect(calls).toMatchObject([{ is_estimated: true, status: 'ok' }]);
    expect(calls[0]?.['input_tokens']).toBeLessThan(100_000);
    expect(calls[0]?.['output_tokens']).toBeLessThan(1_000);
    expect(turn?.['cost_micros']).toBeLessThan(1_000_000);
    expect(turn?.['cost_micros']).toBeGreaterThan(0);
    expect(lines.map(({ msg }) => msg)).toEqual([
      'Provider reported tokens that the request cannot have used; an estimate is charged',
    ]);
  });
});
