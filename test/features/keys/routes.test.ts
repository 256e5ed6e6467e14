// API keys with roles, and the audit log.
import { tablesWith } from '../../api/tables-with.ts';
import { describe, expect, test } from 'vitest';
import { KEY_ROLES, type KeyRole } from '../../../src/core/key-role.ts';
import { ROUTES } from '../../../scripts/all-routes.ts';
import { roleOf } from '../../../src/api/route.ts';
import { changeApiKeys } from '../../rows/keys.ts';
import { ago } from '../../rows/table.ts';
import { ADMIN_KEY } from '../../api/api-rig.ts';
import { eventually, useApiRig } from '../../api/use-api-rig.ts';

const CONFIGURED: Record<KeyRole, string> = {
  viewer: 'viewer-key-0123456789',
  operator: 'operator-key-0123456789',
  admin: 'admin-key-0123456789',
};
const PLAIN_KEY = 'plain-key-0123456789';
const holder = useApiRig({
  keys: [...KEY_ROLES.map((role) => ({ name: role, role, key: CONFIGURED[role] })), { name: 'plain', key: PLAIN_KEY }],
});

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

async function makeKey(name: string, role: KeyRole, more: object = {}) {
  const made = await holder.rig.post('/v1/keys', { name, role, ...more });
  expect(made.status).toBe(201);
  return made.body as { id: string; key: string };
}

function filled(path: string): string {
  return path
    .replace('{key}', 'agent:main:nothing')
    .replace(/\{(id|runId)\}/, '01a200b2-af01-73e8-8681-83b97fe6f9f3')
    .replace('{n}', '1')
    .replace('{agent}', 'main')
    .replaceAll(/\{\w+\}/g, 'x');
}

describe('a role', () => {
  test.each(
    ROUTES.filter((route) => route.isPublic !== true).map((route) => [route.method, route.path, route] as const),
  )('%s %s is refused to every role below its own, before the body is read (G32)', async (method, path, route) => {
    const lower = KEY_ROLES.slice(0, KEY_ROLES.indexOf(roleOf(route)));
    for (const role of lower) {
      const answer = await holder.rig.app.inject({
        method,
        url: filled(path),
        headers: { ...bearer(CONFIGURED[role]), 'content-type': 'application/json' },
        payload: '{"broken',
      });
      expect(answer.statusCode).toBe(403);
      const needed = expect.stringContaining(`needs ${roleOf(route)}`);
      expect(answer.json()).toMatchObject(
        route.form !== undefined
          ? { error: { code: 'forbidden', message: needed } }
          : { code: 'forbidden', detail: needed },
      );
    }
  });

  test('a viewer reads, and changes nothing but its own sign-ins', async () => {
    const ofViewers = ROUTES.filter((route) => roleOf(route) === 'viewer' && route.method !== 'GET');
    expect(ofViewers.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'DELETE /v1/auth/sessions/current',
      'POST /v1/auth/codes',
      // A token that sends needs an operator.
      'POST /v1/tokens',
      // Each call of a tool needs the role of its route.
      'POST /mcp',
    ]);
    expect((await holder.rig.get('/v1/turns', bearer(CONFIGURED.viewer))).status).toBe(200);
  });

  test('decides whether a system event is trusted that does not say so', async () => {
    const queue = async (role: KeyRole, trusted: object) => {
      const text = `${role} ${JSON.stringify(trusted)}`;
      const path = '/v1/sessions/facts-of-keys/system-events';
      const { body } = await holder.rig.post(path, { text, ...trusted }, bearer(CONFIGURED[role]));
      const { items } = (await holder.rig.get(path)).body;
      return [body.event.trusted, items.at(-1).trusted];
    };
    expect(await queue('operator', {})).toEqual([false, false]);
    expect(await queue('operator', { trusted: true })).toEqual([true, true]);
    expect(await queue('admin', {})).toEqual([true, true]);
    expect(await queue('admin', { trusted: false })).toEqual([false, false]);
  });

  test('a key of the configuration without a role is that of an operator', async () => {
    const said = await holder.rig.post('/v1/sessions/plain/messages', { text: 'Hello' }, bearer(PLAIN_KEY));
    expect(said.status).toBe(202);
    expect((await holder.rig.get('/v1/keys', bearer(PLAIN_KEY))).status).toBe(403);
    const { body } = await holder.rig.get('/v1/auth/sessions/current', bearer(PLAIN_KEY));
    expect(body).toEqual({
      principal: 'key:plain',
      role: 'operator',
      sees: null,
      listsComplete: true,
      expiresAt: null,
    });
  });
});

