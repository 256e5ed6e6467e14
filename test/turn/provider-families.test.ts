// Goal: a provider receives the history of a session in the form of its family, from the first
// request to a derived one. Method: plugins whose transports name their family, a tool that returns
// its input, and a second worker.
import { expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { loadConfig } from '../../src/config.ts';
import type { ContentBlock } from '../../src/core/content.ts';
import { eventsOfBody } from '../../src/model/stream/stream-event.ts';
import { createLogger } from '../../src/logger.ts';
import { createConfiguredModel } from '../../src/model/configured-model.ts';
import { type TransportCall, toWireRequest } from '../../src/model/transport.ts';
import { readTransport } from '../../src/plugins/read-registrations.ts';
import { deriveRequest } from '../../src/kernel/turn/open/derive-request.ts';
import { pluginsWith } from '../plugins/plugins-with.ts';
import { readTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

const asked: TransportCall[] = [];
const CALL_ID = 'toolu_01-a.very/long:id-that-only-some-take';

/** Answers with a thought and a call until there is a result, then with a text. */
function transportOf(provider: string, more: object) {
  return readTransport('/p.ts', {
    name: provider,
    provider,
    ...more,
    async send(call: TransportCall) {
      asked.push(call);
      const { request, onSent, onEvent } = call;
      onSent(JSON.stringify(toWireRequest(request)));
      const hasResult = request.messages.at(-1)?.content.some(({ type }) => type === 'tool_result') === true;
      const content = hasResult
        ? [{ type: 'text', text: 'done' }]
        : [
            { type: 'thinking', thinking: 'hm', signature: 'c2lnbmVk' },
            ...(provider === 'oai' ? [{ type: 'thinking', thinking: 'so', signature: 'rs_0123456789' }] : []),
            { type: 'tool_use', id: CALL_ID, name: 'echo', input: { text: 'a &lt; b' } },
          ];
      const stop_reason = hasResult ? 'end_turn' : 'tool_use';
      for (const event of eventsOfBody({ id: 'm', model: request.model, content, stop_reason })) {
        if (onEvent(event)) return;
      }
    },
  });
}

const transports = [
  transportOf('nine', { family: 'mistral', toolCallArgumentsEncoding: 'html-entities' }),
  transportOf('gem', { family: 'google' }),
  transportOf('oai', { family: 'openai' }),
  transportOf('plain', {}),
];

let rig: TurnRig;
const given: unknown[] = [];

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  const { plugins } = pluginsWith([], { transports });
  const echo = {
    spec: { name: 'echo', description: 'Says it again.', input_schema: { type: 'object' as const } },
    summary: 'says it again',
    isIdempotent: true,
    run: async (input: unknown) => {
      given.push(input);
      return { content: 'ok', isError: false };
    },
  };
  const settings = { plugins: ['/p.ts'], agents: { defaults: { fallbacks: ['nine/m'] } } };
  rig = await createTurnRig(database.url, { plugins, tools: [echo], settings });
  const made = rig;
  onEnd(() => made.close());
});

/**
 * Runs a turn with one tool call; returns the blocks of the last request and the id of the turn.
 */
async function play(provider: string) {
  const worker = rig.worker();
  await rig.send(provider, 'go', { model: `${provider}/m` });
  await worker.run(provider);
  worker.stop();
  const turn = (await readTurns(rig, { sessionId: await rig.sessionOf(provider) }, 'id', 'status')).at(-1);
  expect(turn).toMatchObject({ status: 'completed' });
  const blocks: ContentBlock[] = asked.at(-1)?.request.messages.flatMap(({ content }) => content) ?? [];
  return { turnId: String(turn?.['id']), blocks };
}

const idsOf = (blocks: ContentBlock[]) => ({
  called: blocks.flatMap((block) => (block.type === 'tool_use' ? [block.id] : [])),
  answered: blocks.flatMap((block) => (block.type === 'tool_result' ? [block.tool_use_id] : [])),
  thoughts: blocks.filter(({ type }) => type === 'thinking').length,
});

