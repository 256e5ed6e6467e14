// Tries over the API: what they ask again, what answers their tool calls, and what they leave alone.
import { expect, test } from 'vitest';
import { useApiRig } from './use-api-rig.ts';

const holder = useApiRig({ file: { channels: { webhook: { url: 'http://127.0.0.1:9/replies' } } } });

async function turnOf(session: string, text: string) {
  await holder.rig.post(`/v1/sessions/${session}/messages`, { text });
  await holder.rig.work(session);
  return (await holder.rig.get(`/v1/turns?session=${session}&limit=1`)).body.items[0];
}

/** Tries it and has it answered. Returns its turn. */
async function tried(path: string, body: object) {
  const { status, body: answer } = await holder.rig.post(path, body);
  expect(status).toBe(202);
  const { sessionKey, id } = answer.message;
  await holder.rig.work(sessionKey);
  const message = (await holder.rig.get(`/v1/messages/${id}`)).body;
  return { sessionKey, message, turn: (await holder.rig.get(`/v1/turns/${message.turnId}`)).body };
}

async function results(session: string): Promise<string[]> {
  const { body } = await holder.rig.get(`/v1/sessions/${encodeURIComponent(session)}/transcript?limit=200`);
  const entries: { content: { type: string; content?: unknown }[] }[] = body.items;
  return entries
    .flatMap(({ content }) => content.filter(({ type }) => type === 'tool_result'))
    .map(({ content }) => String(content));
}

test('a try of a turn sees the session as it was, and leaves the original and its deliveries alone (G15)', async () => {
  await turnOf('past', 'First. [[reply: one]]');
  const original = await turnOf('past', 'Second. [[reply: two]]');
  await turnOf('past', 'Third. [[reply: three]]');
  const before = (await holder.rig.get('/v1/sessions/past/transcript?state=all&limit=200')).body;
  const { sessionKey, turn } = await tried(`/v1/turns/${original.id}/try`, {});
  expect(sessionKey).toMatch(/^agent:main:try:/);
  expect(turn).toMatchObject({ status: 'completed', reply: 'two', tryOf: original.id, tags: { try: original.id } });
  const { body: own } = await holder.rig.get(`/v1/sessions/${encodeURIComponent(sessionKey)}/transcript?limit=200`);
  expect(JSON.stringify(own)).toContain('First.');
  expect(JSON.stringify(own)).not.toContain('Third.');
  expect((await holder.rig.get('/v1/sessions/past/transcript?state=all&limit=200')).body).toEqual(before);
  expect((await holder.rig.get(`/v1/deliveries?session=${encodeURIComponent(sessionKey)}`)).body.items).toEqual([]);
  expect((await holder.rig.get('/v1/deliveries?session=past')).body.items).toHaveLength(3);
});

test('equal calls of a try have the recorded results in their order, and others that may change something do not run (G11)', async () => {
  const calls = '[[tool: echo {"n":1}]] [[tool: echo {"n":1}]]';
  const original = await turnOf('calls', `Go. ${calls} [[reply: done]]`);
  const text = `Go. ${calls} [[tool: echo {"n":1}]] [[tool: echo {"n":2}]] [[reply: done again]]`;
  const { sessionKey, turn } = await tried(`/v1/turns/${original.id}/try`, { text });
  expect(turn.reply).toBe('done again');
  const [first, second, third, fourth] = await results(sessionKey);
  expect([first, second]).toEqual(['{"n":1}', '{"n":1}']);
  for (const one of [third, fourth]) expect(one).toContain('Not run: this is a try.');
  expect(turn.steps.flatMap(({ tools }: { tools: { status: string }[] }) => tools.map(({ status }) => status))).toEqual(
    Array.from({ length: 4 }, () => 'done'),
  );
});

test('a try can have another text, model, thinking level and system prompt', async () => {
  const original = await turnOf('changed', 'Before. [[reply: one]]');
  const changes = {
    text: 'After. [[reply: two]]',
    model: 'anthropic/claude-haiku-4-5',
    thinking: 'low',
    systemPrompt: 'Be brief.',
  };
  const { turn } = await tried(`/v1/turns/${original.id}/try`, changes);
  expect(turn).toMatchObject({ reply: 'two', model: 'claude-haiku-4-5' });
  const { body } = await holder.rig.get(`/v1/turns/${turn.id}/requests/1`);
  expect(JSON.stringify(body.request.system)).toContain('Be brief.');
  expect(JSON.stringify(body.request.messages)).toContain('After.');
});

test('a request that is repeated with its key tries once (G2)', async () => {
  const original = await turnOf('keyed', 'Once. [[reply: one]]');
  const ask = (body: object) => holder.rig.post(`/v1/turns/${original.id}/try`, body, { 'idempotency-key': 'one-try' });
  const [first, second] = [await ask({}), await ask({})];
  expect(second.body.message.id).toBe(first.body.message.id);
  expect(second.headers['idempotent-replayed']).toBe('true');
  expect((await ask({ text: 'other' })).status).toBe(422);
});

test('an agent is tried in a session without a past, and what may change something does not run', async () => {
  const { sessionKey, turn } = await tried('/v1/agents/main/try', {
    text: 'Hi. [[tool: echo {"n":3}]] [[reply: hello]]',
  });
  expect(turn).toMatchObject({ reply: 'hello', tryOf: null, tags: { try: 'main' } });
  expect((await results(sessionKey))[0]).toContain('Not run');
  const keys = async (query: string) =>
    (await holder.rig.get(`/v1/sessions?limit=200${query}`)).body.items.map(({ key }: { key: string }) => key);
  expect(await keys('')).not.toContain(sessionKey);
  expect(await keys('&kind=try')).toContain(sessionKey);
});

test('a turn that does not exist, or has asked nothing, cannot be tried; a model must be served', async () => {
  expect((await holder.rig.post('/v1/turns/019a0000-0000-7000-8000-000000000000/try', {})).status).toBe(404);
  const original = await turnOf('refused', 'Hi. [[reply: one]]');
  expect((await holder.rig.post(`/v1/turns/${original.id}/try`, { model: 'nowhere/x' })).status).toBe(400);
  expect((await holder.rig.post('/v1/agents/unknown/try', { text: 'x' })).status).toBe(404);
});

test('an erased session takes its tries with it', async () => {
  const original = await turnOf('erased', 'Mine. [[reply: one]]');
  const { sessionKey } = await tried(`/v1/turns/${original.id}/try`, {});
  expect((await holder.rig.ask('DELETE', '/v1/sessions/erased')).status).toBe(200);
  expect((await holder.rig.get(`/v1/sessions/${encodeURIComponent(sessionKey)}`)).status).toBe(404);
});
