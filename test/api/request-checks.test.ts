// Requests that are refused before they have an effect: bodies, strings, keys, queries. Every
// refusal is a problem with a code.
import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { createApi } from '../../src/api/create-api.ts';
import { DOOR, ROUTES } from '../../scripts/all-routes.ts';
import { ADMIN_KEY } from './api-rig.ts';
import { useApiRig } from './use-api-rig.ts';

const holder = useApiRig();
const PATH = '/v1/sessions/checks/messages';
const JSON_TYPE = { 'content-type': 'application/json' };

function postRaw(payload: string | Buffer, headers: Record<string, string> = JSON_TYPE) {
  return holder.rig.ask('POST', PATH, { payload, headers });
}

/** Arrays in arrays, `depth` of them. */
function nested(depth: number): string {
  return '['.repeat(depth) + ']'.repeat(depth);
}

test('a body that does not arrive in time is answered 408, and the connection is closed', async () => {
  const app = createApi(holder.rig.context, DOOR, { arrivalMsMax: 50 });
  const { port } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }));
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(
    `POST ${PATH} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${ADMIN_KEY}\r\ncontent-type: application/json\r\n` +
      `content-length: 100\r\n\r\n{"text": "half`,
  );
  const answer = (await socket.toArray()).join('');
  await app.close();
  expect(answer).toMatch(/^HTTP\/1.1 408 Request Timeout\r\n/);
  expect(answer).toContain('"code":"request_timeout"');
});

