// Browsers: signing in with a key or a code, and the limits of a cookie.
import { describe, expect, test } from 'vitest';
import { changeSignInCodes, changeWebSessions } from '../rows/keys.ts';
import { ago, earlier } from '../rows/table.ts';
import { ADMIN_KEY } from './api-rig.ts';
import { eventually, useApiRig } from './use-api-rig.ts';

const holder = useApiRig({ keys: [{ name: 'screen', role: 'viewer', key: 'screen-key-0123456789' }] });

const PATH = '/v1/auth/sessions';
const HOST = '127.0.0.1:7420';
/** The headers of a request from a page of the service. */
const ASKED = { 'x-holdfast-request': '1', origin: `http://${HOST}`, 'sec-fetch-site': 'same-origin' };

type Method = 'GET' | 'POST' | 'DELETE';

/** Sends requests like a browser: with cookies, and without an API key. */
async function browse(method: Method, url: string, headers: Record<string, string> = {}, payload?: object) {
  const answer = await holder.rig.app.inject({
    method,
    url,
    headers: { host: HOST, ...headers },
    ...(payload === undefined ? {} : { payload }),
  });
  return { status: answer.statusCode, headers: answer.headers, body: answer.body === '' ? null : answer.json() };
}

function cookieOf({ headers }: { headers: Record<string, unknown> }): string {
  return String(headers['set-cookie']).split(';', 1)[0] ?? '';
}

async function signedIn(key = ADMIN_KEY): Promise<{ cookie: string }> {
  const answer = await browse('POST', PATH, {}, { key });
  expect(answer.status).toBe(204);
  return { cookie: cookieOf(answer) };
}

async function codeOf(key = ADMIN_KEY): Promise<string> {
  return (await holder.rig.post('/v1/auth/codes', {}, { authorization: `Bearer ${key}` })).body.code;
}

describe('with a key', () => {
  test('a browser gets a cookie that scripts cannot read and that other ports do not use', async () => {
    const answer = await browse('POST', PATH, {}, { key: ADMIN_KEY });
    expect(answer.headers['set-cookie']).toMatch(
      /^holdfast_7420=[0-9a-f-]{36}\.[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=43200$/,
    );
    const current = await browse('GET', `${PATH}/current`, { cookie: `other=1; ${cookieOf(answer)}` });
    expect(current).toMatchObject({ status: 200, body: { principal: 'admin', role: 'admin' } });
    const hours = (Date.parse(current.body.expiresAt) - Date.now()) / 3_600_000;
    expect(Math.round(hours)).toBe(12);
  });

  test('the cookie has the role of its key', async () => {
    const cookie = await signedIn('screen-key-0123456789');
    expect((await browse('GET', '/v1/turns', cookie)).status).toBe(200);
    const refused = await browse('POST', '/v1/sessions/main/abort', { ...cookie, ...ASKED });
    expect(refused).toMatchObject({ status: 403, body: { code: 'forbidden' } });
  });

  test('a wrong key is refused, and after several of them with 429', async () => {
    const guess = () =>
      holder.rig.app.inject({ method: 'POST', url: PATH, payload: { key: 'wrong' }, remoteAddress: '10.9.9.9' });
    const statuses = [];
    for (let sent = 0; sent < 11; sent += 1) statuses.push((await guess()).statusCode);
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 401), 429]);
  });

  test.each([[{}], [{ key: 'a', code: 'b' }], [{ key: '' }], [{ password: 'x' }]])('%j is no sign-in', async (body) => {
    expect((await browse('POST', PATH, {}, body)).status).toBe(400);
  });
});

describe('with a code', () => {
  test('one browser signs in, once', async () => {
    const code = await codeOf();
    const first = await browse('POST', PATH, {}, { code });
    expect(first.status).toBe(204);
    expect((await browse('GET', '/v1/turns', { cookie: cookieOf(first) })).status).toBe(200);
    expect(await browse('POST', PATH, {}, { code })).toMatchObject({
      status: 401,
      body: { code: 'unauthorized', detail: expect.stringContaining('holdfast open') },
    });
  });

  test('a code of 61 seconds is refused', async () => {
    const code = await codeOf();
    await changeSignInCodes(holder.rig, {}, { expiresAt: earlier('61 seconds') });
    expect((await browse('POST', PATH, {}, { code })).status).toBe(401);
  });

  test('a code lasts a minute and is not stored: a retry of the request for it gets null', async () => {
    const once = () => holder.rig.post('/v1/auth/codes', {}, { 'idempotency-key': 'one-code' });
    const [first, retry] = [await once(), await once()];
    const lasts = Date.parse(first.body.expiresAt) - Date.now();
    expect(lasts > 50_000 && lasts <= 61_000).toBe(true);
    expect(retry.body).toEqual({ ...first.body, code: null });
  });
});

