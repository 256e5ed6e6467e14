// Goal: a provider with several keys answers as long as one of them is let through, each session
// keeps its key while it is healthy, and reasoning is read by keys of its scope alone. Method:
// turns against the scripted model, whose keys hold errors of their own.
import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { orderKeys } from '../../src/kernel/rules/provider-keys.ts';
import { deriveRequest } from '../../src/kernel/turn/open/derive-request.ts';
import { startScriptedModel, type ScriptedModel } from '../../scripted-model/scripted-model.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { readModelCalls } from '../rows/calls.ts';
import { readEvents } from '../rows/events.ts';
import { readTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { holdOf } from './gate/ask-check.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

let scripted: ScriptedModel;
let rig: TurnRig;
let databaseUrl: string;

const look: Tool = {
  spec: { name: 'look', description: 'Looks.', input_schema: { type: 'object' } },
  summary: 'looks',
  isIdempotent: true,
  run: async () => ({ content: 'seen', isError: false }),
};

/** The scripted model reads as the organisation what is before the first dot of a key. */
const keys = (...all: string[]) => all.map((key, at) => ({ name: 'abc'[at], key, scope: key.split('.', 1)[0] }));

function settingsOf(refused: string) {
  const baseUrl = `${scripted.url}/v1`;
  const chat = (...all: string[]) => ({ api: 'openai-compatible', baseUrl, keys: keys(...all) });
  const providers = {
    anthropic: { keys: keys('one.1', 'two.2') },
    openai: { baseUrl, keys: keys('red.1', 'red.2') },
    mixed: { api: 'openai', baseUrl, keys: keys('red.1', 'blue.2') },
    limited: chat('team.11[[error: 429 retry-after-ms=1000]]', 'team.12'),
    unpaid: chat('team.21[[error: 429 code=insufficient_quota times=always]]', 'team.22'),
    refused: chat(refused, 'team.32'),
    drained: chat(
      'team.51[[error: 429 retry-after=600 times=always]]',
      'team.52[[error: 429 code=insufficient_quota times=always]]',
    ),
    steady: chat('team.61', 'team.62'),
    summing: chat('team.71[[error: 429 retry-after=600]]', 'team.72[[error: 401]]', 'team.73'),
    spare: { api: 'openai-compatible', baseUrl },
    closed: chat('team.41[[error: 401 times=always]]', 'team.42[[error: 403 times=always]]'),
  };
  const compaction = { model: 'summing/m', keepRecentTokens: 10 };
  return { models: { providers }, agents: { defaults: { fallbacks: ['spare/m'], compaction } } };
}

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  databaseUrl = database.url;
  scripted = await startScriptedModel({ host: '127.0.0.1', port: 0 });
  onEnd(() => scripted.close());
  rig = await createTurnRig(database.url, {
    tools: [look],
    settings: settingsOf('team.31[[error: 401 times=always]]'),
  });
  const made = rig;
  onEnd(() => made.close());
});

/** A session whose first key has this name. */
async function sessionWith(key: string, names: readonly string[], of: TurnRig = rig): Promise<string> {
  for (let at = 0; ; at += 1) {
    const name = `${names.join('')}-${key}-${at}-${crypto.randomUUID()}`;
    const all = names.map((each) => ({ name: each }));
    const [first] = orderKeys(await of.sessionOf(name), all, (text) => hash('sha256', text, 'hex'));
    if (first?.name === key) return name;
  }
}

/** Plays a turn; returns its end, and of each of its calls the key and the status. */
async function play(worker: ReturnType<TurnRig['worker']>, session: string, text: string, model: string) {
  await rig.send(session, text, { model, thinking: 'medium' });
  await worker.run(session);
  const turn = (await readTurns(rig, { sessionId: await rig.sessionOf(session) })).at(-1)!;
  const calls = await readModelCalls(rig, { turnId: turn.id });
  const used = calls.map(({ status, notes }) => `${(notes as { key: string }).key} ${status}`);
  return { ...turn, calls: used };
}

