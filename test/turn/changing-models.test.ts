// Goal: a conversation whose model changes from provider to provider is refused by none of them and loses no text. Method: all ordered pairs of
// four APIs, which take turns in conversations of twelve turns with thinking, tools and images, against servers that check roles, pairs, ids,
// signatures and sealed reasoning; in the middle, a turn steps down to other providers between two of its calls.
import { expect, test } from 'vitest';
import { startScriptedModel, type ScriptedModel } from '../../scripted-model/scripted-model.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { readTurns } from '../rows/turns.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

const TURNS = 12;
const MODELS = ['anthropic/claude-sonnet-5-5', 'openai/gpt-5', 'google/gemini-3-pro', 'local/qwen'];
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

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
  const providers = {
    openai: { baseUrl: `${scripted.url}/v1`, apiKey: 'key-of-openai' },
    google: { baseUrl: `${scripted.url}/v1beta`, apiKey: 'key-of-google' },
    local: { api: 'openai-compatible', baseUrl: `${scripted.url}/v1` },
  };
  const settings = { models: { providers }, agents: { defaults: { fallbacks: MODELS } } };
  rig = await createTurnRig(database.url, { tools: [look], settings });
  const made = rig;
  onEnd(() => made.close());
});

const pairs = MODELS.flatMap((first) =>
  MODELS.filter((one) => one !== first).map((second) => [first, second] as const),
);

test.each(pairs)('%s and %s take turns', async (first, second) => {
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
