// Goal: what an API key has stored belongs to the key and to those that replace it, and a key that
// only gets its name has none of it. Method: requests that store something, each sent again with
// the next key; the same after the layout of the version that knew only names.
import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { sha256OfJson } from '../../src/api/idempotency-key.ts';
import { hashSecret } from '../../src/api/key-ring.ts';
import type { Config } from '../../src/config.ts';
import { newId } from '../../src/ids.ts';
import { layOut } from '../../src/database/migrate.ts';
import { hashText } from '../../src/features/openai/find-session.ts';
import { addApiKeys, addIdempotencyKeys, changeApiKeys } from '../rows/keys.ts';
import { ago } from '../rows/table.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { ADMIN_KEY, createApiRig, type ApiRig } from './api-rig.ts';
import { eventually, useApiRig } from './use-api-rig.ts';

const CONFIGURED = 'key-of-the-configuration-0001';
let changes: () => Partial<Config> = () => ({});
// The sessions of users have names that all requests of a user reach.
const FILE = { openai: { user: 'session' } };
const holder = useApiRig({ keys: [{ name: 'shop', key: CONFIGURED }], changes: () => changes(), file: FILE });

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

async function makeKey(name: string, more: object = {}) {
  const made = await holder.rig.post('/v1/keys', { name, role: 'operator', ...more });
  expect(made).toMatchObject({ status: 201, body: { replaces: null, ...more, name } });
  return made.body as { id: string; key: string };
}

const revoke = (id: string) => holder.rig.ask('DELETE', `/v1/keys/${id}`);

/** The file of the configuration has these keys from now on. */
async function configure(...names: string[]): Promise<void> {
  const { api } = holder.rig.context.config;
  changes = () => ({ api: { ...api, keys: names.map((name) => ({ name, key: CONFIGURED })) } });
  expect((await holder.rig.ask('PATCH', '/v1/config', { payload: { reload: true } })).status).toBe(200);
}

const FORM = [
  '--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n',
  '--b\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n{}\r\n--b--\r\n',
].join('');

/**
 * What each request reaches that belongs to an API key: messages, a session, an upload. `marker`
 * sets the requests of a test apart.
 */
async function reach({ rig }: { rig: ApiRig }, key: string, marker: string) {
  const keyed = { ...bearer(key), 'idempotency-key': marker };
  const ask = (url: string, body: object, headers: object) => rig.post(url, body, { ...bearer(key), ...headers });
  const background = { model: 'holdfast', input: marker, background: true };
  const sent = await rig.post('/v1/sessions/kept/messages', { text: marker }, keyed);
  const cron = { schedule: { kind: 'every', everyMs: 3_600_000 }, payload: { kind: 'agentTurn', message: marker } };
  const made = await rig.post('/v1/crons', { name: marker, ...cron }, keyed);
  const repeated = await ask('/v1/responses', background, { 'x-stainless-retry-count': '1' });
  const ofUser = await ask('/v1/responses', { ...background, user: marker }, {});
  const named = await ask('/v1/responses', { ...background, conversation: marker }, {});
  const form = { 'content-type': 'multipart/form-data; boundary=b' };
  const file = await rig.ask('POST', '/openai/v1/files', { payload: FORM, headers: { ...keyed, ...form } });
  expect([sent, made, repeated, ofUser, named, file].map(({ status }) => status)).toEqual([
    202, 201, 200, 200, 200, 200,
  ]);
  return {
    message: sent.body.message.id,
    cron: made.body.id,
    response: repeated.body.id,
    sessionOfUser: ofUser.headers['x-holdfast-session-key'],
    sessionOfConversation: named.headers['x-holdfast-session-key'],
    file: file.body.id,
  };
}

/** The names of what is the same in both. */
const shared = (one: object, other: object): string[] => {
  const values = new Map(Object.entries(other));
  return Object.entries(one).flatMap(([name, value]) => (values.get(name) === value ? [name] : []));
};
const ALL = ['message', 'cron', 'response', 'sessionOfUser', 'sessionOfConversation', 'file'];

describe('a key with the name of an earlier one', () => {
  test('gets none of the stored answers and conversations of a revoked key: its own requests run (G2, G32)', async () => {
    const first = await makeKey('renewed');
    const before = await reach(holder, first.key, 'of-the-revoked');
    expect(shared(await reach(holder, first.key, 'of-the-revoked'), before)).toEqual(ALL);
    await revoke(first.id);
    const second = await makeKey('renewed');
    expect(shared(await reach(holder, second.key, 'of-the-revoked'), before)).toEqual([]);
  });

  test('gets none of those of an expired key (G2, G32)', async () => {
    const first = await makeKey('guest', { expiresAt: new Date(Date.now() + 3_600_000).toISOString() });
    const before = await reach(holder, first.key, 'of-the-expired');
    await changeApiKeys(holder.rig, { id: first.id }, { expiresAt: ago('1 second') });
    await eventually(async () => (await holder.rig.get('/v1/turns', bearer(first.key))).status).toBe(401);
    const second = await makeKey('guest');
    expect(shared(await reach(holder, second.key, 'of-the-expired'), before)).toEqual([]);
  });

  test('gets none of those of a key of the configuration, nor the other way round (G2, G32)', async () => {
    await configure('mover');
    const configured = await reach(holder, CONFIGURED, 'of-the-mover');
    await configure();
    const created = await makeKey('mover');
    const ofCreated = await reach(holder, created.key, 'of-the-mover');
    expect(shared(ofCreated, configured)).toEqual([]);
    await revoke(created.id);
    await configure('mover');
    const again = await reach(holder, CONFIGURED, 'of-the-mover');
    expect(shared(again, ofCreated)).toEqual([]);
    // A key of the configuration counts by its name.
    expect(shared(again, configured)).toEqual(ALL);
  });
});

