// A request without a key neither reads nor writes anything (G32), and no key appears anywhere
// (G31).
import { describe, expect, test } from 'vitest';
import { ROUTES } from '../../scripts/all-routes.ts';
import { ADMIN_KEY } from './api-rig.ts';
import { useApiRig } from './use-api-rig.ts';

const OPS_KEY = 'ops-key-0123456789';
const holder = useApiRig({ keys: [{ name: 'ops', key: OPS_KEY }] });
const PUBLIC = ['/', '/turns', '/sessions/agent:main:main', '/healthz', '/readyz'];
/** Takes the key in its body. */
const SIGN_IN = '/v1/auth/sessions';
/** Has the signature of a platform instead, see test/features/channels/webhook.test.ts. */
const SIGNED = '/v1/channels/{name}/{account}/webhook';

function filled(path: string): string {
  return path.replace('{key}', 'main').replace('{id}', '01a200b2-af01-73e8-8681-83b97fe6f9f3').replace('{n}', '1');
}

describe('without a key', () => {
  test.each(
    ROUTES.filter(({ path }) => !PUBLIC.includes(path) && ![SIGN_IN, SIGNED].includes(path)).map(
      (route) => [route.method, route.path, route] as const,
    ),
  )('%s %s is 401', async (method, path, { form }) => {
    const answer = await holder.rig.app.inject({ method, url: filled(path) });
    expect(answer.statusCode).toBe(401);
    expect(answer.headers['www-authenticate']).toBe('Bearer');
    expect(answer.json()).toMatchObject(
      form !== undefined ? { error: { code: 'invalid_api_key' } } : { code: 'unauthorized', status: 401 },
    );
  });

  test.each([
    ['GET', '/v1/crons'],
    ['POST', '/v1/anything'],
    ['GET', '/secret'],
  ] as const)('a path that does not exist looks the same: %s %s', async (method, url) => {
    expect((await holder.rig.app.inject({ method, url })).statusCode).toBe(401);
  });

  test.each(PUBLIC)('%s answers', async (url) => {
    // The readiness of a process that gets no processor can be 503.
    await expect.poll(async () => (await holder.rig.app.inject({ method: 'GET', url })).statusCode).toBe(200);
  });

  test('a body is not even read', async () => {
    const answer = await holder.rig.app.inject({
      method: 'POST',
      url: '/v1/sessions/main/messages',
      headers: { 'content-type': 'application/json' },
      payload: '{"broken',
    });
    expect(answer.statusCode).toBe(401);
  });
});

describe('a key', () => {
  test.each([
    [`Bearer ${ADMIN_KEY}`, 200],
    [`bearer ${ADMIN_KEY}`, 200],
    [`Bearer ${OPS_KEY}`, 200],
    [`Bearer ${ADMIN_KEY}x`, 401],
    [`Bearer ${ADMIN_KEY.slice(0, -1)}`, 401],
    [`Bearer `, 401],
    [`Basic ${ADMIN_KEY}`, 401],
    [ADMIN_KEY, 401],
    ['', 401],
  ])('sent as %j is answered %d', async (authorization, status) => {
    expect((await holder.rig.get('/v1/sessions', { authorization })).status).toBe(status);
  });

  test('is in no log line and no answer (G31)', async () => {
    const { rig } = holder;
    await rig.get(`/v1/${ADMIN_KEY}`, { authorization: 'Bearer wrong-key-wrong-key' });
    await rig.ask('POST', '/v1/sessions/main/messages', {
      payload: '{',
      headers: { 'content-type': 'application/json' },
    });
    const said =
      rig.logLines.join('') + JSON.stringify((await rig.get('/openapi.json')).body) + (await rig.get('/metrics')).body;
    for (const secret of [ADMIN_KEY, OPS_KEY, 'wrong-key-wrong-key']) expect(said).not.toContain(secret);
  });
});