test('a provider of the mistral family gets ids of nine characters, and no thinking', async () => {
  const { blocks } = await play('nine');
  const { called, answered, thoughts } = idsOf(blocks);
  expect(called).toEqual([expect.stringMatching(/^[a-zA-Z0-9]{9}$/)]);
  expect(answered).toEqual(called);
  expect(thoughts).toBe(0);
});

test('a provider of the google family gets plain ids, and signed thinking', async () => {
  const { called, thoughts } = idsOf((await play('gem')).blocks);
  expect(called).toEqual([expect.stringMatching(/^[a-zA-Z0-9]+$/)]);
  expect(thoughts).toBe(1);
});

test('a provider of the openai family gets ids of at most forty characters, and only its own reasoning items', async () => {
  const { blocks } = await play('oai');
  const { called, answered, thoughts } = idsOf(blocks);
  expect(CALL_ID.length).toBeGreaterThan(40);
  expect(called).toEqual([expect.stringMatching(/^toolu_01.{1,32}$/)]);
  expect(answered).toEqual(called);
  expect(thoughts).toBe(1);
});

test("a provider that names no family gets the history in Anthropic's form", async () => {
  const { thoughts } = idsOf((await play('plain')).blocks);
  expect(thoughts).toBe(1);
});

test('a request to such a provider is derived in its form', async () => {
  const { turnId } = await play('nine');
  const derive = (callNo: number) => deriveRequest(rig.database, { turnId, callNo, defaultThinking: () => 'off' });
  expect(await derive(1)).toMatchObject({ matches: true });
  expect(await derive(2)).toMatchObject({ matches: true });
});

test('another worker resumes the turn in the same form', async () => {
  let steps = 0;
  const leaving = rig.worker({ isDraining: () => (steps += 1) > 1 });
  await rig.send('moved', 'go', { model: 'nine/m' });
  await leaving.run('moved');
  leaving.stop();
  const calls = asked.length;
  const worker = rig.worker();
  await worker.run('moved');
  worker.stop();
  const [last] = asked.slice(calls);
  const { called } = idsOf(last?.request.messages.flatMap(({ content }) => content) ?? []);
  expect(called).toEqual([expect.stringMatching(/^[a-zA-Z0-9]{9}$/)]);
});

test('a turn that steps down to a model of another family sends it the history in its form', async () => {
  const worker = rig.worker();
  await rig.send('stepped', '[[tool: echo {"text": "x"}]] [[error: 404]]');
  await worker.run('stepped');
  worker.stop();
  const { request } = asked.at(-1)!;
  expect(request.provider).toBe('nine');
  const { called, answered } = idsOf(request.messages.flatMap(({ content }) => content));
  expect(called).toEqual([expect.stringMatching(/^[a-zA-Z0-9]{9}$/)]);
  expect(answered).toEqual(called);
  const [turn] = await readTurns(rig, { sessionId: await rig.sessionOf('stepped') }, 'id', 'calls');
  const derived = await deriveRequest(rig.database, {
    turnId: String(turn?.['id']),
    callNo: Number(turn?.['calls']),
    defaultThinking: () => 'off',
  });
  expect(derived).toMatchObject({ matches: true });
});

test('arguments are decoded when the transport says that they are HTML-encoded, otherwise not', async () => {
  await play('nine');
  expect(given.at(-1)).toEqual({ text: 'a < b' });
  await play('plain');
  expect(given.at(-1)).toEqual({ text: 'a &lt; b' });
});

test('the configuration overrides the transport', async () => {
  const { config } = rig;
  const providers = { ...config.models.providers, nine: { family: 'openai' as const } };
  const model = createConfiguredModel({
    config: { ...loadConfig({ env: {}, cwd: '/' }), models: { ...config.models, providers } },
    clock: systemClock,
    logger: createLogger({ level: 'silent', format: 'json', name: 'test' }),
    endpoint: { apiKey: 'x' },
    transports,
  });
  expect(['nine', 'gem', 'plain', undefined].map((name) => model.familyOf(name))).toEqual([
    'openai',
    'google',
    'anthropic',
    'anthropic',
  ]);
  await model.close();
});

test('a transport with an unknown family is refused', () => {
  expect(() => transportOf('odd', { family: 'martian' })).toThrow('registerTransport: family');
});