describe('a key that replaces another one', () => {
  test('continues its conversations and its stored answers, over a line of keys that are valid, revoked and of another role (G2, G32)', async () => {
    const first = await makeKey('line-1');
    const before = await reach(holder, first.key, 'of-the-line');
    const second = await makeKey('line-2', { replaces: first.id, role: 'admin' });
    // Both are valid for a while.
    for (const key of [first.key, second.key])
      expect(shared(await reach(holder, key, 'of-the-line'), before)).toEqual(ALL);
    await revoke(first.id);
    await revoke(second.id);
    const { body: third } = await holder.rig.post('/v1/keys', { name: 'line-2', role: 'operator', replaces: 'line-2' });
    expect(third).toMatchObject({ name: 'line-2', replaces: second.id });
    expect(shared(await reach(holder, third.key, 'of-the-line'), before)).toEqual(ALL);
  });

  test('can replace one of the configuration, and the first key (G2, G32)', async () => {
    await configure('shop');
    const before = await reach(holder, CONFIGURED, 'of-the-shop');
    const { body: next } = await holder.rig.post('/v1/keys', { name: 'shop-2', role: 'operator', replaces: 'shop' });
    expect(next).toMatchObject({ replaces: 'key:shop' });
    expect(shared(await reach(holder, next.key, 'of-the-shop'), before)).toEqual(ALL);
    const ofAdmin = await reach(holder, ADMIN_KEY, 'of-the-admin');
    const { body: own } = await holder.rig.post('/v1/keys', { name: 'own', role: 'operator', replaces: 'admin' });
    expect(own).toMatchObject({ replaces: 'admin' });
    expect(shared(await reach(holder, own.key, 'of-the-admin'), ofAdmin)).toEqual(ALL);
  });

  test('is the only one that does', async () => {
    const first = await makeKey('once');
    const ask = () => holder.rig.post('/v1/keys', { name: `n${randomUUID()}`, role: 'viewer', replaces: 'once' });
    const answers = await Promise.all([ask(), ask(), ask()]);
    const refused = answers.filter(({ status }) => status === 409);
    expect(refused.map(({ body }) => body.detail)).toEqual(
      Array(2).fill(expect.stringContaining('has replaced the key once')),
    );
    const { body } = await holder.rig.get('/v1/keys');
    expect(body.items.filter(({ replaces }: { replaces: string }) => replaces === first.id)).toHaveLength(1);
  });

  test.each(['nobody', '01a200b2-af01-73e8-8681-83b97fe6f9f3', 'key:shop'])(
    'must name a key: %s is refused',
    async (replaces) => {
      const answer = await holder.rig.post('/v1/keys', { name: 'follower', role: 'viewer', replaces });
      expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_body', errors: [{ path: 'replaces' }] } });
    },
  );
});

test('keys of a version that knew only names keep what they have stored, and the newest of a name can be replaced (G2, G26, G32)', async ({
  onTestFinished,
}) => {
  const database = await withTestDatabase();
  onTestFinished(() => database.drop());
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query('drop schema if exists holdfast cascade');
  const names = readdirSync(new URL('../../migrations/', import.meta.url));
  await layOut(client, { upTo: names.filter((name) => name.endsWith('.sql') && name < '0100_key_owners.sql') });
  const [old, current] = [newId<string>(), newId<string>()];
  const key = 'hf_key_of_the_earlier_version';
  const common = { name: 'bot', role: 'operator', createdBy: 'admin' };
  await addApiKeys(
    client,
    { ...common, id: old, sha256: 'x', createdAt: ago('2 days'), revokedAt: ago('1 day') },
    { ...common, id: current, sha256: hashSecret(key), createdAt: ago('1 day') },
  );
  await addIdempotencyKeys(client, {
    scope: 'key:bot POST /v1/auth/codes',
    key: 'once',
    requestSha256: sha256OfJson({}),
    status: 201,
    response: { code: null, expiresAt: '2026-01-01T00:00:00.000Z' },
  });
  const sessionOfUser = `agent:main:openai:user@${hashText(JSON.stringify(['key:bot', 'ann']))}`;
  await layOut(client, {});
  const rig = await createApiRig(database.url, { file: FILE });
  onTestFinished(() => rig.close());
  const reached = async (secret: string) => {
    const code = await rig.post('/v1/auth/codes', {}, { ...bearer(secret), 'idempotency-key': 'once' });
    const body = { model: 'holdfast', input: 'Hi', background: true, user: 'ann' };
    const { headers } = await rig.post('/v1/responses', body, bearer(secret));
    return [code.headers['idempotent-replayed'], headers['x-holdfast-session-key']];
  };
  expect(await reached(key)).toEqual(['true', sessionOfUser]);

  expect((await rig.get('/v1/keys')).body.items).toMatchObject([{ replaces: old }, { replaces: null }]);
  const replacing = { name: 'bot-2', role: 'operator', replaces: old };
  expect((await rig.post('/v1/keys', replacing)).status).toBe(409);
  const { body: next } = await rig.post('/v1/keys', { ...replacing, replaces: 'bot' });
  expect(await reached(next.key)).toEqual(['true', sessionOfUser]);

  await rig.ask('DELETE', `/v1/keys/${current}`);
  const { body: stranger } = await rig.post('/v1/keys', { name: 'bot', role: 'operator' });
  expect(await reached(stranger.key)).toEqual([undefined, expect.not.stringContaining(sessionOfUser)]);
});
