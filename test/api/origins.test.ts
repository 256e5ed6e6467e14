// What scripts of pages of other origins may do: call the API with a key where the configuration
// lists their origin, and never with the cookie of a browser.
import { describe, expect, test } from 'vitest';
import type { Config } from '../../src/config.ts';
import { useApiRig } from './use-api-rig.ts';

const SHOP = 'https://shop.example';
let changes: () => Partial<Config> = () => ({});
const holder = useApiRig({ api: { origins: [SHOP] }, changes: () => changes() });

const preflight = (origin: string, url = '/v1/sessions/main/messages') =>
  holder.rig.app.inject({
    method: 'OPTIONS',
    url,
    headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' },
  });

const ALLOWED = { 'access-control-allow-origin': SHOP, vary: expect.stringMatching(/origin/i) };

describe('a page of a listed origin', () => {
  test('is allowed before its key is asked for, on every path (G32)', async () => {
    for (const url of ['/v1/sessions/main/messages', '/v1/nothing']) {
      const answer = await preflight(SHOP, url);
      expect(answer.statusCode).toBe(204);
      expect(answer.headers).toMatchObject(ALLOWED);
      expect(answer.headers['access-control-allow-headers']).toMatch(/authorization.*idempotency-key.*last-event-id/);
      expect(answer.headers).not.toHaveProperty('access-control-allow-credentials');
    }
  });

  test.each([
    ['an answer', 200, '/v1/sessions', {}],
    ['a refusal for its key', 401, '/v1/sessions', { authorization: 'Bearer wrong' }],
    ['a path that does not exist', 404, '/v1/nothing', {}],
  ])('reads %s', async (_, status, url, headers) => {
    const answer = await holder.rig.get(url, { origin: SHOP, ...headers });
    expect(answer).toMatchObject({ status, headers: ALLOWED });
    expect(answer.headers['access-control-expose-headers']).toMatch(/retry-after.*x-request-id/);
  });

  test('reads the events of a stream', async () => {
    const url = `${await holder.rig.listen()}/v1/events`;
    const leaving = new AbortController();
    const answer = await fetch(url, {
      headers: { origin: SHOP, authorization: 'Bearer hf_admin_key_of_the_tests' },
      signal: leaving.signal,
    });
    expect(Object.fromEntries(answer.headers)).toMatchObject(ALLOWED);
    leaving.abort();
  });

  test('cannot read the pages of the dashboard', async () => {
    const answer = await holder.rig.app.inject({ url: '/', headers: { origin: SHOP } });
    expect(answer.statusCode).toBe(200);
    expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
  });

  test('gets nothing by the cookie of a browser', async () => {
    const { headers } = await holder.rig.post('/v1/auth/sessions', { key: 'hf_admin_key_of_the_tests' });
    const cookie = String(headers['set-cookie']).split(';')[0]!;
    const posted = await holder.rig.app.inject({
      method: 'POST',
      url: '/v1/sessions/main/messages',
      headers: { cookie, origin: SHOP, 'x-holdfast-request': '1' },
      payload: { text: 'Hi' },
    });
    expect(posted.json()).toMatchObject({ code: 'forbidden' });
    expect(posted.headers).not.toHaveProperty('access-control-allow-credentials');
  });
});

test.each(['https://evil.example', 'null', 'https://shop.example.evil.example', 'http://shop.example', '*'])(
  'a page of the origin %s is not allowed (G32)',
  async (origin) => {
    const asked = await preflight(origin);
    expect(asked.statusCode).toBe(401);
    const answer = await holder.rig.get('/v1/sessions', { origin });
    for (const { headers } of [asked, answer]) {
      expect(headers).not.toHaveProperty('access-control-allow-origin');
      expect(headers).toMatchObject({ vary: expect.stringMatching(/origin/i) });
    }
  },
);

test('an origin is removed and added while the service runs', async () => {
  const { api } = holder.rig.config;
  for (const [listed, other] of [
    ['https://other.example', SHOP],
    [SHOP, 'https://other.example'],
  ] as const) {
    changes = () => ({ api: { ...api, origins: [listed] } });
    expect((await holder.rig.ask('PATCH', '/v1/config', { payload: { reload: true } })).status).toBe(200);
    expect((await preflight(listed)).statusCode).toBe(204);
    expect((await preflight(other)).statusCode).toBe(401);
  }
});
