// Goal: an answer fits the schema of its message on every wire, or its turn fails. Method: the same
// stories against four APIs, with the provider's own mode or a tool in its place, and a worker that
// leaves between an answer and its correction.
import { expect, test } from 'vitest';
import { startScriptedModel, type ScriptedModel } from '../../scripted-model/scripted-model.ts';
import type { ResponseFormat } from '../../src/core/response-format.ts';
import type { InboundMessage } from '../../src/core/inbound.ts';
import { deriveRequest } from '../../src/kernel/turn/open/derive-request.ts';
import { viewTurns } from '../../src/kernel/views/turns.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { readModelCalls } from '../rows/calls.ts';
import { readTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

const CATEGORY: ResponseFormat = {
  type: 'json_schema',
  name: 'ticket',
  schema: {
    type: 'object',
    properties: {
      category: { type: 'string', enum: ['bug', 'billing'] },
      urgency: { type: 'integer', minimum: 1, maximum: 5 },
    },
    required: ['category', 'urgency'],
    additionalProperties: false,
  },
};
const FITS = '{"category":"bug","urgency":4}';
const UNFIT = '{"category":"other","urgency":9}';

/** How each API is asked for the form. */
const OWN_MODES = {
  'anthropic/claude-sonnet-5-5': { output_config: { format: { type: 'json_schema' } } },
  'openai/gpt-5': { text: { format: { type: 'json_schema', name: 'ticket', strict: true, schema: CATEGORY.schema } } },
  'chat/gpt-5': { response_format: { type: 'json_schema', json_schema: { name: 'ticket', strict: true } } },
  'google/gemini-3-pro': { generationConfig: { responseMimeType: 'application/json' } },
  'ollama/qwen': { response_format: { type: 'json_schema', json_schema: { name: 'ticket' } } },
};

let scripted: ScriptedModel;
let rig: TurnRig;
let looks = 0;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  scripted = await startScriptedModel({ host: '127.0.0.1', port: 0 });
  onEnd(() => scripted.close());
  const look: Tool = {
    spec: { name: 'look', description: 'Looks.', input_schema: { type: 'object' } },
    summary: 'looks',
    isIdempotent: false,
    run: async () => ({ content: `seen ${(looks += 1)}`, isError: false }),
  };
  const [openai, gemini] = [`${scripted.url}/v1`, `${scripted.url}/v1beta`];
  const providers = {
    openai: { baseUrl: openai, apiKey: 'key-of-openai' },
    chat: { api: 'openai-chat', baseUrl: openai, apiKey: 'key-of-chat' },
    google: { baseUrl: gemini, apiKey: 'key-of-google' },
    ollama: { baseUrl: openai },
    local: { api: 'openai-compatible', baseUrl: openai },
  };
  rig = await createTurnRig(database.url, { tools: [look], settings: { models: { providers } } });
  const made = rig;
  onEnd(() => made.close());
});

async function play(session: string, text: string, more: Partial<InboundMessage> = {}) {
  const worker = rig.worker({ modelUrl: scripted.url });
  const before = scripted.requestCount;
  await rig.send(session, text, { options: { responseFormat: CATEGORY }, ...more });
  await worker.run(session);
  worker.stop();
  return { ...(await lastTurn(session)), requests: scripted.requests.slice(before - scripted.requestCount) };
}

async function lastTurn(session: string) {
  const row = (await readTurns(rig, { sessionId: await rig.sessionOf(session) })).at(-1);
  const [turn] = await viewTurns(rig.database.views, [String(row?.id)]);
  if (turn === undefined) throw new Error('There is no turn.');
  return turn;
}

const nameOf = (model: string): string => model.replaceAll(/[^a-z0-9]/g, '-');
const WITHOUT_TOOLS = { options: { responseFormat: CATEGORY, tools: { deny: ['*'] } } };

test.each(Object.entries(OWN_MODES))('%s is asked for the form in its own mode', async (model, mode) => {
  const turn = await play(`own-${nameOf(model)}`, `Classify. [[reply: ${FITS}]]`, { model, ...WITHOUT_TOOLS });
  expect(turn).toMatchObject({ status: 'completed', reply: FITS, output: JSON.parse(FITS), stepCount: 1 });
  expect(turn.requests.map(({ body }) => body)).toMatchObject([mode]);
  expect(turn.requests[0]?.body).not.toHaveProperty('tools');
});