describe('a created key', () => {
  test('opens the API with its role until it is revoked, and its text is stored nowhere (G31)', async () => {
    const { id, key } = await makeKey('night-shift', 'operator');
    expect(key).toMatch(/^hf_[\w-]{43}$/);
    const ask = () => holder.rig.get('/v1/auth/sessions/current', bearer(key));
    expect((await ask()).body).toEqual({
      principal: 'key:night-shift',
      role: 'operator',
      sees: null,
      listsComplete: true,
      expiresAt: null,
    });
    await eventually(async () => (await keyNamed('night-shift')).lastUsedAt).not.toBeNull();

    const revoked = await holder.rig.ask('DELETE', `/v1/keys/${id}`);
    expect(revoked.body).toMatchObject({ name: 'night-shift', revokedAt: expect.any(String) });
    expect((await ask()).status).toBe(401);

    expect(await tablesWith((sql, values) => holder.rig.rows(sql, values), key)).toEqual({});
    expect(holder.rig.logLines.join('')).not.toContain(key);
  });

  test('is shown once: a retry with the same Idempotency-Key creates no second key and gets null in its place', async () => {
    const once = () =>
      holder.rig.post('/v1/keys', { name: 'retried', role: 'viewer' }, { 'idempotency-key': 'make-a-key' });
    const [first, retry] = [await once(), await once()];
    expect(first.body.key).toMatch(/^hf_/);
    expect(retry).toMatchObject({ status: 201, headers: { 'idempotent-replayed': 'true' } });
    expect(retry.body).toEqual({ ...first.body, key: null });
  });

  test('expires, and frees its name', async () => {
    const soon = new Date(Date.now() + 3_600_000).toISOString();
    const { id, key } = await makeKey('guest', 'viewer', { expiresAt: soon });
    expect((await holder.rig.get('/v1/turns', bearer(key))).status).toBe(200);
    const taken = await holder.rig.post('/v1/keys', { name: 'guest', role: 'viewer' });
    expect(taken).toMatchObject({ status: 409, body: { code: 'conflict' } });
    await changeApiKeys(holder.rig, { id: `${id}` }, { expiresAt: ago('1 second') });
    await eventually(async () => (await holder.rig.get('/v1/turns', bearer(key))).status).toBe(401);
    await makeKey('guest', 'operator');
  });

  test.each([
    [{ name: 'Ada Lovelace', role: 'viewer' }, 'name'],
    [{ name: '', role: 'viewer' }, 'name'],
    [{ name: 'ada', role: 'root' }, 'role'],
    [{ name: 'ada' }, 'role'],
    [{ name: 'ada', role: 'viewer', expiresAt: '2001-01-01T00:00:00Z' }, 'expiresAt'],
    [{ name: 'ada', role: 'viewer', scope: 'all' }, 'scope'],
  ])('%j is refused, and names the field', async (body, path) => {
    const answer = await holder.rig.post('/v1/keys', body);
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_body', errors: [{ path }] } });
  });

  test.each(['admin', 'plain'])('the name %s of another key is refused', async (name) => {
    expect((await holder.rig.post('/v1/keys', { name, role: 'viewer' })).status).toBe(409);
  });

  async function keyNamed(name: string) {
    const { body } = await holder.rig.get('/v1/keys');
    return body.items.find((item: { name: string }) => item.name === name);
  }
});

