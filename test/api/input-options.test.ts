// The options of inputs over HTTP: what is refused, and what a turn gets.
import { describe, expect, test } from 'vitest';
import { batchRig } from '../features/batches/batch-rig.ts';
import { endGathering } from '../rows/doorbells.ts';
import { readInputs } from '../rows/inputs.ts';
import { readSessions } from '../rows/sessions.ts';
import { having } from '../rows/table.ts';
import { useApiRig } from './use-api-rig.ts';

const holder = useApiRig();

const cron = { schedule: { kind: 'every', everyMs: 60_000 }, payload: { kind: 'agentTurn', message: 'Report.' } };

/** Every way to start turns, with the path of a request and a body that is right. */
const WAYS: [string, object][] = [
  ['/v1/sessions/refused/messages', { text: 'hello' }],
  ['/v1/sessions/refused/spawn', { task: 'count' }],
  ['/v1/crons', cron],
  ['/v1/batches', { items: [{ text: 'one' }] }],
];

test.each(WAYS)(
  'POST %s refuses tools that do not exist, and names the field, the value and what is allowed',
  async (path, body) => {
    const named = await holder.rig.post(path, { ...body, tools: { allow: ['read'], deny: ['write', 'exce'] } });
    expect(named).toMatchObject({
      status: 400,
      body: {
        code: 'invalid_body',
        errors: [{ path: 'tools.deny[1]', message: expect.stringMatching(/exec.*"exce"/) }],
      },
    });
    const shaped = await holder.rig.post(path, { ...body, tools: ['read'] });
    expect(shaped).toMatchObject({ status: 400, body: { errors: [{ path: 'tools' }] } });
  },
);

test('a message with tools is answered by a turn that has only those', async () => {
  const { rig } = holder;
  const sent = await rig.post('/v1/sessions/narrow/messages', { text: '[[tool: echo {}]]', tools: { allow: [] } });
  expect(sent.status).toBe(202);
  await rig.work('narrow');
  expect((await rig.get(`/v1/messages/${sent.body.message.id}`)).body.status).toBe('answered');
  expect(JSON.stringify(rig.turns.scripted.requests.at(-1)?.body)).toContain('Available tools: none.');
});

describe('the form of an answer', () => {
  const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
  const responseFormat = { type: 'json_schema', schema, name: 'count' };
  const withFormat = (path: string, body: object, format: object): object =>
    path === '/v1/crons'
      ? { ...cron, payload: { ...cron.payload, responseFormat: format } }
      : { ...body, responseFormat: format };

  test.each(WAYS)('POST %s names the keyword of a schema that is not supported', async (path, body) => {
    const format = { type: 'json_schema', schema: { ...schema, properties: { n: { if: {} } } } };
    const at = path === '/v1/crons' ? 'payload.responseFormat' : 'responseFormat';
    expect(await holder.rig.post(path, withFormat(path, body, format))).toMatchObject({
      status: 400,
      body: {
        code: 'invalid_body',
        errors: [{ path: `${at}.schema.properties.n.if`, message: expect.stringContaining('"if" is not supported') }],
      },
    });
  });

  test('holds for a message, a subagent and a cron, and its value is read beside the reply', async () => {
    const { rig } = holder;
    const text = 'Count. [[reply: {"n": 12345678901234567890}]]';
    const send = (prefer: object) =>
      rig.post('/v1/sessions/formed/messages', { text, responseFormat }, { 'idempotency-key': 'formed', ...prefer });
    await send({});
    await rig.work('formed');
    const settled = await send({ prefer: 'wait=60' });
    expect(settled).toMatchObject({ status: 200, body: { reply: '{"n": 12345678901234567890}' } });
    expect(JSON.stringify(settled.body.output)).toBe(JSON.stringify(settled.body.turn.output));
    const spawned = await rig.post('/v1/sessions/formed/spawn', { task: 'Count. [[reply: {"n": 2}]]', responseFormat });
    const child = spawned.body.childSessionKey;
    await rig.work(child);
    expect((await rig.get(`/v1/turns?session=${child}`)).body.items).toMatchObject([{ output: { n: 2 } }]);
    // Its announcement asks for no form.
    await endGathering(rig);
    await rig.work('formed');
    expect((await rig.get('/v1/turns?session=formed')).body.items[0]).toMatchObject({ kind: 'announce', output: null });
    const payload = { ...cron.payload, message: 'Count. [[reply: {"n": 3}]]', responseFormat };
    const made = await rig.post('/v1/crons', { ...cron, payload });
    expect(made.body.payload).toEqual(payload);
    await rig.post(`/v1/crons/${made.body.id}/run`, {});
    const key = `agent:main:cron:${made.body.id}`;
    await rig.work(key);
    expect((await rig.get(`/v1/turns?session=${key}`)).body.items).toMatchObject([{ output: { n: 3 } }]);
  });
});