test.each(['local/qwen', 'google/gemini-3-pro', 'anthropic/claude-opus-4-1'])(
  '%s is asked with a tool where it has no such mode, after its other tools',
  async (model) => {
    const text = `Classify. [[tool: look {}]] [[tool: structured_output ${FITS}]]`;
    const turn = await play(`tool-${nameOf(model)}`, text, { model });
    expect(turn).toMatchObject({ status: 'completed', reply: FITS, output: JSON.parse(FITS), stepCount: 2 });
    expect(turn.steps.flatMap(({ tools }) => tools.map(({ name }) => name))).toEqual(['look']);
    expect(JSON.stringify(turn.requests[1]?.body)).toContain('structured_output');
  },
);

test.each([...Object.keys(OWN_MODES), 'local/qwen'])(
  '%s corrects an answer once, and no tool runs again',
  async (model) => {
    looks = 0;
    const text = `Classify. [[tool: look {}]] [[reply: ${UNFIT}]] [[next]] [[reply: ${FITS}]]`;
    const turn = await play(`corrects-${nameOf(model)}`, text, { model });
    expect(turn).toMatchObject({ status: 'completed', reply: FITS, output: JSON.parse(FITS), stepCount: 3 });
    expect(looks).toBe(1);
    const last = JSON.stringify(turn.requests.at(-1)?.body);
    expect(last).toContain('/category must be equal to one of the allowed values');
    expect(last).toContain('/urgency must be <= 5');
  },
);

test('a second answer that does not fit ends the turn with output_invalid', async () => {
  const turn = await play(
    'invalid',
    `Classify. [[reply: ${UNFIT}]] [[next]] [[reply: ${UNFIT}]] [[next]] [[reply: ${FITS}]]`,
  );
  expect(turn).toMatchObject({ status: 'failed', reply: null, output: null, stepCount: 2 });
  expect(turn.error).toMatchObject({ code: 'output_invalid' });
  expect(turn.error?.message).toContain('/urgency must be <= 5');
  expect(turn.nextStep).toContain('schema');
});

test.each([
  ['max_tokens', 'output_invalid'],
  ['refusal', 'model_refused'],
])('an answer that ends with %s is not corrected: the turn fails with %s', async (reason, code) => {
  const turn = await play(
    `ends-${reason}`,
    `Classify. [[stop: ${reason}]] [[reply: {"category"]] [[next]] [[reply: ${FITS}]]`,
  );
  expect(turn).toMatchObject({ status: 'failed', stepCount: 1, error: { code } });
});

test('a worker that takes over between an answer and its correction asks for the correction only, and each request is derived again', async () => {
  looks = 0;
  const text = `Classify. [[tool: look {}]] [[reply: ${UNFIT}]] [[next]] [[reply: ${FITS}]]`;
  const before = scripted.requestCount;
  const leaving = rig.worker({ modelUrl: scripted.url, isDraining: () => scripted.requestCount >= before + 2 });
  await rig.send('taken-over', text, { options: { responseFormat: CATEGORY } });
  await leaving.run('taken-over');
  leaving.stop();
  expect(await lastTurn('taken-over')).toMatchObject({ endedAt: null, stepCount: 2 });
  const next = rig.worker({ modelUrl: scripted.url });
  await next.run('taken-over');
  next.stop();
  const turn = await lastTurn('taken-over');
  expect(turn).toMatchObject({ status: 'completed', output: JSON.parse(FITS), stepCount: 3, attempt: 2 });
  expect([looks, scripted.requestCount - before]).toEqual([1, 3]);
  for (const { turnId, callNo } of await readModelCalls(rig, { turnId: turn.id }, 'turnId', 'callNo')) {
    const wanted = { turnId: String(turnId), callNo: Number(callNo), defaultThinking: () => 'off' as const };
    expect(await deriveRequest(rig.database, wanted)).toMatchObject({
      matches: true,
      request: OWN_MODES['anthropic/claude-sonnet-5-5'],
    });
  }
});

test('the next message of a session is answered with text again', async () => {
  await play('mixed', `One. [[reply: ${FITS}]]`);
  const turn = await play('mixed', 'Two.', { options: {} });
  expect(turn).toMatchObject({ reply: 'You said: Two.', output: null });
});
