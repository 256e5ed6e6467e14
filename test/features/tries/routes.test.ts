// Tries over the API: what they ask again, what answers their tool calls, and what they leave
// alone.
import { describe, expect, test } from 'vitest';
import { removeOldTries } from '../../../src/features/tries/rounds.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { changeSessions, countSessions } from '../../rows/sessions.ts';
import { ago } from '../../rows/table.ts';
import { useApiRig } from '../../api/use-api-rig.ts';

const holder = useApiRig({ file: { channels: { webhook: { url: 'http://127.0.0.1:9/replies' } } } });

/** Runs the next turn of a session, with these tools instead of `echo`. */
async function work(session: string, tools: Tool[] = []): Promise<void> {
  if (tools.length === 0) return void (await holder.rig.work(session));
  const worker = holder.rig.turns.worker({ tools });
  await worker.run(session);
  worker.stop();
}

/** A tool whose result is computed for each run. */
function tool(name: string, run: () => string | Promise<string>, isReadOnly = false): Tool {
  return {
    spec: { name, description: 'For tests.', input_schema: { type: 'object' } },
    summary: 'for tests',
    isIdempotent: true,
    isReadOnly,
    run: async () => ({ content: await run(), isError: false }),
  };
}

async function turnOf(session: string, text: string, tools: Tool[] = []) {
  await holder.rig.post(`/v1/sessions/${session}/messages`, { text });
  await work(session, tools);
  return lastTurn(session);
}

/** Tries it and has it answered. Returns its turn. */
async function tried(path: string, body: object, tools: Tool[] = []) {
  const { status, body: answer } = await holder.rig.post(path, body);
  expect(status).toBe(202);
  const { sessionKey, id } = answer.message;
  await work(sessionKey, tools);
  const message = (await holder.rig.get(`/v1/messages/${id}`)).body;
  return { sessionKey, message, turn: (await holder.rig.get(`/v1/turns/${message.turnId}`)).body };
}

