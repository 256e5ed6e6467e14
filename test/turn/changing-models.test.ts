// Goal: a conversation whose model changes from provider to provider is refused by none of them and
// loses no text. Method: all ordered pairs of four APIs, which take turns in conversations of
// twelve turns with thinking, tools and images, against servers that check roles, pairs, ids,
// signatures and sealed reasoning; in the middle, a turn steps down to other providers between two
// of its calls. A turn that steps down twice is left by its worker right before and right after
// each of its writes and model calls, and another worker takes over.
import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { startScriptedModel, type ScriptedModel } from '../../scripted-model/scripted-model.ts';
import { deriveRequest } from '../../src/kernel/turn/open/derive-request.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { readModelCalls, readToolCalls } from '../rows/calls.ts';
import { readEntries } from '../rows/entries.ts';
import { readEvents } from '../rows/events.ts';
import { expireLeases } from '../rows/sessions.ts';
import { readTurns } from '../rows/turns.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

const TURNS = 12;
const MODELS = ['anthropic/claude-sonnet-5-5', 'openai/gpt-5', 'google/gemini-3-pro', 'local/qwen'];
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** The keys of the effects that have happened. */
const effects: string[] = [];

let scripted: ScriptedModel;
let rig: TurnRig;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  scripted = await startScriptedModel({ host: '127.0.0.1', port: 0 });
  onEnd(() => scripted.close());
  const look: Tool = {
    spec: {
      name: 'look',
      description: 'Looks.',
      input_schema: { type: 'object', properties: { n: { type: 'number' } } },
    },
    summary: 'looks',
    isIdempotent: true,
    run: async (input) => ({
      content: [
        { type: 'text', text: `seen ${JSON.stringify(input)}` },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
      ],
      isError: false,
    }),
  };
  const effect: Tool = {
    spec: { name: 'effect', description: 'Has an effect.', input_schema: { type: 'object' } },
    summary: 'has an effect',
    isIdempotent: false,
    run: async (input) => {
      effects.push((input as { key: string }).key);
      return { content: 'done', isError: false };
    },
  };
  const providers = {
    openai: { baseUrl: `${scripted.url}/v1`, apiKey: 'key-of-openai' },
    google: { baseUrl: `${scripted.url}/v1beta`, apiKey: 'key-of-google' },
    local: { api: 'openai-compatible', baseUrl: `${scripted.url}/v1` },
  };
  const settings = { models: { providers }, agents: { defaults: { fallbacks: MODELS } } };
  rig = await createTurnRig(database.url, { tools: [look, effect], settings });
  const made = rig;
  onEnd(() => made.close());
});

const pairs = MODELS.flatMap((first) =>
  MODELS.filter((one) => one !== first).map((second) => [first, second] as const),
);

test.each(pairs)('%s and %s take turns (G34)', async (first, second) => {
  const session = `${first} ${second}`.replaceAll(/[^a-z0-9]/g, '-');
  const worker = rig.worker({ modelUrl: scripted.url });
  const before = scripted.requestCount;
  for (let turn = 1; turn <= TURNS; turn += 1) {
    const stepsDown = turn === TURNS / 2 ? ' [[error: 404]]' : '';
    const calls = '[[tool: look {"n": 1}]] & [[tool: look {"n": 2}]]';
    const text = `Question ${turn} [[thinking: thought ${turn}]] [[reply: looking ${turn}]] ${calls}${stepsDown} [[thinking: more ${turn}]] [[reply: answer ${turn}]]`;
    await rig.send(session, text, { model: turn % 2 === 1 ? first : second, thinking: 'medium' });
    await worker.run(session);
  }
  worker.stop();
  const turns = await readTurns(rig, { sessionId: await rig.sessionOf(session) });
  expect(turns.map(({ status, reply, error }) => error ?? [status, reply])).toEqual(
    Array.from({ length: TURNS }, (_, at) => ['completed', expect.stringContaining(`answer ${at + 1}`)]),
  );
  const requests = scripted.requests.slice(before - scripted.requestCount);
  // Each model that is asked in the middle fails once, and nothing else does.
  const refused = requests.map(({ status }) => status).filter((status) => status !== 200);
  expect(new Set(refused)).toEqual(new Set([404]));
  expect(requests).toHaveLength(2 * TURNS + refused.length);
  const sent = JSON.stringify(requests.map(({ body }) => body));
  if (session.includes('openai')) expect(sent).toMatch(/"type":"reasoning","id":"rs_[^"]+","encrypted_content":"[^"]/);
  if (session.includes('google')) expect(sent).toMatch(/"thoughtSignature":"[^"]/);
  const last = JSON.stringify(requests.at(-1)?.body);
  for (let turn = 1; turn < TURNS; turn += 1) {
    for (const said of [`Question ${turn} `, `looking ${turn}`, `answer ${turn}`]) expect(last).toContain(said);
  }
});

/**
 * What a worker does right before or right after it leaves: the n-th of its writes and model calls.
 */
interface Strike {
  at: number;
  side: 'before' | 'after';
}

/**
 * A worker that stops for ever at the given place; `count` is how many places it has passed, `gone`
 * resolves when it has left.
 */