describe('the audit log', () => {
  const newest = async (query = '') => (await holder.rig.get(`/v1/audit?limit=5${query}`)).body.items;

  test('has a row for each change: principal, action, target, reason and result', async () => {
    const { body: cron } = await holder.rig.post(
      '/v1/crons',
      {
        name: 'audited',
        schedule: { kind: 'every', everyMs: 3_600_000 },
        target: 'main',
        payload: { kind: 'systemEvent', text: 'tick' },
      },
      bearer(CONFIGURED.operator),
    );
    expect((await newest())[0]).toMatchObject({
      principal: 'key:operator',
      role: 'operator',
      action: 'createCron',
      target: `/v1/crons/${cron.id}`,
      outcome: 'ok',
    });
    await holder.rig.ask('DELETE', `/v1/crons/${filled('{id}')}`, { headers: { 'x-request-id': 'look-for-this' } });
    expect((await newest())[0]).toMatchObject({
      principal: 'admin',
      action: 'deleteCron',
      outcome: 'not_found',
      requestId: 'look-for-this',
    });
  });

  test('leaves out requests without a change, refused ones, and messages', async () => {
    const [before] = await newest();
    await holder.rig.get('/v1/turns');
    await holder.rig.post('/v1/sessions/quiet/messages', { text: 'Hello' });
    await holder.rig.post('/v1/sessions/quiet/abort', {}, bearer(CONFIGURED.viewer));
    await holder.rig.post('/v1/crons', { name: 'broken' });
    expect((await newest())[0]).toEqual(before);
  });

  test('can be read by principal and by action, in pages', async () => {
    await makeKey('of-the-page', 'viewer', {});
    await makeKey('of-the-next-page', 'viewer', {});
    const page = (await holder.rig.get('/v1/audit?limit=1&action=createKey&principal=admin')).body;
    expect(page.items).toMatchObject([{ action: 'createKey', principal: 'admin' }]);
    const next = await holder.rig.get(
      `/v1/audit?limit=1&action=createKey&principal=admin&cursor=${page.nextCursor}`,
      bearer(ADMIN_KEY),
    );
    expect(next.body.items[0].at <= page.items[0].at).toBe(true);
    expect(await newest('&principal=key:nobody')).toEqual([]);
  });
});

test('a new key with a scope finds older rows at once, and says so while it does not (G44)', async () => {
  const { rig } = holder;
  await rig.post('/v1/sessions/older:1/messages', { text: 'Hello' });
  const { id, key } = await makeKey('of-the-older', 'viewer', { agents: ['main'], sessions: ['agent:main:older:*'] });
  const own = async () => (await rig.get('/v1/auth/sessions/current', bearer(key))).body.listsComplete;
  const shown = async () => {
    const { items } = (await rig.get('/v1/keys')).body;
    return items.find((one: { id: string }) => one.id === id).listsComplete;
  };
  expect([await shown(), await own()]).toEqual([true, true]);
  const prefix = 'agent:main:older:';
  const labelled = await rig.rows(
    `select s.key from holdfast.sessions s join holdfast.inbox i on i.session_id = s.id and i.scope = s.scope
     join holdfast.scopes c on c.id = s.scope where c.prefix = $1`,
    [prefix],
  );
  expect(labelled).toEqual([{ key: 'agent:main:older:1' }]);
  await rig.rows(`update holdfast.scopes set step = 'rows' where prefix = $1`, [prefix]);
  expect([await shown(), await own()]).toEqual([false, false]);
});

test('a key for sessions of an agent that does not exist is refused', async () => {
  const sessions = ['agent:main:x:*', 'agent:nobody:x:*'];
  const refused = await holder.rig.post('/v1/keys', { name: 'of-nobody', role: 'viewer', sessions });
  expect(refused).toMatchObject({ status: 400, body: { errors: [{ path: 'sessions[1]' }] } });
  expect(refused.body.detail).toContain('There are main');
});