async function lastTurn(session: string) {
  return (await holder.rig.get(`/v1/turns?session=${session}&limit=1`)).body.items[0];
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

/** What the model was sent in the first request of a turn, as text. */
async function asked(turn: { id: string }): Promise<string> {
  return JSON.stringify((await holder.rig.get(`/v1/turns/${turn.id}/requests/1`)).body.request.messages);
}

test('equal calls of a try have the recorded results in their order, others run only if they read, and no tool changes anything (G11)', async () => {
  let counted = 0;
  const tools = [tool('count', () => String((counted += 1))), tool('peek', () => `seen ${counted}`, true)];
  const calls = '[[tool: count {"n":1}]] [[tool: count {"n":1}]]';
  const original = await turnOf('calls', `Go. ${calls} [[reply: done]]`, tools);
  const text = `Go. ${calls} [[tool: count {"n":1}]] [[tool: count {"n":2}]] [[tool: peek {}]] [[reply: done again]]`;
  const { sessionKey, turn } = await tried(`/v1/turns/${original.id}/try`, { text }, tools);
  expect(turn.reply).toBe('done again');
  const [first, second, third, fourth, fifth] = await results(sessionKey);
  expect([first, second, fifth]).toEqual(['1', '2', 'seen 2']);
  for (const one of [third, fourth]) expect(one).toContain('Not run: this is a try.');
  expect(counted).toBe(2);
  expect(
    turn.steps.flatMap(({ tools: used }: { tools: { status: string }[] }) => used.map(({ status }) => status)),
  ).toEqual(Array.from({ length: 5 }, () => 'done'));
});

describe('a try has the conversation of the moment when its turn began', () => {
  test('after a compaction and a reset', async () => {
    await turnOf('moments', 'First. [[reply: one]]');
    const original = await turnOf('moments', 'Second. [[reply: two]]');
    await holder.rig.post('/v1/sessions/moments/compact');
    await work('moments');
    const compacted = await turnOf('moments', 'Third. [[reply: three]]');
    await holder.rig.post('/v1/sessions/moments/reset');
    await turnOf('moments', 'Fourth. [[reply: four]]');
    for (const turn of [original, compacted]) {
      const again = await tried(`/v1/turns/${turn.id}/try`, {});
      expect(await asked(again.turn)).toBe(await asked(turn));
    }
  });

  test('without what a retry has hidden before', async () => {
    await turnOf('hidden', 'First. [[reply: one]]');
    const failed = await turnOf('hidden', 'Second. [[tool: echo {}]] [[error: 401]] [[reply: two]]');
    expect(failed.status).toBe('failed');
    expect((await holder.rig.post(`/v1/turns/${failed.id}/retry`)).status).toBe(202);
    await work('hidden');
    const again = await tried(`/v1/turns/${(await lastTurn('hidden')).id}/try`, { text: 'Third. [[reply: three]]' });
    expect(await asked(again.turn)).not.toContain('Second.');
    expect(again.turn.reply).toBe('three');
    const refused = await holder.rig.post(`/v1/turns/${failed.id}/try`, {});
    expect([refused.status, refused.body.detail]).toEqual([409, expect.stringContaining('retried')]);
  });
});

test('a try can be tried, and a turn that still runs cannot', async () => {
  const started = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<string>();
  const gate = tool('wait', () => {
    started.resolve();
    return opened.promise;
  });
  await holder.rig.post('/v1/sessions/running/messages', { text: 'Wait. [[tool: wait {}]] [[reply: done]]' });
  const running = work('running', [gate]);
  await started.promise;
  const { id } = await lastTurn('running');
  const refused = await holder.rig.post(`/v1/turns/${id}/try`, {});
  opened.resolve('waited');
  await running;
  expect([refused.status, refused.body.detail]).toEqual([409, expect.stringContaining('has not ended')]);
  const first = await tried(`/v1/turns/${id}/try`, {}, [gate]);
  const second = await tried(`/v1/turns/${first.turn.id}/try`, {}, [gate]);
  expect(second.turn).toMatchObject({ status: 'completed', reply: 'done', tryOf: first.turn.id });
  expect(await results(second.sessionKey)).toEqual(['waited']);
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
  const answers = [...(await Promise.all([ask({}), ask({})])), await ask({})];
  expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
  expect(new Set(answers.map(({ body }) => body.message.id)).size).toBe(1);
  expect(answers[2]?.headers['idempotent-replayed']).toBe('true');
  const { body: sessions } = await holder.rig.get(`/v1/sessions?kind=try&limit=200`);
  expect(sessions.items.filter(({ key }: { key: string }) => key === answers[0]?.body.message.sessionKey)).toHaveLength(
    1,
  );
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
  const source = encodeURIComponent('agent:main:refused');
  expect(
    await countSessions(holder.rig, {
      kind: 'try',
      forkedFromId: (await holder.rig.get(`/v1/sessions/${source}`)).body.id,
    }),
  ).toBe(0);
});

test.each([
  ['text', 'a text', { text: 5 }],
  ['text', 'at least 1 character that is not blank', { text: '' }],
  ['text', 'at least 1 character that is not blank', { text: ' \n' }],
  ['text', 'NUL', { text: 'a\u0000b' }],
  ['model', '1', { model: '' }],
  ['model', '200', { model: 'm'.repeat(201) }],
  ['model', 'a text', { model: ['a'] }],
  ['thinking', 'medium', { thinking: 'much' }],
  ['systemPrompt', 'a text', { systemPrompt: {} }],
  ['systemPrompt', '1000000', { systemPrompt: 'p'.repeat(1_000_001) }],
  ['deliver', 'unknown field', { deliver: { url: 'http://127.0.0.1:9/' } }],
])('a wrong %s is refused by its name and with what is allowed (%s)', async (path, allowed, body) => {
  const original = await turnOf('hostile', 'Hi. [[reply: one]]');
  for (const url of [`/v1/turns/${original.id}/try`, '/v1/agents/main/try']) {
    const refused = await holder.rig.post(url, { ...(url.includes('agents') ? { text: 'Hi.' } : {}), ...body });
    expect(refused).toMatchObject({ status: 400, body: { errors: [{ path }] } });
    expect(refused.body.errors[0].message.replaceAll(/[,_]/g, '')).toContain(allowed);
  }
});

test('no message to the session of a try has an answer that is delivered, not even a chat command (G15)', async () => {
  const original = await turnOf('commands', 'Hi. [[reply: one]]');
  const { sessionKey } = await tried(`/v1/turns/${original.id}/try`, {});
  const path = `/v1/sessions/${encodeURIComponent(sessionKey)}`;
  for (const text of ['/status', 'More. [[reply: two]]', '/compact', 'Bad. [[error: 400]]']) {
    await holder.rig.post(`${path}/messages`, { text, deliver: { url: 'http://127.0.0.1:9/there' } });
    await work(sessionKey);
  }
  expect((await holder.rig.get(`/v1/turns?session=${encodeURIComponent(sessionKey)}`)).body.items).toHaveLength(4);
  expect((await holder.rig.get(`/v1/deliveries?session=${encodeURIComponent(sessionKey)}`)).body.items).toEqual([]);
});

test('a try is removed 7 days after its last change', async () => {
  const original = await turnOf('kept', 'Mine. [[reply: one]]');
  const [old, recent] = [
    await tried(`/v1/turns/${original.id}/try`, {}),
    await tried(`/v1/turns/${original.id}/try`, {}),
  ];
  await changeSessions(holder.rig, { key: old.sessionKey }, { updatedAt: ago('7 days 1 minute') });
  await changeSessions(holder.rig, { key: recent.sessionKey }, { updatedAt: ago('6 days 23 hours') });
  await changeSessions(holder.rig, { key: 'agent:main:kept' }, { updatedAt: ago('9 days') });
  await removeOldTries(holder.rig.context.service);
  const statuses = await Promise.all(
    [old.sessionKey, recent.sessionKey, 'kept'].map(async (key) => {
      return (await holder.rig.get(`/v1/sessions/${encodeURIComponent(key)}`)).status;
    }),
  );
  expect(statuses).toEqual([404, 200, 200]);
  expect((await holder.rig.get(`/v1/turns/${old.turn.id}`)).status).toBe(404);
});

test('an erased session takes its tries with it', async () => {
  const original = await turnOf('erased', 'Mine. [[reply: one]]');
  const first = await tried(`/v1/turns/${original.id}/try`, {});
  const { sessionKey } = await tried(`/v1/turns/${first.turn.id}/try`, {});
  expect((await holder.rig.ask('DELETE', '/v1/sessions/erased')).status).toBe(200);
  expect((await holder.rig.get(`/v1/sessions/${encodeURIComponent(sessionKey)}`)).status).toBe(404);
});
