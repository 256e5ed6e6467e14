// Goal: keys with a scope use the endpoints of OpenAI for their part, and what is outside answers as
// what never was (G44). Method: two keys for different sessions of one agent, and one for another.
import { beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../../src/ids.ts';
import { readSessions } from '../../rows/sessions.ts';
import { eventually, useApiRig } from '../../api/use-api-rig.ts';
import { expectSame, makeScopedKey, type ScopedKey } from '../../api/scoped-key.ts';
import { batchRig } from '../batches/batch-rig.ts';

const holder = useApiRig({ isOneProcess: true, file: { agents: { list: [{ id: 'main' }, { id: 'helper' }] } } });

const keys = {} as { shop: ScopedKey; office: ScopedKey; main: ScopedKey; helper: ScopedKey };
beforeAll(async () => {
  keys.shop = await makeScopedKey(holder.rig, { sessions: ['agent:main:shop:*'] });
  keys.office = await makeScopedKey(holder.rig, { sessions: ['agent:main:office:*'] });
  keys.main = await makeScopedKey(holder.rig, { agents: ['main'] });
  keys.helper = await makeScopedKey(holder.rig, { agents: ['helper'] });
});

/** A response that runs in the background, and has ended. */
async function respond(key: ScopedKey, body: object, headers: Record<string, string> = {}) {
  const answer = await key.post('/v1/responses', { model: 'holdfast', background: true, ...body }, headers);
  if (answer.status !== 200) return answer;
  await holder.rig.work(String(answer.headers['x-holdfast-session-key']));
  // Its state is read from the events, which are hidden while an older transaction of the server
  // runs, also one of another database.
  const readStatus = async () => (await key.get(`/v1/responses/${answer.body.id}`)).body.status;
  await eventually(readStatus).toBe('completed');
  return answer;
}

const unknownResponse = (): string => `resp_${newId<string>().replaceAll('-', '')}`;
const sessionOf = (answer: { headers: Record<string, unknown> }) => String(answer.headers['x-holdfast-session-key']);

describe('a conversation of a key with a scope', () => {
  test('belongs to the key, also when another key has the whole agent (G44)', async () => {
    const { shop, office, main } = keys;
    for (const more of [{}, { user: 'ada' }, { conversation: 'one' }]) {
      const answer = await respond(shop, { input: '[[reply: hello]]', ...more });
      const session = sessionOf(answer);
      const [row] = await readSessions(holder.rig, { key: session }, 'root');
      expect(row).toEqual({ root: expect.stringMatching(/^.+\/$/) });
      expect((await shop.get(`/v1/sessions/${session}`)).status).toBe(200);
      expect((await shop.get(`/v1/responses/${answer.body.id}`)).body).toMatchObject({ status: 'completed' });
      for (const key of [office, main]) {
        expect((await key.get(`/v1/sessions/${session}`)).status).toBe(404);
        const unknown = unknownResponse();
        const ids = [answer.body.id, unknown];
        for (const [method, end] of [
          ['GET', ''],
          ['DELETE', ''],
          ['POST', '/cancel'],
        ] as const) {
          const [foreign, never] = await Promise.all(ids.map((id) => key.ask(method, `/v1/responses/${id}${end}`)));
          expectSame([foreign!, answer.body.id], [never!, unknown]);
          expect(never!.body.error).toMatchObject({ type: 'invalid_request_error', code: 'not_found' });
        }
      }
    }
  });

  test('continues by the id of its last response, which another key cannot name (G44)', async () => {
    const { shop, office } = keys;
    const first = await respond(shop, { input: '[[reply: one]]' });
    const second = await respond(shop, { input: '[[reply: two]]', previous_response_id: first.body.id });
    expect(sessionOf(second)).toBe(sessionOf(first));
    // A branch, which has the root of the session that it comes from.
    const branch = await respond(shop, { input: '[[reply: three]]', previous_response_id: first.body.id });
    expect(sessionOf(branch)).not.toBe(sessionOf(first));
    expect((await shop.get(`/v1/sessions/${sessionOf(branch)}`)).status).toBe(200);
    expect((await keys.main.get(`/v1/sessions/${sessionOf(branch)}`)).status).toBe(404);
    const unknown = unknownResponse();
    const follow = (id: string) => respond(office, { input: 'mine', previous_response_id: id });
    expectSame([await follow(first.body.id), first.body.id], [await follow(unknown), unknown]);
    const itemOf = (id: string) => `msg_${id.slice('resp_'.length)}`;
    const refer = (id: string) =>
      respond(office, {
        input: [
          { type: 'item_reference', id },
          { role: 'user', content: 'x' },
        ],
      });
    expectSame(
      [await refer(itemOf(first.body.id)), itemOf(first.body.id)],
      [await refer(itemOf(unknown)), itemOf(unknown)],
    );
  });

  test('is in a session inside, if the request names one (G44)', async () => {
    const { shop, office } = keys;
    const named = await respond(shop, { input: '[[reply: hi]]' }, { 'x-holdfast-session-key': 'shop:named' });
    expect(sessionOf(named)).toBe('agent:main:shop:named');
    const [foreign, unknown] = ['agent:main:shop:named', 'agent:main:shop:nothing'];
    const body = { model: 'holdfast', messages: [{ role: 'user', content: 'hi' }] };
    for (const send of [
      (key: string) => respond(office, { input: 'hi' }, { 'x-holdfast-session-key': key }),
      (key: string) => office.post('/v1/chat/completions', body, { 'x-holdfast-session-key': key }),
    ]) {
      expectSame([await send(foreign), foreign], [await send(unknown), unknown]);
    }
    // The names of users are of the key: the same name of another key is another conversation.
    const [ofShop, ofOffice] = [shop, office].map((key) => respond(key, { input: '[[reply: hi]]', user: 'bob' }));
    expect(sessionOf(await ofShop!)).not.toBe(sessionOf(await ofOffice!));
  });

  test('has no answers to requests of the key that it replaces, which had more (G44)', async () => {
    const { rig } = holder;
    const name = `whole-${newId<string>()}`;
    const first = await rig.post('/v1/keys', { name, role: 'operator' });
    const sessions = ['agent:main:shop:*'];
    const next = await rig.post('/v1/keys', { name: `${name}-2`, role: 'operator', replaces: name, sessions });
    expect(next.status).toBe(201);
    const send = async (made: typeof next, path: string, body: object, more: object) =>
      (await rig.post(path, body, { authorization: `Bearer ${made.body.key}`, ...more })).body;
    const response = { model: 'holdfast', background: true, input: '[[reply: a secret]]' };
    const key = { 'idempotency-key': 'again' };
    for (const [path, body] of [
      ['/v1/responses', response],
      ['/v1/batches', { items: [{ text: 'a secret' }] }],
    ] as const) {
      const id = (await send(first, path, body, key)).id;
      const own = (await send(next, path, body, key)).id;
      expect(own).toEqual(expect.any(String));
      expect(own).not.toBe(id);
      expect((await send(next, path, body, key)).id).toBe(own);
    }
    await send(first, '/v1/responses', response, { 'idempotency-key': 'of-the-first' });
    // A client that repeats a request by itself.
    const repeated = { ...response, input: '[[reply: another secret]]' };
    const { id } = await send(first, '/v1/responses', repeated, {});
    const own = (await send(next, '/v1/responses', repeated, { 'x-stainless-retry-count': '1' })).id;
    expect(own).toEqual(expect.any(String));
    expect(own).not.toBe(id);
    // Another body under the key of the other is no conflict, which would say that it was used.
    const other = { ...response, input: '[[reply: mine]]' };
    expect((await send(next, '/v1/responses', other, { 'idempotency-key': 'of-the-first' })).id).toEqual(
      expect.any(String),
    );
  });

  test('waits for results of its client, which no other key can send (G44)', async () => {
    const { shop, office } = keys;
    const tools = [{ type: 'function', name: 'look', parameters: { type: 'object' } }];
    const asked = await respond(shop, { input: '[[tool: look {}]] [[reply: seen]]', tools });
    const [call] = (await shop.get(`/v1/responses/${asked.body.id}`)).body.output;
    expect(call).toMatchObject({ type: 'function_call', name: 'look' });
    const unknown = `call_${newId<string>().replaceAll('-', '')}_1_1`;
    const send = (key: ScopedKey, id: string) =>
      key.post('/v1/responses', {
        model: 'holdfast',
        background: true,
        input: [{ type: 'function_call_output', call_id: id, output: 'mine' }],
      });
    const [foreign, never] = [await send(office, call.call_id), await send(office, unknown)];
    expect(foreign.status).toBe(400);
    expect(JSON.stringify(foreign.body).replaceAll(call.call_id, '-')).toBe(
      JSON.stringify(never.body).replaceAll(unknown, '-'),
    );
    expect((await send(shop, call.call_id)).status).toBe(200);
  });
});

test('a key with a scope has the agents of which it has something as models (G44)', async () => {
  const { shop, helper } = keys;
  const idsOf = async (key: ScopedKey) => (await key.get('/v1/models')).body.data.map(({ id }: { id: string }) => id);
  expect((await idsOf(shop)).filter((id: string) => id.startsWith('holdfast'))).toEqual(['holdfast', 'holdfast:main']);
  expect((await idsOf(helper)).filter((id: string) => id.startsWith('holdfast'))).toEqual([
    'holdfast',
    'holdfast:helper',
  ]);
  expectSame(
    [await shop.get('/v1/models/holdfast:helper'), 'helper'],
    [await shop.get('/v1/models/holdfast:nobody'), 'nobody'],
  );
  const ask = (agent: string) => respond(shop, { input: 'hi', model: `holdfast:${agent}` });
  expectSame([await ask('helper'), 'helper'], [await ask('nobody'), 'nobody']);
  const byHeader = (agent: string) => respond(shop, { input: 'hi' }, { 'x-holdfast-agent-id': agent });
  expectSame([await byHeader('helper'), 'helper'], [await byHeader('nobody'), 'nobody']);
  // Without a name, the first that it may use.
  expect(sessionOf(await respond(helper, { input: '[[reply: hi]]' }))).toMatch(/^agent:helper:openai:/);
});

test('a file and the batch of its lines belong to the key that made them (G44)', async () => {
  const { shop, office } = keys;
  const upload = async (key: ScopedKey, text: string) => {
    const form = [
      '--cut\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n',
      `--cut\r\nContent-Disposition: form-data; name="file"; filename="lines.jsonl"\r\n\r\n${text}\n\r\n--cut--\r\n`,
    ].join('');
    return key.post('/openai/v1/files', form, { 'content-type': 'multipart/form-data; boundary=cut' });
  };
  const line = {
    custom_id: 'a',
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model: 'holdfast', messages: [{ role: 'user', content: '[[reply: one]]' }] },
  };
  const file = await upload(shop, JSON.stringify(line));
  expect(file.status).toBe(200);
  const submit = (key: ScopedKey, id: string) =>
    key.post('/openai/v1/batches', {
      input_file_id: id,
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
    });
  const made = await submit(shop, file.body.id);
  expect(made.status).toBe(200);
  const [batch] = (await shop.get('/v1/batches')).body.items;
  await batchRig(holder.rig).run(batch.id);
  const ended = (await shop.get(`/openai/v1/batches/${made.body.id}`)).body;
  expect(ended).toMatchObject({ status: 'completed', request_counts: { completed: 1 } });
  expect((await shop.get(`/openai/v1/files/${ended.output_file_id}/content`)).body.toString()).toContain('one');

  const hex = newId<string>().replaceAll('-', '');
  const pairs = [
    [file.body.id, `file-${hex}`],
    [ended.output_file_id, `file-${hex}-output`],
  ];
  for (const [id, unknown] of pairs) {
    for (const part of ['', '/content'])
      expectSame(
        [await office.get(`/openai/v1/files/${id}${part}`), id],
        [await office.get(`/openai/v1/files/${unknown}${part}`), unknown],
      );
    const remove = (one: string) => office.ask('DELETE', `/openai/v1/files/${one}`);
    expectSame([await remove(id), id], [await remove(unknown), unknown]);
  }
  for (const ask of [
    (id: string) => office.get(`/openai/v1/batches/${id}`),
    (id: string) => office.post(`/openai/v1/batches/${id}/cancel`),
  ])
    expectSame([await ask(made.body.id), made.body.id], [await ask(`batch_${hex}`), `batch_${hex}`]);
  const [foreign, never] = [await submit(office, file.body.id), await submit(office, `file-${hex}`)];
  expect(foreign.status).toBe(400);
  expect(JSON.stringify(foreign.body).replaceAll(file.body.id, '-')).toBe(
    JSON.stringify(never.body).replaceAll(`file-${hex}`, '-'),
  );
  for (const [key, count] of [
    [shop, 1],
    [office, 0],
  ] as const) {
    expect((await key.get('/openai/v1/files')).body.data).toHaveLength(count);
    expect((await key.get('/openai/v1/batches')).body.data).toHaveLength(count);
  }
  // Lines that are refused are the errors of a batch of the same key.
  const wrong = await submit(shop, (await upload(shop, '{"not": "a line"}')).body.id);
  expect(wrong.body).toMatchObject({ status: 'failed' });
  expect((await office.get(`/openai/v1/batches/${wrong.body.id}`)).status).toBe(404);
});
