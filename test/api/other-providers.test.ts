// Goal: what an agent does besides answering a message works the same whoever makes its model.
// Method: one agent for each API, and the same story for each, over the HTTP API: polls, a
// subagent, a batch, thinking, images, a compaction, a bill and a budget; then each request is made
// again.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startScriptedModel, type ScriptedModel } from '../../scripted-model/scripted-model.ts';
import { agentOf } from '../../src/config.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { batchRig } from '../features/batches/batch-rig.ts';
import { png } from '../requests/rig/png.ts';
import { changeInputs } from '../rows/inputs.ts';
import { withFields } from '../rows/table.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { longText } from '../turn/seed-history.ts';
import { createApiRig, type ApiRig } from './api-rig.ts';

const MODELS = {
  anthropic: 'anthropic/claude-sonnet-5-5',
  responses: 'openai/gpt-5.5',
  chat: 'local/qwen',
  gemini: 'google/gemini-3.1-pro-preview',
  grok: 'xai/grok-4.5',
};
type AgentId = keyof typeof MODELS;

/** How each API is asked to think much. */
const THINKING: Record<AgentId, object> = {
  anthropic: { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } },
  responses: { reasoning: { effort: 'high' } },
  chat: { reasoning_effort: 'high' },
  gemini: { generationConfig: { thinkingConfig: { thinkingLevel: 'high' } } },
  grok: { reasoning: { effort: 'high' } },
};

/** Micro-dollars for a token: new, cached, written to the cache, given. */
const PRICES = {
  inputPerMTok: 2,
  cacheReadPerMTok: 0.5,
  cacheWrite5mPerMTok: 3,
  cacheWrite1hPerMTok: 3,
  outputPerMTok: 8,
};

const SHOWN = png(3, 2, 10).toString('base64');
const SEEN = png(4, 2, 20).toString('base64');
const look: Tool = {
  spec: { name: 'look', description: 'Looks.', input_schema: { type: 'object' } },
  summary: 'looks',
  isIdempotent: true,
  run: async () => ({
    content: [
      { type: 'text', text: 'a picture' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: SEEN } },
    ],
    isError: false,
  }),
};

let scripted: ScriptedModel;
let rig: ApiRig;
let worker: ReturnType<ApiRig['turns']['worker']>;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  scripted = await startScriptedModel({ host: '127.0.0.1', port: 0 });
  onEnd(() => scripted.close());
  const openai = { baseUrl: `${scripted.url}/v1`, apiKey: 'key-of-openai' };
  const file = {
    agents: { list: [{ id: 'main' }, ...Object.entries(MODELS).map(([id, model]) => ({ id, model }))] },
    models: {
      providers: {
        openai,
        xai: openai,
        google: { baseUrl: `${scripted.url}/v1beta`, apiKey: 'key-of-google' },
        local: { api: 'openai-compatible', baseUrl: openai.baseUrl },
      },
      prices: Object.values(MODELS).map((model) => ({ model, ...PRICES })),
    },
  };
  rig = await createApiRig(database.url, { file });
  const made = rig;
  onEnd(() => made.close());
  worker = rig.turns.worker({ tools: [look], modelUrl: scripted.url });
  for (const id of Object.keys(MODELS)) {
    const { workspaceDir } = agentOf(rig.config, id);
    await mkdir(workspaceDir, { recursive: true });
    await writeFile(join(workspaceDir, 'plan.png'), Buffer.from(SHOWN, 'base64'));
  }
});

/** Runs the next turn of a session, and resolves with it and the requests of its calls. */
async function work(key: string) {
  const before = scripted.requestCount;
  await worker.run(key);
  const [turn] = (await rig.get(`/v1/turns?session=${key}&limit=1`)).body.items;
  const requests = scripted.requests.filter(({ number }) => number > before).map(({ body }) => body);
  return { ...turn, requests };
}

async function say(key: string, text: string, more: object = {}) {
  const sent = await rig.post(`/v1/sessions/${key}/messages`, { text, ...more });
  expect(sent).toMatchObject({ status: 202 });
  return await work(key);
}

async function poll(id: AgentId, answer: string) {
  const made = await rig.post(`/v1/agents/${id}/heartbeat`);
  const body = withFields({ text: `Is all well? [[reply: ${answer}]]` });
  await changeInputs(rig, { id: made.body.messageId }, { body });
  const turn = await work(`agent:${id}:main`);
  const { items } = (await rig.get(`/v1/heartbeats?agent=${id}`)).body;
  return { ...turn, result: items.find((one: { id: string }) => one.id === made.body.id).result };
}