describe('tags', () => {
  /** The ids of a list. */
  async function idsOf(path: string): Promise<string[]> {
    const { status, body } = await holder.rig.get(path);
    expect(status, JSON.stringify(body)).toBe(200);
    return body.items.map((item: { id: string }) => item.id);
  }

  test('find the messages, turns, sessions and costs that have them, and are shown with them', async () => {
    const { rig } = holder;
    const tags = { customer: '42', url: 'https://example.com/a' };
    const tagged = await rig.post('/v1/sessions/tagged/messages', { text: 'hello', tags });
    expect(tagged.body.message.tags).toEqual(tags);
    await rig.work('tagged');
    const plain = await rig.post('/v1/sessions/plain/messages', { text: 'hello' });
    expect(plain.body.message.tags).toEqual({});
    await rig.work('plain');

    const { id } = tagged.body.message;
    const message = (await rig.get(`/v1/messages/${id}`)).body;
    expect(message.tags).toEqual(tags);
    expect((await rig.get(`/v1/turns/${message.turnId}`)).body.tags).toEqual(tags);
    for (const tag of ['customer:42', `url:${encodeURIComponent(tags.url)}`]) {
      expect(await idsOf(`/v1/messages?tag=${tag}`)).toEqual([id]);
      expect(await idsOf(`/v1/messages?tag=${tag}&session=tagged&status=answered&ids=${id}`)).toEqual([id]);
      expect(await idsOf(`/v1/messages?tag=${tag}&session=plain`)).toEqual([]);
      expect(await idsOf(`/v1/turns?tag=${tag}`)).toEqual([message.turnId]);
      expect(await idsOf(`/v1/sessions?tag=${tag}`)).toEqual([tagged.body.session.id]);
      expect(await idsOf(`/v1/sessions?tag=${tag}&order=updated&q=tagged`)).toEqual([tagged.body.session.id]);
      const { items } = (await rig.get(`/v1/usage?by=hour&tag=${tag}`)).body;
      expect(items).toMatchObject([{ turns: 1, calls: 1 }]);
      const top = (await rig.get(`/v1/usage/top?tag=${tag}`)).body;
      expect(top).toMatchObject({ turnsRead: 1, turns: [{ id: message.turnId, costMicros: items[0].costMicros }] });
    }
    expect(await idsOf('/v1/turns?tag=customer:4')).toEqual([]);
    expect((await rig.get('/v1/sessions/tagged')).body.tags).toEqual(tags);
    expect((await rig.get('/v1/sessions/plain')).body.tags).toEqual({});
    await rig.post('/v1/sessions/tagged/messages', { text: 'again', tags: { customer: '42' } });
    const listed = await rig.get('/v1/sessions?tag=customer:42&order=updated');
    expect(listed.body.items).toMatchObject([{ tags: { customer: '42' } }]);
    expect((await rig.get('/v1/turns/count?tag=customer:42')).body.count).toBe(1);
    const failed = await rig.settle('tagged-too', '[[error: 400 times=always]]', { tags: { customer: '42' } });
    const filter = { tag: 'customer:42' };
    const bulk = await rig.post('/v1/bulk-actions', { action: 'retry', target: 'turns', filter, dryRun: true });
    expect(bulk.body).toMatchObject({ total: 1, ids: [failed.turnId] });
  });

  test('are taken over by what a turn starts, which adds its own', async () => {
    const { rig } = holder;
    const tags = { customer: '43', kind: 'order' };
    const spawned = await rig.post('/v1/sessions/parent/spawn', { task: 'count', tags: { ...tags, kind: 'count' } });
    const { childSessionKey } = spawned.body;
    await rig.work(childSessionKey.replace('agent:main:', ''));
    await endGathering(rig);
    await rig.work('parent');
    const turns = (await rig.get('/v1/turns?tag=customer:43')).body.items;
    expect(turns.map(({ kind, tags: shown }: { kind: string; tags: object }) => [kind, shown])).toEqual([
      ['announce', { customer: '43', kind: 'count' }],
      ['message', { customer: '43', kind: 'count' }],
    ]);
    const batches = batchRig(rig);
    const made = await batches.submit({ tags, items: [{ text: 'one' }, { text: 'two', tags: { kind: 'item' } }] });
    expect(made.body.tags).toEqual(tags);
    await batches.run(made.body.id);
    const items = (await rig.get(`/v1/messages?tag=customer:43&limit=2`)).body.items;
    expect(items.map((item: { tags: object }) => item.tags)).toEqual([{ kind: 'item', customer: '43' }, tags]);
    const cron = await rig.post('/v1/crons', {
      schedule: { kind: 'every', everyMs: 3_600_000 },
      payload: { kind: 'agentTurn', message: 'Report.' },
      tags,
    });
    expect(cron.body.tags).toEqual(tags);
    const { messageId } = (await rig.post(`/v1/crons/${cron.body.id}/run`, {})).body;
    expect((await rig.get(`/v1/messages/${messageId}`)).body.tags).toEqual(tags);
  });

  test('come from the metadata of a client of OpenAI', async () => {
    const { rig } = holder;
    const body = { model: 'agent:main', messages: [{ role: 'user', content: 'hello' }], metadata: { customer: '44' } };
    const answering = rig.post('/v1/chat/completions', body);
    await expect.poll(() => idsOf('/v1/messages?tag=customer:44')).toHaveLength(1);
    const [input] = await readInputs(rig, { tags: having({ customer: '44' }) }, 'sessionId');
    const [session] = await readSessions(rig, { id: input!.sessionId }, 'key');
    await rig.work(session!.key);
    expect((await answering).status).toBe(200);
    expect(await idsOf('/v1/turns?tag=customer:44')).toHaveLength(1);
  });

  const many = Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`key${n}`, 'value']));
  test.each([
    [many, 'tags', /at most 16/],
    [{ 'a:b': 'c' }, 'tags.a:b', /without a colon/],
    [{ a: 'x'.repeat(513) }, 'tags.a', /512/],
    [{ a: 1 }, 'tags.a', /allowed: a text/],
    [['a'], 'tags', /./],
  ])('that do not fit are refused with the field and what is allowed (%#)', async (tags, path, allowed) => {
    for (const [place, body] of WAYS) {
      const refused = await holder.rig.post(place, { ...body, tags });
      expect(refused).toMatchObject({ status: 400, body: { code: 'invalid_body' } });
      const [error] = refused.body.errors;
      expect(error.path).toBe(path);
      expect(error.message).toMatch(allowed);
    }
    const query = await holder.rig.get('/v1/turns?tag=customer');
    expect(query).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'tag', message: expect.stringContaining('customer:42') }] },
    });
  });
});