function strikable(strike: Strike | null) {
  const worker = rig.worker({ modelUrl: scripted.url });
  const { context } = worker;
  context.random = () => 0;
  const gone = Promise.withResolvers<'gone'>();
  let count = 0;
  const leave = async (): Promise<never> => {
    gone.resolve('gone');
    return await new Promise<never>(() => undefined);
  };
  const struck =
    <Args extends unknown[], Answer>(act: (...args: Args) => Promise<Answer>) =>
    async (...args: Args): Promise<Answer> => {
      count += 1;
      const isHit = strike?.at === count;
      if (isHit && strike.side === 'before') return await leave();
      const answer = await act(...args);
      return isHit ? await leave() : answer;
    };
  const {
    store,
    models: { client: model },
  } = context;
  context.store = {
    ...store,
    openTurn: struck(store.openTurn),
    commitStep: struck(store.commitStep),
    finishTurn: struck(store.finishTurn),
  };
  context.models.client = { ...model, ask: struck(async (...args) => await model.ask(...args)) };
  return { ...worker, gone: gone.promise, passed: () => count };
}

const DOWN_TWICE = [
  'Charge both.',
  '[[tool: effect {"key": "one"}]]',
  '[[error: 404 model=claude-sonnet-5-5 times=always]] [[error: 500 model=gpt-5]] [[tool: effect {"key": "two"}]]',
  '[[error: 404 model=gpt-5 times=always]] [[error: 500 model=gemini-3-pro]] [[reply: Both are charged.]]',
].join(' ');
const CHAIN = ['anthropic/claude-sonnet-5-5', 'openai/gpt-5', 'google/gemini-3-pro'];

interface FallbackEvent {
  data: { from: string; to: string };
}

/**
 * Plays the turn with one crash at most; resolves with what is wrong, and how many places its first
 * worker has passed.
 */
async function playDown(session: string, strike: Strike | null) {
  effects.length = 0;
  const before = scripted.requestCount;
  const first = strikable(strike);
  await rig.send(session, DOWN_TWICE, { model: 'anthropic/claude-sonnet-5-5' });
  await Promise.race([first.run(session), first.gone]);
  first.stop();
  const sessionId = await rig.sessionOf(session);
  await expireLeases(rig, { id: sessionId });
  const next = strikable(null);
  await next.run(session);
  next.stop();
  const [turn] = await readTurns(rig, { sessionId });
  const entries = await readEntries(rig, { sessionId }, 'kind');
  const calls = await readModelCalls(rig, { turnId: turn?.id });
  const steps = (await readEvents(rig, { turnId: turn?.id, type: 'model.fallback' }, 'data')) as FallbackEvent[];
  const received = scripted.requests.slice(before - scripted.requestCount);
  const numberOf = ({ headers }: (typeof received)[number]) => Number(headers['x-holdfast-call']);
  const hashes = new Map(received.map((one) => [numberOf(one), hash('sha256', JSON.stringify(one.body), 'hex')]));
  const tools = await readToolCalls(rig, { turnId: turn?.id }, 'status', 'runs');
  const told = { strike, status: turn?.status, reply: turn?.reply, tools: tools.length };
  expect(told).toEqual({ strike, status: 'completed', reply: 'Both are charged.', tools: 2 });
  expect(tools.every(({ runs }) => runs === 1)).toBe(true);
  // A call that was begun when its worker left is not made again: its outcome is unknown.
  const done = tools.filter(({ status }) => status === 'done').length;
  expect(effects).toEqual([...new Set(effects)]);
  expect(effects.length).toBeGreaterThanOrEqual(strike === null ? 2 : done);
  expect(entries.map(({ kind }) => kind)).toEqual(['prompt', 'answer', 'results', 'answer', 'results', 'answer']);
  expect(calls.filter(({ status }) => status === 'ok').map(({ model }) => model)).toEqual(CHAIN);
  expect(steps.map(({ data }) => [data.from, data.to])).toEqual([CHAIN.slice(0, 2), CHAIN.slice(1)]);
  // Each call was charged before it was made, and made once; a failure that no write has reported
  // is not counted.
  expect(hashes.size).toBe(received.length);
  // The call that is repeated after a crash is one of the model that was asked then: none is asked
  // again that the turn has left.
  expect(received.length, JSON.stringify(strike)).toBeLessThanOrEqual(strike === null ? 7 : 8);
  expect(Math.max(...hashes.keys())).toBeLessThanOrEqual(Number(turn?.calls));
  expect(turn?.retries).toBeLessThanOrEqual(2);
  expect(calls.map(({ requestSha256 }) => requestSha256)).toEqual(calls.map(({ callNo }) => hashes.get(callNo)));
  const { writeBody } = next.context.models.client;
  // To derive a request takes longer than to make it.
  for (const { callNo } of strike === null || strike.at % 4 === 0 ? calls : []) {
    const wanted = { turnId: String(turn?.id), callNo, defaultThinking: () => 'off' as const, writeBody };
    expect(await deriveRequest(rig.database, wanted), JSON.stringify(strike)).toMatchObject({ matches: true });
  }
  return { passed: first.passed(), retries: turn?.retries };
}

test('a turn that steps down twice across providers repeats nothing, wherever its worker leaves it (G11, G35)', async () => {
  const { passed, retries } = await playDown('down', null);
  expect(retries).toBe(2);
  expect(passed).toBeGreaterThan(12);
  for (let at = 1; at <= passed; at += 1)
    for (const side of ['before', 'after'] as const) await playDown(`down-${at}-${side}`, { at, side });
});