describe('a page of another site', () => {
  test.each([
    ['without the header', { origin: ASKED.origin }],
    ['from another origin', { ...ASKED, origin: 'http://evil.example' }],
    ['from another port', { ...ASKED, origin: 'http://127.0.0.1:8080' }],
    ['from an opaque origin', { ...ASKED, origin: 'null' }],
    ['as a cross-site request', { ...ASKED, 'sec-fetch-site': 'cross-site' }],
    ['as a request of a neighbouring host', { ...ASKED, 'sec-fetch-site': 'same-site' }],
  ])('changes nothing %s (G32)', async (_how, headers) => {
    const cookie = await signedIn();
    for (const method of ['POST', 'DELETE'] as const) {
      const url = method === 'POST' ? '/v1/sessions/main/abort' : `${PATH}/current`;
      expect(await browse(method, url, { ...cookie, ...headers })).toMatchObject({
        status: 403,
        body: { code: 'forbidden' },
      });
    }
    expect((await browse('GET', `${PATH}/current`, cookie)).status).toBe(200);
  });

  test('a form cannot send a body that is accepted', async () => {
    const headers = { ...(await signedIn()), 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await holder.rig.app.inject({
      method: 'POST',
      url: '/v1/sessions/main/messages',
      headers: { host: HOST, ...headers },
      payload: 'text=Hello',
    });
    expect(answer.statusCode).toBe(403);
  });

  test('a page of the service itself can', async () => {
    const answer = await browse(
      'POST',
      '/v1/sessions/page/messages',
      { ...(await signedIn()), ...ASKED },
      { text: 'Hi' },
    );
    expect(answer.status).toBe(202);
  });
});

describe('a sign-in ends', () => {
  test('when the browser signs out', async () => {
    const cookie = await signedIn();
    const out = await browse('DELETE', `${PATH}/current`, { ...cookie, ...ASKED });
    expect(out.status).toBe(204);
    expect(out.headers['set-cookie']).toMatch(/^holdfast_7420=; .*Max-Age=0$/);
    expect((await browse('GET', '/v1/turns', cookie)).status).toBe(401);
  });

  test('everywhere, when the browser asks for it', async () => {
    const [one, other] = [await signedIn(), await signedIn()];
    expect((await browse('DELETE', `${PATH}/current?all=true`, { ...one, ...ASKED })).status).toBe(204);
    for (const cookie of [one, other]) expect((await browse('GET', '/v1/turns', cookie)).status).toBe(401);
  });

  test('when its key is revoked', async () => {
    const { id, key } = (await holder.rig.post('/v1/keys', { name: 'tablet', role: 'viewer' })).body;
    const cookie = await signedIn(key);
    const unused = await codeOf(key);
    expect((await browse('GET', '/v1/turns', cookie)).status).toBe(200);
    await holder.rig.ask('DELETE', `/v1/keys/${id}`);
    expect((await browse('GET', '/v1/turns', cookie)).status).toBe(401);
    expect((await browse('POST', PATH, {}, { code: unused })).status).toBe(401);
  });

  test('when it expires', async () => {
    const cookie = await signedIn();
    await changeWebSessions(holder.rig, {}, { expiresAt: ago('1 second') });
    await eventually(async () => (await browse('GET', '/v1/turns', cookie)).status).toBe(401);
  });
});

test('an unknown cookie opens nothing', async () => {
  const { cookie } = await signedIn();
  const [name = '', value = ''] = cookie.split('=');
  const forged = [
    `${name}=`,
    `${name}=${value.slice(0, -1)}${value.endsWith('A') ? 'B' : 'A'}`,
    `${name}=${value.split('.', 1)[0]}.`,
    `holdfast_80=${value}`,
    `${name}=01a200b2-af01-73e8-8681-83b97fe6f9f3.${value.split('.')[1]}`,
  ];
  for (const each of forged) expect((await browse('GET', '/v1/turns', { cookie: each })).status).toBe(401);
});

test('a key in the Authorization header takes precedence over a cookie', async () => {
  const headers = { ...(await signedIn()), authorization: 'Bearer wrong' };
  expect((await browse('GET', '/v1/turns', headers)).status).toBe(401);
});

test('a request with a key has no sign-in to end', async () => {
  const answer = await holder.rig.ask('DELETE', `${PATH}/current`);
  expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } });
});