async function spawnsAndHears(id: AgentId): Promise<void> {
  const boss = `agent:${id}:boss`;
  const { childSessionKey } = (await rig.post(`/v1/sessions/${boss}/spawn`, { task: '[[reply: forty-two]]' })).body;
  expect(await work(childSessionKey)).toMatchObject({ status: 'completed', reply: 'forty-two' });
  const heard = await work(boss);
  expect(heard).toMatchObject({ kind: 'announce', status: 'completed' });
  expect(JSON.stringify(heard.requests)).toContain('forty-two');
}

async function answersBatch(id: AgentId): Promise<void> {
  const batches = batchRig(rig);
  const items = [1, 2, 3].map((n) => ({ customId: `t${n}`, text: `Ticket ${n} [[reply: done ${n}]]` }));
  const { body } = await batches.submit({ agentId: id, items });
  expect(await batches.run(body.id)).toMatchObject({ outcome: 'completed', counts: { answered: 3 } });
  expect((await batches.results(body.id)).map(({ reply }) => reply)).toEqual(['done 1', 'done 2', 'done 3']);
}

async function compacts(id: AgentId): Promise<void> {
  const session = `agent:${id}:long`;
  for (let n = 1; n <= 4; n += 1) await say(session, longText(4_000, `Part ${n}: `));
  await rig.post(`/v1/sessions/${session}/compact`, { instructions: 'Keep the names.' });
  const made = await work(session);
  expect(made).toMatchObject({ kind: 'compaction', status: 'completed' });
  expect(made.requests).toHaveLength(1);
  expect(JSON.stringify(made.requests)).toContain('Keep the names.');
  const [compaction] = (await rig.get(`/v1/sessions/${session}/compactions`)).body.items;
  expect(compaction).toMatchObject({ status: 'completed' });
  const after = JSON.stringify((await say(session, 'And now?')).requests);
  expect(after).not.toContain('Part 1: ');
  expect(after.length).toBeLessThan(JSON.stringify(made.requests).length);
}

function costOf(usage: Record<string, number>): number {
  const { inputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0, outputTokens = 0 } = usage;
  return Math.round(2 * inputTokens + 0.5 * cacheReadTokens + 3 * cacheWriteTokens + 8 * outputTokens);
}

test.each(Object.keys(MODELS) as AgentId[])(
  'an agent of the API %s polls, delegates, works through a batch, thinks, sees, compacts and pays, and its requests can be made again',
  async (id) => {
    expect(await poll(id, 'HEARTBEAT_OK')).toMatchObject({ result: 'acknowledged', status: 'silent' });
    expect(await poll(id, 'The disk is full.')).toMatchObject({ result: 'alert', reply: 'The disk is full.' });
    await spawnsAndHears(id);
    await answersBatch(id);

    const seen = `agent:${id}:seen`;
    const text = 'What is on ./plan.png? [[thinking: hm]] [[tool: look]] [[reply: A plan.]]';
    const turn = await say(seen, text, { thinking: 'high' });
    expect(turn).toMatchObject({ status: 'completed', reply: 'A plan.', provider: MODELS[id].split('/')[0] });
    expect(turn.requests).toMatchObject([THINKING[id], THINKING[id]]);
    const [first, second] = turn.requests.map((body: object) => JSON.stringify(body));
    expect(first).toContain(SHOWN);
    expect(second).toContain(SEEN);
    await compacts(id);

    const paid = await say(seen, 'And?', { thinking: 'high' });
    expect(paid.usage.cacheReadTokens).toBeGreaterThan(0);
    expect(paid.costMicros).toBe(costOf(paid.usage));
    await rig.post('/v1/budgets', { scope: `agent:${id}`, per: 'total', limitUsd: 0, action: 'fail' });
    await rig.turns.budgets.read();
    const stopped = await say(seen, 'Once more?');
    expect(stopped).toMatchObject({ status: 'failed', error: { code: 'budget_exceeded' }, requests: [] });

    const { items } = (await rig.get(`/v1/turns?agent=${id}&limit=100`)).body;
    const derived = [];
    for (const { id: turnId, steps } of items)
      for (const { n } of steps.flatMap((step: { calls: object[] }) => step.calls))
        derived.push((await rig.get(`/v1/turns/${turnId}/requests/${n}`)).body.matches);
    expect(derived.length).toBeGreaterThan(12);
    expect(new Set(derived)).toEqual(new Set([true]));
  },
);
