// A turn whose model does not answer continues with the next of its agent's fallbacks: after its
// last committed step, without repeating a tool, and with requests that the other model accepts.
// The next turn begins with the first model.
import { beforeEach, describe, expect, test } from 'vitest';
import { joinText } from '../../src/core/content.ts';
import { eventsOfBody } from '../../src/model/stream/stream-event.ts';
import { type TransportCall, toWireRequest } from '../../src/model/transport.ts';
import { readTransport } from '../../src/plugins/read-registrations.ts';
import { unblockModels } from '../../src/kernel/processes/unblock-models.ts';
import { listBlocks } from '../../src/kernel/views/pauses.ts';
import { viewTurn } from '../../src/kernel/views/turns.ts';
import { findTurnIds } from '../../src/kernel/views/turn-filter.ts';
import { deriveRequest } from '../../src/kernel/turn/open/derive-request.ts';
import { pluginsWith } from '../plugins/plugins-with.ts';
import { readModelCalls } from '../rows/calls.ts';
import { readEvents } from '../rows/events.ts';
import { changeModelBlocks } from '../rows/pauses.ts';
import { expireLeases } from '../rows/sessions.ts';
import { ago } from '../rows/table.ts';
import { readTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { away, holdOf } from './gate/ask-check.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';
import { EVERYTHING } from '../../src/core/scope.ts';

const asked: TransportCall['request'][] = [];
const runs: string[] = [];
let spare: 'answers' | 'is away' | 'hangs' = 'answers';
/** The state of another model of the same provider. */
let sick: 'answers' | 'is away' | 'hangs' = 'answers';

const WINDOWS = { 'spare/first': { contextTokens: 60_000 }, 'spare/second': { contextTokens: 120_000 } };

/** The fallback: it answers that it is the spare. */
const transport = readTransport('/p.ts', {
  name: 'spare',
  provider: 'spare',
  async send({ request, onEvent, onSent }: TransportCall) {
    asked.push(request);
    onSent(JSON.stringify(toWireRequest(request)));
    const state = request.model === 'sick' ? sick : spare;
    if (state === 'is away') throw Object.assign(new Error('connect ECONNREFUSED'), { type: 'network' });
    if (state === 'hangs') await new Promise(() => undefined);
    const body = {
      id: 'm',
      model: request.model,
      content: [
        { type: 'thinking', thinking: 'spare thoughts', signature: 'spare-signature' },
        {
          type: 'text',
          text: `${request.model} answers ${joinText(request.messages.at(-1)?.content ?? []).slice(0, 20)}`,
        },
      ],
      stop_reason: 'end_turn',
    };
    for (const event of eventsOfBody(body)) if (onEvent(event)) return;
  },
});

const effect = {
  spec: { name: 'effect', description: 'counts', input_schema: { type: 'object' as const } },
  summary: 'counts',
  isIdempotent: false,
  run: () => {
    runs.push('run');
    return Promise.resolve({ content: 'done', isError: false });
  },
};

let rig: TurnRig;
let slowRig: TurnRig;
let databaseUrl: string;

shareAmongTests(async (onEnd) => {
  const databases = await Promise.all([withTestDatabase(), withTestDatabase()]);
  for (const database of databases) onEnd(() => database.drop());
  databaseUrl = databases[0]?.url ?? '';
  const { plugins } = pluginsWith([], { transports: [transport] });
  const rigWith = async (url: string | undefined, probeMs: { min: number; max: number }) =>
    await createTurnRig(url ?? '', {
      plugins,
      tools: [effect],
      settings: {
        plugins: ['/spare.ts'],
        agents: { defaults: { fallbacks: ['backup', 'spare/second'], models: { backup: 'spare/first' } } },
        models: { outage: { probeMs }, catalogue: WINDOWS },
      },
    });
  rig = await rigWith(databases[0]?.url, { min: 10, max: 50 });
  slowRig = await rigWith(databases[1]?.url, { min: 600_000, max: 600_000 });
  const made = [rig, slowRig];
  onEnd(async () => void (await Promise.all(made.map((one) => one.close()))));
});

beforeEach(() => {
  asked.length = 0;
  runs.length = 0;
  spare = 'answers';
  sick = 'answers';
});

async function turnOf(
  name: string,
): Promise<{ id: string; status: string; reply: string | null; error: { code: string } | null }> {
  const turn = (await readTurns(rig, { sessionId: await rig.sessionOf(name) }, 'id', 'status', 'reply', 'error')).at(
    -1,
  );
  return turn as Awaited<ReturnType<typeof turnOf>>;
}

const modelOf = (name: string) => (requestsOf(name)[0]?.body as { model?: string } | undefined)?.model;

const requestsOf = (name: string) =>
  rig.scripted.requests.filter(({ headers }) => headers['x-holdfast-session'] === `agent:main:${name}`);

describe('a model that does not answer', () => {
  test('is replaced by the next model after the last committed step, and no tool runs again (G11, G35)', async () => {
    const worker = rig.worker();
    await rig.send('overloaded', '[[thinking: hm]] [[tool: effect {}]] [[error: 529 times=always]]', {
      thinking: 'low',
    });
    expect(await worker.run('overloaded')).toMatchObject({ kind: 'ended' });
    const turn = await turnOf('overloaded');
    expect(turn).toMatchObject({ status: 'completed', reply: 'first answers' });
    expect(runs).toHaveLength(1);
    expect(asked.map(({ provider, model }) => `${provider}/${model}`)).toEqual(['spare/first']);
    // Thinking is signed by the model that produced it.
    expect(JSON.stringify(asked[0]?.messages)).not.toContain('"type":"thinking"');
    const calls = await readModelCalls(rig, { turnId: turn.id }, 'callNo', 'status', 'error');
    expect(calls.map(({ status }) => status)).toEqual(['ok', 'failed', 'failed', 'failed', 'ok']);
    expect(calls[3]).toMatchObject({ error: { code: 'model_overloaded', fallback: 'spare/first' } });
    const events = await readEvents(rig, { turnId: turn.id }, 'type', 'data');
    const at = events.findIndex(({ type }) => type === 'model.blocked');
    expect(events.slice(at - 1, at + 3)).toMatchObject([
      { type: 'model.ended', data: { call: 4, status: 'failed' } },
      { type: 'model.blocked', data: { code: 'model_away', provider: 'anthropic', fallback: 'spare/first' } },
      {
        type: 'model.fallback',
        data: {
          from: `anthropic/${modelOf('overloaded')}`,
          to: 'spare/first',
          reason: expect.stringMatching(/^model_away: ./),
        },
      },
      { type: 'model.started', data: { call: 5 } },
    ]);
    expect(events.filter(({ type }) => type === 'model.fallback')).toHaveLength(1);
    worker.stop();
  });

  test('is not named as the model of the turn: lists, their filter, the timeline and the costs name the one that answered, beside it', async () => {
    const worker = rig.worker();
    await rig.send('named', '[[tool: effect {}]] [[error: 529 times=always]]');
    await worker.run('named');
    const { id } = await turnOf('named');
    const db = rig.database.views;
    const asked = modelOf('named');
    const turn = await viewTurn(db, id);
    expect(turn).toMatchObject({
      provider: 'spare',
      model: 'spare/first',
      askedModel: asked,
      reply: 'first answers',
    });
    const calls = turn?.steps.flatMap((step) => step.calls) ?? [];
    expect(calls.map(({ provider, model, fallbackReason }) => [provider, model, fallbackReason])).toEqual([
      ...Array.from({ length: 4 }, () => ['anthropic', `anthropic/${asked}`, null]),
      ['spare', 'spare/first', expect.stringMatching(/^model_away: ./)],
    ]);
    const names = turn?.spans.filter(({ kind }) => kind === 'model.call').map(({ name }) => name);
    expect(names).toEqual([asked, asked, asked, asked, 'spare/first']);
    const found = await findTurnIds(db, { scope: EVERYTHING, model: 'spare/first' }, { limit: 10, after: null });
    expect(found.items).toContain(id);
    const [ended] = await readEvents(rig, { turnId: id, type: 'turn.ended' }, 'model');
    expect(ended).toEqual({ model: 'spare/first' });
    const derived = await deriveRequest(rig.database, { turnId: id, callNo: 1, defaultThinking: () => 'off' });
    expect(derived).toMatchObject({ matches: true, request: { model: asked } });
    worker.stop();
  });

  test('has requests that can be derived again and proven, before and after the step down', async () => {
    const worker = rig.worker();
    await rig.send('derived', '[[tool: effect {}]] [[error: 404 times=always]]');
    await worker.run('derived');
    const { id } = await turnOf('derived');
    for (const callNo of [1, 2, 3]) {
      const derived = await deriveRequest(rig.database, { turnId: id, callNo, defaultThinking: () => 'off' });
      expect(derived).toMatchObject({ matches: true });
      expect(derived?.request.model).toBe(callNo === 3 ? 'first' : modelOf('derived'));
    }
    worker.stop();
  });

  test('is called first again by the next turn, which does not send it the thinking of the other', async () => {
    const worker = rig.worker();
    await rig.send('again', '[[error: 404 times=always]]');
    await worker.run('again');
    expect(asked).toHaveLength(1);
    await rig.send('again', 'and now?');
    await worker.run('again');
    expect(asked).toHaveLength(1);
    const last = JSON.stringify(requestsOf('again').at(-1)?.body);
    expect(last).toContain('first answers');
    expect(last).not.toContain('spare thoughts');
    worker.stop();
  });

  test.each([402, 404])('is replaced when it refuses with %i, because another may answer', async (status) => {
    const worker = rig.worker();
    await rig.send(`refuses-${status}`, `[[error: ${status} times=always]]`);
    await worker.run(`refuses-${status}`);
    expect(await turnOf(`refuses-${status}`)).toMatchObject({ status: 'completed' });
    expect(requestsOf(`refuses-${status}`)).toHaveLength(1);
    worker.stop();
  });

  test('is not replaced by one whose window is too small for the request, and the reason says so', async () => {
    const worker = rig.worker();
    await rig.send('large', '[[usage: input=70000 output=9]] [[tool: effect {}]] [[error: 404 times=always]]');
    await worker.run('large');
    const turn = await turnOf('large');
    expect(turn).toMatchObject({ status: 'completed', reply: 'second answers' });
    expect(runs).toHaveLength(1);
    const [fallback] = await readEvents(rig, { turnId: turn.id, type: 'model.fallback' }, 'data');
    const reason = expect.stringMatching(
      /^model_not_found: .* Skipped: spare\/first, whose window of 60000 tokens is too small for a request of about 7\d{4}\.$/,
    );
    expect(fallback?.data).toMatchObject({ to: 'spare/second', reason });
    // It will never answer, so a model whose window is too small is better than none: the prompt
    // can be made smaller.
    await rig.send('larger', '[[usage: input=130000 output=9]] [[tool: effect {}]] [[error: 404 times=always]]');
    await worker.run('larger');
    expect(await turnOf('larger')).toMatchObject({ status: 'completed', reply: 'first answers' });
    worker.stop();
  });

  test.each([400, 401, 413])('is not replaced when it refuses the request with %i', async (status) => {
    const worker = rig.worker();
    await rig.send(`fails-${status}`, `[[error: ${status} times=always]]`);
    await worker.run(`fails-${status}`);
    expect(await turnOf(`fails-${status}`)).toMatchObject({ status: 'failed' });
    expect(asked).toEqual([]);
    worker.stop();
  });
});

test('a worker that takes over after the step down asks the fallback, not the first model again', async () => {
  const dying = rig.worker();
  spare = 'hangs';
  await rig.send('taken-over', '[[error: 404 times=always]]');
  void dying.run('taken-over');
  await expect.poll(() => asked.length, { interval: 5 }).toBe(1);
  dying.stop();
  await expireLeases(rig, { id: await rig.sessionOf('taken-over') });
  spare = 'answers';
  const next = rig.worker();
  expect(await next.run('taken-over')).toMatchObject({ kind: 'ended' });
  expect(await turnOf('taken-over')).toMatchObject({ status: 'completed' });
  expect(asked.map(({ model }) => model)).toEqual(['first', 'first']);
  expect(requestsOf('taken-over')).toHaveLength(1);
  const { id } = await turnOf('taken-over');
  const calls = (await viewTurn(rig.database.views, id))?.steps.flatMap((step) => step.calls);
  expect(calls?.map(({ fallbackReason }) => fallbackReason)).toEqual([
    null,
    expect.stringMatching(/^model_not_found: ./),
  ]);
  next.stop();
});

test('a worker that takes over without the provider of the fallback begins with the first model again', async () => {
  const dying = rig.worker();
  spare = 'hangs';
  await rig.send('removed', '[[error: 404]] [[reply: the first again]]');
  void dying.run('removed');
  await expect.poll(() => asked.length, { interval: 5 }).toBe(1);
  dying.stop();
  await expireLeases(rig, { id: await rig.sessionOf('removed') });
  const without = await createTurnRig(databaseUrl, { tools: [effect] });
  expect(await without.worker({ modelUrl: rig.scripted.url }).run('removed')).toMatchObject({ kind: 'ended' });
  expect(await turnOf('removed')).toMatchObject({ status: 'completed', reply: 'the first again' });
  const { id } = await turnOf('removed');
  const calls = (await viewTurn(rig.database.views, id))?.steps.flatMap((step) => step.calls);
  expect(calls?.at(-1)).toMatchObject({ provider: 'anthropic', fallbackReason: null });
  // One that was opened with that provider, and has no other left, ends as with a model that is not
  // there.
  const other = rig.worker();
  await rig.send('removed-first', 'anything', { model: 'spare/first' });
  void other.run('removed-first');
  await expect.poll(() => asked.length, { interval: 5 }).toBe(2);
  other.stop();
  await expireLeases(rig, { id: await rig.sessionOf('removed-first') });
  await without.worker({ modelUrl: rig.scripted.url }).run('removed-first');
  expect(await turnOf('removed-first')).toMatchObject({ status: 'failed', error: { code: 'model_not_found' } });
  await without.close();
});

test('when no model of the chain answers, the turn waits, and begins with the first again (G33)', async () => {
  const worker = rig.worker();
  spare = 'is away';
  await rig.send('all-away', '[[error: 529 times=3]] [[reply: the first is back]]');
  expect(await worker.run('all-away')).toMatchObject({ kind: 'parked' });
  expect(asked.map(({ model }) => model)).toEqual(['first', 'second']);
  await expect.poll(async () => (await worker.run('all-away')).kind, { interval: 5 }).toBe('ended');
  expect(await turnOf('all-away')).toMatchObject({ status: 'completed', reply: 'the first is back' });
  expect(asked).toHaveLength(2);
  worker.stop();
});

test('when the first model refuses while the fallback is unavailable, the turn waits for the fallback (G33)', async () => {
  const worker = rig.worker();
  const check = worker.context.models.states.away;
  const early = await holdOf(check, { provider: 'spare', model: 'first' }, 'early');
  for (const model of ['first', 'second'])
    for (const session of ['one', 'other']) {
      const hold = await holdOf(check, { provider: 'spare', model }, session);
      await hold?.failed?.(away(600_000));
    }
  await rig.send('refused-meanwhile', '[[error: 404 times=always]]');
  expect(await worker.run('refused-meanwhile')).toMatchObject({ kind: 'parked' });
  const [waiting] = await readTurns(rig, { sessionId: await rig.sessionOf('refused-meanwhile') }, 'parkCode', 'parkBy');
  expect(waiting).toEqual({ parkCode: 'model_away', parkBy: 'spare' });
  early?.answered?.();
  await expect.poll(async () => (await worker.run('refused-meanwhile')).kind, { interval: 5 }).toBe('ended');
  expect(await turnOf('refused-meanwhile')).toMatchObject({ status: 'completed' });
  // The model that refused is not called again (G16).
  expect(requestsOf('refused-meanwhile')).toHaveLength(1);
  expect(asked.map(({ model }) => model)).toEqual(['first']);
  worker.stop();
});

describe('a model that is away for everybody', () => {
  const blocks = async () => (await listBlocks(slowRig.database.views)).map(({ model }) => model);

  /** Runs a message in a worker; the models that it asked. */
  async function run(worker: ReturnType<TurnRig['worker']>, name: string): Promise<string[]> {
    const before = asked.length;
    await slowRig.send(name, 'hello', { model: 'spare/sick' });
    expect(await worker.run(name)).toMatchObject({ kind: 'ended' });
    return asked.slice(before).map(({ model }) => model);
  }

  /**
   * Another process, which has heard of the outage from the database alone, when the next probe is
   * due.
   */
  const probeIsDue = async () => await changeModelBlocks(slowRig, {}, { probeAt: ago('1 second') });

  test('is asked by no message of any worker but one probe at a time, which ends that for all; another model of its provider does not', async () => {
    const [first, second] = [slowRig.worker(), slowRig.worker()];
    sick = 'is away';
    expect(await run(first, 'one')).toEqual(['sick', 'sick', 'sick', 'first']);
    expect(await run(first, 'two')).toEqual(['sick', 'first']);
    await expect.poll(blocks, { interval: 5 }).toEqual(['spare/sick']);
    // The fallback has answered meanwhile.
    expect(await run(first, 'three')).toEqual(['first']);
    expect(await run(second, 'four')).toEqual(['first']);
    const [fallback, ...others] = await readEvents(
      slowRig,
      {
        sessionId: await slowRig.sessionOf('four'),
        type: 'model.fallback',
      },
      'data',
    );
    const reason = 'model_away: The model spare/sick does not answer. The transport spare failed: connect ECONNREFUSED';
    expect([fallback?.data, others]).toEqual([{ from: 'spare/sick', to: 'spare/first', reason }, []]);

    sick = 'hangs';
    await probeIsDue();
    const probing = slowRig.worker();
    await slowRig.send('probe', 'hello', { model: 'spare/sick' });
    const probe = probing.run('probe');
    await expect.poll(() => asked.at(-1)?.model, { interval: 5 }).toBe('sick');
    expect(await run(second, 'five')).toEqual(['first']);
    expect(await run(first, 'six')).toEqual(['first']);
    probing.stop();
    void probe;

    sick = 'answers';
    await probeIsDue();
    expect(await run(second, 'seven')).toEqual(['sick']);
    await expect.poll(blocks, { interval: 5 }).toEqual([]);
    expect(await run(first, 'eight')).toEqual(['sick']);
    for (const worker of [first, second]) worker.stop();
  });

  test('is asked again by all workers when a person lifts its block, and is blocked again by a failure of two sessions', async () => {
    const [first, second] = [slowRig.worker(), slowRig.worker()];
    sick = 'is away';
    for (const name of ['lifted-one', 'lifted-two']) await run(first, name);
    await expect.poll(blocks, { interval: 5 }).toEqual(['spare/sick']);
    expect(await run(second, 'lifted-three')).toEqual(['first']);
    const { lifted } = await unblockModels(slowRig.database, 'spare/sick', null);
    expect(lifted).toMatchObject([
      { model: 'spare/sick', kind: 'away', text: expect.stringContaining('ECONNREFUSED') },
    ]);
    expect(await run(second, 'lifted-four')).toEqual(['sick', 'sick', 'sick', 'first']);
    expect(await run(second, 'lifted-five')).toEqual(['sick', 'first']);
    await expect.poll(blocks, { interval: 5 }).toEqual(['spare/sick']);
    expect(await run(first, 'lifted-six')).toEqual(['first']);

    // With a request that is too large for the others, a turn waits for it.
    await slowRig.send('too-large', '[[usage: input=130000 output=9]] [[reply: ok]]');
    await first.run('too-large');
    await slowRig.send('too-large', 'hello', { model: 'spare/sick' });
    expect(await first.run('too-large')).toMatchObject({ kind: 'parked' });
    const parked = (await readTurns(slowRig, { sessionId: await slowRig.sessionOf('too-large') }, 'parkText')).at(-1);
    expect(parked?.parkText).toMatch(
      /^The model spare\/sick does not answer\. .*ECONNREFUSED Skipped: spare\/first, whose .* 60000 .*; spare\/second, whose .* 120000 .*\.$/,
    );
    for (const worker of [first, second]) worker.stop();
  });
});