describe('a key', () => {
  test('that is rate limited is left for the next one, costs no retry, and is used again when its time is over (G35)', async () => {
    const worker = rig.worker();
    const session = await sessionWith('a', ['a', 'b']);
    const first = await play(worker, session, '[[reply: one]]', 'limited/m');
    expect(first).toMatchObject({ status: 'completed', reply: 'one', retries: 0, calls: ['a failed', 'b ok'] });
    const events = await readEvents(rig, { sessionId: await rig.sessionOf(session) }, 'type');
    expect(events.filter(({ type }) => type === 'model.blocked')).toHaveLength(1);
    // The key is held back for one model alone.
    expect((await play(worker, session, '[[reply: other]]', 'limited/other')).calls).toEqual(['a ok']);
    const laterKey = async () => (await play(worker, session, '[[reply: more]]', 'limited/m')).calls;
    await expect.poll(laterKey).toEqual(['a ok']);
    worker.stop();
  });

  test('that is rate limited is not used again because a call that was in flight is answered', async () => {
    const worker = rig.worker();
    const [slow, limited] = [await sessionWith('a', ['a', 'b']), await sessionWith('a', ['a', 'b'])];
    const before = scripted.requestCount;
    const answered = play(worker, slow, '[[delay: 400]] [[reply: late]]', 'steady/m');
    await expect.poll(() => scripted.requestCount).toBe(before + 1);
    const text = '[[error: 429 retry-after=600]] [[reply: one]]';
    expect((await play(worker, limited, text, 'steady/m')).calls).toEqual(['a failed', 'b ok']);
    expect((await answered).calls).toEqual(['a ok']);
    expect((await play(worker, slow, '[[reply: two]]', 'steady/m')).calls).toEqual(['b ok']);
    worker.stop();
  });

  test('without credit is not used for any model by any worker', async () => {
    const [first, second] = [rig.worker(), rig.worker()];
    const session = await sessionWith('a', ['a', 'b']);
    expect((await play(first, session, '[[reply: one]]', 'unpaid/m')).calls).toEqual(['a failed', 'b ok']);
    expect((await play(second, session, '[[reply: two]]', 'unpaid/other')).calls).toEqual(['b ok']);
    [first, second].forEach((worker) => worker.stop());
  });

  test('that is refused is not used again until it is changed', async () => {
    const worker = rig.worker();
    const session = await sessionWith('a', ['a', 'b']);
    expect((await play(worker, session, '[[reply: one]]', 'refused/m')).calls).toEqual(['a failed', 'b ok']);
    expect((await play(worker, session, '[[reply: two]]', 'refused/m')).calls).toEqual(['b ok']);
    worker.stop();
    const restarted = await createTurnRig(databaseUrl, { tools: [look], settings: settingsOf('team.33') });
    const changed = restarted.worker();
    expect((await play(changed, session, '[[reply: three]]', 'refused/m')).calls).toEqual(['a ok']);
    await restarted.close();
  });

  test('is followed by the next model only when all of them are held back, in the turn that meets it and in later ones (G35)', async () => {
    const [first, second] = [rig.worker(), rig.worker()];
    const session = await sessionWith('a', ['a', 'b']);
    const met = await play(first, session, '[[tool: look {}]] [[reply: one]]', 'drained/m');
    expect(met).toMatchObject({ status: 'completed', reply: 'one', retries: 0 });
    expect(met.calls).toEqual(['a failed', 'b failed', 'default ok', 'default ok']);
    expect((await play(second, session, '[[reply: two]]', 'drained/m')).calls).toEqual(['default ok']);
    [first, second].forEach((worker) => worker.stop());
  });

  test('that fails at the summary of a compaction is left for the next one at once (G35)', async () => {
    const worker = rig.worker();
    const session = await sessionWith('a', ['a', 'b', 'c']);
    for (const text of ['[[reply: one]]', '[[reply: two]]'])
      await play(worker, session, text.padEnd(4_000, ' x'), 'openai/gpt-5');
    await rig.send(session, '/compact', {}, 'compaction');
    await worker.run(session);
    const [turn] = (await readTurns(rig, { sessionId: await rig.sessionOf(session) })).slice(-1);
    expect(turn).toMatchObject({ status: 'completed', reply: expect.stringContaining('Compacted') });
    worker.stop();
  });

  test('is left to others by a session whose model is held back longer', async () => {
    const worker = rig.worker();
    const { states } = worker.context.models;
    const named = (model: string) => ({ provider: 'limited', model, key: 'b' });
    const [all, one] = states.known.findAll(named('one'));
    states.learn([
      { ...all!, leftMs: 600_000, probeInMs: 0 },
      { ...one!, leftMs: 600_000, probeInMs: 600_000 },
    ]);
    expect(await holdOf(states.away, named('one'), 'first')).toBeNull();
    expect(await holdOf(states.away, named('two'), 'second')).not.toBeNull();
    worker.stop();
  });

  test('is asked for no call when all of them are refused; the turn fails and says what to do', async () => {
    const worker = rig.worker();
    const session = await sessionWith('a', ['a', 'b']);
    const first = await play(worker, session, '[[reply: one]]', 'closed/m');
    expect(first).toMatchObject({ status: 'failed', error: { code: 'model_forbidden' } });
    expect(first.calls).toEqual(['a failed', 'b failed']);
    const asked = scripted.requestCount;
    const second = await play(worker, session, '[[reply: two]]', 'closed/m');
    expect(second).toMatchObject({ status: 'failed', error: { code: 'model_unauthorized' }, calls: [] });
    expect(second.error).toMatchObject({ message: expect.stringContaining('models.providers.closed.keys') });
    expect(scripted.requestCount).toBe(asked);
    worker.stop();
  });
});