describe('a body', () => {
  test('over 1 MiB is 413, announced or not', async () => {
    const big = JSON.stringify({ text: 'x'.repeat(1_048_577) });
    expect(await postRaw(big)).toMatchObject({ status: 413, body: { code: 'body_too_large' } });
    const url = new URL(PATH, await holder.rig.listen());
    const chunked = await new Promise<number>((resolve, reject) => {
      const sending = request(url, {
        method: 'POST',
        headers: { ...JSON_TYPE, authorization: `Bearer ${ADMIN_KEY}` },
      });
      sending.once('response', (response) => resolve(response.resume().statusCode ?? 0));
      sending.once('error', reject);
      for (let part = 0; part < 5; part += 1) sending.write(big.slice(part * 262_144, (part + 1) * 262_144));
      sending.end();
    });
    expect(chunked).toBe(413);
  });

  test('of 1 MiB is accepted', async () => {
    const frame = JSON.stringify({ text: '' }).length;
    expect((await postRaw(JSON.stringify({ text: 'x'.repeat(1_048_576 - frame) }))).status).toBe(202);
  });

  test('deeper than 64 is 400, at any depth; 64 is accepted', async () => {
    const deep = `{"text":"x","history":${nested(64)}}`;
    expect(await postRaw(deep)).toMatchObject({
      status: 400,
      body: { code: 'invalid_body', errors: [{ message: 'nested too deeply' }] },
    });
    const fitting = await postRaw(`{"text":"x","history":${nested(63)}}`);
    expect(fitting.body.errors[0].path).toBe('history[0]');
    expect((await postRaw(nested(100_000))).status).toBe(400);
  });

  test.each([
    ['{"text":"a\\u0000b"}', 'text'],
    ['{"text":"a\\ud800"}', 'text'],
    ['{"text":"a","sender":{"name":"\\udc00x"}}', 'sender.name'],
    ['{"text":"a","history":[{"body":"ok"},{"body":"\\u0000"}]}', 'history[1].body'],
    ['{"text":"a","untrustedContext":["\\ud83d"]}', 'untrustedContext[0]'],
  ])('with a NUL or half a surrogate pair in a string is 400 with its path: %s', async (payload, path) => {
    expect(await postRaw(payload)).toMatchObject({ status: 400, body: { code: 'invalid_body', errors: [{ path }] } });
  });

  test('with such a character in a name is 400', async () => {
    expect(await postRaw('{"text":"a","x\\u0000y":1}')).toMatchObject({ status: 400, body: { code: 'invalid_body' } });
  });

  test('keeps escaped pairs, backslashes and every other character', async () => {
    const text = 'pair \u{1f600}, not an escape: \\u0000, \u2028, \ufffd';
    const answer = await postRaw(JSON.stringify({ text }).replaceAll('\u{1f600}', '\\ud83d\\ude00'));
    expect((await holder.rig.get(`/v1/messages/${answer.body.message.id}`)).body.text).toBe(text);
  });

  test('that is not UTF-8, not JSON or empty is 400', async () => {
    const bytes = Buffer.concat([Buffer.from('{"text":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]);
    expect(await postRaw(bytes)).toMatchObject({ status: 400, body: { code: 'invalid_json' } });
    expect(await postRaw('{"text":')).toMatchObject({ status: 400, body: { code: 'invalid_json' } });
    expect(await postRaw('')).toMatchObject({
      status: 400,
      body: { code: 'invalid_body', errors: [{ path: 'text' }] },
    });
    expect(await postRaw('[]')).toMatchObject({ status: 400, body: { code: 'invalid_body' } });
  });

  test.each([
    ['{"text":"a","text":"b"}', 'text'],
    ['{"text":"a","t\\u0065xt" : "b"}', 'text'],
    ['{"text":"a","sender":{"id":"1","name":"x","id":"2"}}', 'sender.id'],
    ['{"text":"a","history":[{"body":"x"},{"body":"{\\"y\\":","body":"z"}]}', 'history[1].body'],
    ['{"text":"a","__proto__":1,"__proto__":2}', '__proto__'],
  ])('that has a field twice is 400 with its path: %s', async (payload, path) => {
    expect(await postRaw(payload)).toMatchObject({ status: 400, body: { code: 'invalid_body', errors: [{ path }] } });
  });

  test('can have a field once in each of its objects, and in its strings', async () => {
    const text = String.raw`{"text":"\\","text": "x"}`;
    const body = { text, sender: { id: '1', name: 'text' }, history: [{ body: '\\' }, { body: '"body":' }] };
    expect((await postRaw(JSON.stringify(body, null, 2))).status).toBe(202);
  });

  test.each([
    [{ 'content-type': 'text/plain' }],
    [{ 'content-type': 'application/x-www-form-urlencoded' }],
    [{ 'content-type': 'nonsense' }],
  ])('of type %j is 415', async (headers) => {
    expect(await postRaw('{"text":"a"}', headers)).toMatchObject({
      status: 415,
      body: { code: 'unsupported_media_type' },
    });
  });

  test.each([
    [{ ...JSON_TYPE, 'content-encoding': 'gzip' }],
    [{ ...JSON_TYPE, 'content-encoding': 'identity, br' }],
    [{ 'content-type': 'application/json; charset=latin1' }],
    [{ 'content-type': 'application/json; charset="UTF-16"' }],
  ])('with the headers %j is 415', async (headers) => {
    expect(await postRaw('{"text":"a"}', headers)).toMatchObject({
      status: 415,
      body: { code: 'unsupported_media_type' },
    });
  });

  test.each([
    [{ ...JSON_TYPE, 'content-encoding': 'identity' }],
    [{ 'content-type': 'application/json; charset=UTF-8' }],
    [{ 'content-type': 'application/json;charset="utf-8"' }],
  ])('with the headers %j is read', async (headers) => {
    expect((await postRaw('{"text":"a"}', headers)).status).toBe(202);
  });

  test.each([
    [401, 'POST', PATH, { ...JSON_TYPE, authorization: 'Bearer wrong' }],
    [404, 'POST', '/v1/nowhere', JSON_TYPE],
    [415, 'POST', PATH, { 'content-type': 'text/plain' }],
    [415, 'POST', PATH, { ...JSON_TYPE, 'content-encoding': 'gzip' }],
    [421, 'POST', PATH, { ...JSON_TYPE, host: 'evil.example' }],
  ])('that is refused with %d before it is read closes its connection', async (status, method, path, headers) => {
    const url = new URL(path, await holder.rig.listen());
    const sending = request(url, {
      method,
      agent: new Agent({ keepAlive: true }),
      headers: { authorization: `Bearer ${ADMIN_KEY}`, 'content-length': '1000', ...headers },
    });
    sending.on('error', () => {});
    // Only a part of the body is sent.
    sending.write('{"text":');
    const [response] = (await once(sending, 'response')) as [IncomingMessage];
    expect(response.statusCode).toBe(status);
    expect(response.headers.connection).toBe('close');
    await once(response.resume(), 'close');
  });

  test.each([
    [{ text: 'a', color: 'red' }, 'color'],
    [{ text: 'a', sender: { shoe: 46 } }, 'sender.shoe'],
    [{ text: 'a', history: [{ body: 'x', by: 'y' }] }, 'history[0].by'],
    [{ text: 'a', mode: 'shout' }, 'mode'],
    [{ text: 'a', deliver: { url: 'ftp://example.org' } }, 'deliver.url'],
    [{ text: 'a', deliver: { url: 'https://user:pass@example.org' } }, 'deliver.url'],
    [{ text: 'a', timestamp: 'yesterday' }, 'timestamp'],
    [{ text: 'a', channel: null }, 'channel'],
    [{ text: '' }, 'text'],
    [{}, 'text'],
  ])('that is invalid is 400 with the path of the fault: %j', async (payload, path) => {
    const answer = await holder.rig.post(PATH, payload);
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_body' } });
    expect(answer.body.errors.map((error: { path: string }) => error.path)).toContain(path);
  });

  test('with __proto__ or constructor is refused as any unknown field', async () => {
    expect((await postRaw('{"text":"a","__proto__":{"mode":"steer"}}')).body.errors[0].path).toBe('__proto__');
    expect((await postRaw('{"text":"a","constructor":{}}')).body.errors[0].path).toBe('constructor');
  });
});

describe('a session key', () => {
  test.each([['a b'], ['ä'], ['a%2Fb'], ['x'.repeat(201)], ['agent:main'], ['agent::x'], ['%00'], ['%F0%9F%98%80']])(
    'that is %j is 400',
    async (key) => {
      const answer = await holder.rig.get(`/v1/sessions/${key}`);
      expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_session_key', errors: [{ path: 'key' }] } });
    },
  );

  test('is lower-cased and belongs to the agent main unless it names another', async () => {
    const answer = await holder.rig.post('/v1/sessions/Telegram:Direct:Ada%40Example.org/messages', { text: 'x' });
    expect(answer.body.session.key).toBe('agent:main:telegram:direct:ada@example.org');
    expect((await holder.rig.get('/v1/sessions/agent:main:TELEGRAM:direct:ada@example.org')).status).toBe(200);
  });

  test('of 200 characters is accepted', async () => {
    const key = 'k'.repeat(200);
    expect((await holder.rig.post(`/v1/sessions/${key}/messages`, { text: 'x' })).status).toBe(202);
  });

  test('that is not valid percent-encoding is 400', async () => {
    expect(await holder.rig.get('/v1/sessions/%zz')).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
  });
});

describe('a query', () => {
  test.each([
    ['/v1/sessions?limit=0', 'limit'],
    ['/v1/sessions?limit=abc', 'limit'],
    ['/v1/sessions?limit=1&limit=2', 'limit'],
    ['/v1/sessions?colour=red', 'colour'],
    ['/v1/turns?tag=%00:x', 'tag'],
    ['/v1/usage?tag=a:%00', 'tag'],
    ['/v1/sessions?cursor=AAAA', 'cursor'],
    ['/v1/turns?status=gone', 'status'],
    ['/v1/turns?since=soon', 'since'],
    ['/v1/events?types=turn.started,nothing', 'types'],
    ['/v1/events?after=x', 'after'],
    ['/v1/messages/01a200b2-af01-73e8-8681-83b97fe6f9f3?x=1', 'x'],
  ])('that is invalid is 400 with its name: %s', async (url, path) => {
    expect(await holder.rig.get(url)).toMatchObject({
      status: 400,
      body: { code: 'invalid_query', errors: [{ path }] },
    });
  });

  test('limit over the largest page is lowered to it', async () => {
    expect((await holder.rig.get('/v1/sessions?limit=100000')).status).toBe(200);
  });
});

test.each([
  ['text=hello', "Unexpected token 'e'"],
  ['\ufeff{"text":"x"}', 'it begins with a byte order mark'],
  ['{"text":"x"} trailing', 'Unexpected non-whitespace character after JSON at position 13 (line 1 column 14)'],
  ['{"text":"a\tb"}', 'Bad control character in string literal in JSON at position 10 (line 1 column 11)'],
  ['{"text":\'x\'}', "Unexpected token '''"],
  ['{"text":hunter2 in JSON at position 1}', "Unexpected token 'h'"],
  ['{"text":', 'Unexpected end of JSON input'],
  ['{"text":"x', 'Unterminated string in JSON at position 10 (line 1 column 11)'],
])('a body that is not JSON is refused with what is wrong and without a part of it (G31): %s', async (body, fault) => {
  expect(await postRaw(body)).toMatchObject({
    status: 400,
    body: { code: 'invalid_json', detail: `The body is not valid JSON: ${fault}.` },
  });
});

test('HEAD is answered as GET without the body, on every path and without a key where GET needs none', async () => {
  const { app } = holder.rig;
  const paths = ROUTES.filter(({ method }) => method === 'GET').map(({ path }) => path.replaceAll(/\{\w+\}/g, 'x'));
  const headers = { authorization: `Bearer ${ADMIN_KEY}` };
  for (const url of new Set(paths)) {
    const head = await app.inject({ method: 'HEAD', url, headers });
    expect([url, head.rawPayload.length]).toEqual([url, 0]);
    // The stream of all events has no end.
    const get = url === '/v1/events' ? { statusCode: 200 } : await app.inject({ url, headers });
    expect([url, head.statusCode]).toEqual([url, get.statusCode]);
    if (url === '/v1/events') expect(head.headers['content-type']).toBe('text/event-stream; charset=utf-8');
  }
  for (const url of ['/healthz', '/readyz']) expect((await app.inject({ method: 'HEAD', url })).statusCode).toBe(200);
  expect((await app.inject({ method: 'HEAD', url: '/v1/sessions' })).statusCode).toBe(401);
});

const TOO_LATE = ['9999-12-31T23:59:59-12:00', '0000-01-01T00:00:00+12:00', '0000-06-01T00:00:00Z'];

test.each(TOO_LATE)('a time that the database cannot have is refused with its field: %s', async (time) => {
  const { rig } = holder;
  const bodies = [
    ['/v1/sessions/late/messages', { text: 'x', deliverAt: time }, 'deliverAt'],
    ['/v1/sessions/late/messages', { text: 'x', expiresAt: time }, 'expiresAt'],
    ['/v1/sessions/late/messages', { text: 'x', timestamp: time }, 'timestamp'],
    ['/v1/keys', { name: 'late', role: 'viewer', expiresAt: time }, 'expiresAt'],
    ['/v1/crons', { schedule: { kind: 'at', at: time }, payload: { kind: 'systemEvent', text: 'x' } }, 'schedule.at'],
    [
      '/v1/crons',
      { schedule: { kind: 'every', everyMs: 60_000, anchor: time }, payload: { kind: 'systemEvent', text: 'x' } },
      'schedule.anchor',
    ],
    ['/v1/bulk-actions', { action: 'retry', target: 'turns', filter: { since: time } }, 'filter.since'],
    ['/v1/batches', { items: [{ text: 'x', deliverAt: time }] }, 'items[0].deliverAt'],
  ] as const;
  for (const [url, body, path] of bodies) {
    const answer = await rig.post(url, body);
    expect([url, answer.status, answer.body.errors?.[0]?.path]).toEqual([url, 400, path]);
  }
  for (const { path, query } of ROUTES.filter(({ method, path }) => method === 'GET' && !path.includes('{'))) {
    for (const name of Object.keys((query as { shape?: object } | undefined)?.shape ?? {})) {
      if (!['since', 'until', 'from', 'to'].includes(name)) continue;
      const answer = await rig.get(`${path}?q=x&${name}=${encodeURIComponent(time)}`);
      expect([path, name, answer.status, answer.body.errors?.[0]?.path]).toEqual([path, name, 400, name]);
    }
  }
});

test('the first and the last time that is taken can be asked for everywhere', async () => {
  for (const { path, query } of ROUTES.filter(({ method, path }) => method === 'GET' && !path.includes('{'))) {
    for (const name of Object.keys((query as { shape?: object } | undefined)?.shape ?? {})) {
      if (!['since', 'until', 'from', 'to'].includes(name)) continue;
      for (const time of ['0001-01-01T00:00:00Z', '9999-12-31T23:59:59Z']) {
        const answer = await holder.rig.get(`${path}?${name}=${time}`);
        expect([path, name, time, answer.status >= 500]).toEqual([path, name, time, false]);
      }
    }
  }
});

test('a number of milliseconds beyond the year 9999 is refused', async () => {
  const late = { text: 'x', deliverAt: 253_402_300_800_000 };
  expect(await holder.rig.post('/v1/sessions/late/messages', late)).toMatchObject({
    status: 400,
    body: { errors: [{ path: 'deliverAt' }] },
  });
});

test.each([
  ['DELETE', '/v1/sessions', 'GET, HEAD'],
  ['PUT', '/v1/crons', 'GET, HEAD, POST'],
  ['GET', '/v1/turns/01a200b2-af01-73e8-8681-83b97fe6f9f3/abort', 'POST'],
  ['POST', '/healthz', 'GET, HEAD'],
  ['DELETE', '/v1/crons/01a200b2-af01-73e8-8681-83b97fe6f9f3/fires', 'GET, HEAD'],
] as const)('a method that its path does not take is 405 with Allow: %s %s', async (method, url, allow) => {
  const answer = await holder.rig.ask(method, url);
  expect(answer).toMatchObject({ status: 405, headers: { allow }, body: { code: 'method_not_allowed' } });
  expect(answer.body.detail).toContain(allow);
});

describe('an unknown path or id', () => {
  test.each([
    ['GET', '/v1/messages/01a200b2-af01-73e8-8681-83b97fe6f9f3'],
    ['GET', '/v1/messages/not-a-uuid'],
    ['GET', '/v1/sessions/nobody-spoke-here'],
    ['PATCH', '/v1/sessions/nobody-spoke-here'],
    ['GET', '/v1/sessions/nobody-spoke-here/transcript'],
    ['GET', '/v1/sessions/nobody-spoke-here/system-events'],
    ['POST', '/v1/sessions/nobody-spoke-here/abort'],
    ['GET', '/v1/turns/01a200b2-af01-73e8-8681-83b97fe6f9f3'],
    ['GET', '/v1/turns/01a200b2-af01-73e8-8681-83b97fe6f9f3/events'],
    ['GET', '/v1/turns/01a200b2-af01-73e8-8681-83b97fe6f9f3/requests/1'],
    ['GET', '/v1/turns/01a200b2-af01-73e8-8681-83b97fe6f9f3/requests/0'],
    ['POST', '/v1/turns/01a200b2-af01-73e8-8681-83b97fe6f9f3/abort'],
    ['POST', '/v1/turns/01a200b2-af01-73e8-8681-83b97fe6f9f3/retry'],
    ['POST', '/v1/deliveries/01a200b2-af01-73e8-8681-83b97fe6f9f3/redrive'],
    ['POST', '/v1/deliveries/01a200b2-af01-73e8-8681-83b97fe6f9f3/discard'],
    ['GET', '/v1/croissants'],
    ['POST', '/v1/batches/01a200b2-af01-73e8-8681-83b97fe6f9f3/pause'],
    ['GET', '/nothing'],
  ] as const)('is a 404 problem: %s %s', async (method, url) => {
    const answer = await holder.rig.ask(method, url);
    expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/);
    expect(answer.body).toMatchObject({ status: 404, code: 'not_found', instance: url, title: 'Not found' });
    expect(answer.status).toBe(404);
  });
});

describe('x-request-id', () => {
  test('is returned as it was sent, and in the problem', async () => {
    const answer = await holder.rig.get('/v1/nothing', { 'x-request-id': 'trace-42' });
    expect(answer.headers['x-request-id']).toBe('trace-42');
    expect(answer.body.requestId).toBe('trace-42');
  });

  test('is generated when it is missing or invalid', async () => {
    const answer = await holder.rig.get('/healthz', { 'x-request-id': 'a b' });
    expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}\.\d+$/);
  });
});