describe('reasoning', () => {
  const thinks = '[[thinking: deep]] [[tool: look {}]]';
  const bodies = (from: number) =>
    scripted.requests.slice(from - scripted.requestCount).map(({ body }) => JSON.stringify(body));

  test.each([
    ['its scope is given back', 'openai', true],
    ['another scope is left out', 'mixed', false],
  ])('for a key of %s, and later turns show what that key has thought (G34)', async (_what, provider, isShown) => {
    const worker = rig.worker();
    const session = await sessionWith('a', ['a', 'b']);
    const before = scripted.requestCount;
    const text = `${thinks} [[error: 429 retry-after=600]] [[thinking: done]] [[reply: ready]]`;
    const turn = await play(worker, session, text, `${provider}/gpt-5`);
    expect(turn).toMatchObject({ status: 'completed', calls: ['a ok', 'a failed', 'b ok'] });
    await play(worker, session, '[[reply: more]]', `${provider}/gpt-5`);
    const thoughts = bodies(before).map((body) => body.split('"encrypted_content":"').length - 1);
    expect(thoughts).toEqual(isShown ? [0, 1, 1, 2] : [0, 1, 0, 1]);
    worker.stop();
  });

  test("of Anthropic's models is left out for a key of another scope, and each request can be derived again (G34)", async () => {
    const worker = rig.worker({ modelUrl: scripted.url });
    const session = await sessionWith('a', ['a', 'b']);
    const before = scripted.requestCount;
    const text = `${thinks} [[error: 429 retry-after=600]] [[thinking: done]] [[reply: ready]]`;
    const turn = await play(worker, session, text, 'anthropic/claude-opus-5');
    expect(turn.calls).toEqual(['a ok', 'a failed', 'b ok']);
    const [, own, foreign] = bodies(before);
    expect(own).toContain('"type":"thinking"');
    expect(foreign).not.toContain('"type":"thinking"');
    const derived = [1, 2, 3].map(
      async (callNo) => await deriveRequest(rig.database, { turnId: turn.id, callNo, defaultThinking: () => 'off' }),
    );
    expect((await Promise.all(derived)).map((each) => each?.matches)).toEqual([true, true, true]);
    worker.stop();
  });
});
