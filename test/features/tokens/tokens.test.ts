// Goal: a token opens what it names and nothing else, shows no prompts, tools, thinking or costs,
// and ends with its key. Method: keys that are made while the service runs, their tokens, and what
// each reaches, in two processes with one database.
import { randomBytes } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ROUTES } from '../../../scripts/all-routes.ts';
import { TOKEN_EVENTS } from '../../../src/contract/token-views.ts';
import { readToken, writeToken } from '../../../src/features/tokens/token-text.ts';
import { newId } from '../../../src/ids.ts';
import { createApiRig, type ApiRig } from '../../api/api-rig.ts';
import { openEvents } from '../../api/event-client.ts';
import { HIDDEN_FIELDS } from '../../api/hidden-fields.ts';
import { eventually, useApiRig } from '../../api/use-api-rig.ts';
import { countTokenSecrets, readIdempotencyKeys } from '../../rows/keys.ts';
import { withTestDatabase } from '../../servers/postgres.ts';

const CONFIGURED = 'key-of-the-configuration-0001';
const holder = useApiRig({ keys: [{ name: 'fixed', key: CONFIGURED }], isOneProcess: true });

const bearer = (text: string) => ({ authorization: `Bearer ${text}` });

async function makeKey(more: object = {}): Promise<{ id: string; key: string }> {
  const { status, body } = await holder.rig.post('/v1/keys', {
    name: `k${newId<string>()}`,
    role: 'operator',
    ...more,
  });
  expect(status).toBe(201);
  return body;
}

const askToken = (key: string, body: object) =>
  holder.rig.post('/v1/tokens', { allow: ['send', 'read'], ...body }, bearer(key));

async function makeToken(body: object, key?: string): Promise<string> {
  const made = await askToken(key ?? (await makeKey()).key, body);
  expect(made.status).toBe(201);
  return made.body.token;
}

const get = (token: string, url: string, rig: ApiRig = holder.rig) => rig.get(url, bearer(token));
const say = (token: string, session: string, body: object, more: Record<string, string> = {}) =>
  holder.rig.post(`/v1/sessions/${session}/messages`, body, { ...bearer(token), ...more });
const statusOf = async (token: string, url: string, rig?: ApiRig) => (await get(token, url, rig)).status;

const quoted = (text: string) => JSON.stringify(text).slice(1, -1);

let addresses = 0;
/** From an address of its own: wrong keys of one address are soon answered 429. */
const fromElsewhere = (method: 'GET' | 'POST', url: string, more: object) =>
  holder.rig.ask(method, url, { headers: { authorization: '' }, ...more, remoteAddress: `10.0.0.${(addresses += 1)}` });

/** Another process of the service. */
async function startOther(): Promise<ApiRig> {
  const other = await createApiRig(holder.rig.databaseUrl);
  onTestFinished(() => other.close());
  return other;
}

/** What only a key sees; the words of the person and of the agent are not among it. */
const HIDDEN = new RegExp(`secret-thought|secret-argument|"title":|${HIDDEN_FIELDS.source}`);

describe('a token for a session', () => {
  test('sends to it and reads it, its messages, its turns and their events, without what only keys see (G32, G44)', async () => {
    const token = await makeToken({ session: 'shop:whole' });
    const url = await holder.rig.listen();
    const events = await openEvents(`${url}/v1/events?session=shop:whole`, undefined, token);
    expect(events.status).toBe(200);
    const text = 'Hi [[thinking: secret-thought]] [[tool: echo {"a": "secret-argument"}]] [[reply: It is out.]]';
    const sent = await say(token, 'shop:whole', { text });
    expect(sent).toMatchObject({ status: 202, body: { message: { text, status: 'waiting' }, disposition: 'queued' } });
    expect(JSON.stringify(sent.body).replace(quoted(text), '')).not.toMatch(HIDDEN);
    await holder.rig.work('shop:whole');

    const { body: message } = await get(token, `/v1/messages/${sent.body.message.id}`);
    expect(message).toMatchObject({ status: 'answered', reply: 'It is out.', error: null });
    const { body: list } = await get(token, '/v1/messages?session=shop:whole');
    expect(list).toEqual({ items: [message], nextCursor: null });
    const turn = await get(token, `/v1/turns/${message.turnId}`);
    expect(turn.body).toMatchObject({ id: message.turnId, status: 'completed', reply: 'It is out.', error: null });
    const session = await get(token, '/v1/sessions/shop:whole');
    expect(session.body).toMatchObject({ key: 'agent:main:shop:whole', status: 'idle' });
    for (const answer of [message, turn.body])
      expect(JSON.stringify(answer).replace(quoted(text), '')).not.toMatch(HIDDEN);
    const { title: _title, ...shown } = session.body;
    expect(JSON.stringify(shown)).not.toMatch(HIDDEN);

    const live = await events.until((all) => all.some(({ type }) => type === 'turn.ended'));
    const replayed = await openEvents(`${url}/v1/turns/${message.turnId}/events`, undefined, token);
    await replayed.ended;
    for (const { events: found } of [{ events: live }, replayed]) {
      expect(found.map(({ type }) => type)).toEqual(
        expect.arrayContaining(['turn.started', 'model.delta', 'turn.ended']),
      );
      expect(found.filter(({ type }) => !(TOKEN_EVENTS as string[]).includes(type))).toEqual([]);
      expect(JSON.stringify(found)).not.toMatch(HIDDEN);
      expect(found.at(-1)?.data).toEqual({
        type: 'turn.ended',
        sessionKey: 'agent:main:shop:whole',
        turnId: message.turnId,
        at: expect.any(String),
        status: 'completed',
        reply: 'It is out.',
        error: null,
      });
    }
  });

  test('waits for the reply, of which it sees as much', async () => {
    const token = await makeToken({ session: 'shop:waits' });
    const text = 'Hi [[tool: echo {"a": "secret-argument"}]] [[reply: Yes.]]';
    const answering = say(token, 'shop:waits', { text }, { prefer: 'wait=60' });
    await eventually(async () => (await holder.rig.get('/v1/sessions/shop:waits')).status).toBe(200);
    await eventually(async () => (await holder.rig.get('/v1/sessions/shop:waits')).body.waitingMessages).toBe(1);
    await holder.rig.work('shop:waits');
    const answer = await answering;
    expect(answer).toMatchObject({ status: 200, body: { reply: 'Yes.', turn: { status: 'completed' } } });
    expect(JSON.stringify(answer.body).replace(quoted(text), '')).not.toMatch(HIDDEN);
  });

  test('sees nothing of what the operator has told the agent there', async () => {
    const token = await makeToken({ session: 'shop:told' });
    await holder.rig.settle('shop:told', '/usage');
    const at = new Date(Date.now() + 1000).toISOString();
    const payload = { kind: 'agentTurn', message: 'secret-thought [[reply: Good morning.]]' };
    const cron = { name: newId<string>(), schedule: { kind: 'at', at }, target: 'session:shop:told', payload };
    const { body } = await holder.rig.post('/v1/crons', cron);
    await holder.rig.post(`/v1/crons/${body.id}/run`, {});
    await holder.rig.work('shop:told');
    const { items } = (await get(token, '/v1/messages?session=shop:told')).body;
    expect(items).toMatchObject([
      { kind: 'cron', text: '', reply: 'Good morning.' },
      { kind: 'message', text: '/usage', reply: null },
    ]);
  });

  test('answers for every other session, and what is in it, as for what never was (G44)', async () => {
    const { rig } = holder;
    const foreign = await rig.settle('shop:12', 'private [[reply: ok]]');
    const token = await makeToken({ session: 'shop:1' });
    const never = newId<string>();
    for (const [path, of, unknown] of [
      ['/v1/sessions/{}', 'agent:main:shop:12', 'agent:main:shop:13'],
      ['/v1/messages?session={}', 'agent:main:shop:12', 'agent:main:shop:13'],
      ['/v1/events?session={}', 'agent:main:shop:12', 'agent:main:shop:13'],
      ['/v1/messages/{}', foreign.id, never],
      ['/v1/turns/{}', foreign.turnId, never],
      ['/v1/turns/{}/events', foreign.turnId, never],
    ] as const) {
      const answers = await Promise.all([of, unknown].map((name) => get(token, path.replace('{}', name))));
      expect(answers.map(({ status }) => status)).toEqual([404, 404]);
      const [first, second] = answers.map(({ body }) => String(body.detail));
      expect(first?.replace(of, '')).toBe(second?.replace(unknown, ''));
    }
    expect(await say(token, 'shop:12', { text: 'Hi' })).toMatchObject({ status: 404 });
    expect(await get(token, '/v1/messages?session=shop:1&tag=a:b')).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'tag' }] },
    });
    for (const path of ['/v1/messages', '/v1/events'])
      expect(await get(token, path)).toMatchObject({ status: 400, body: { errors: [{ path: 'session' }] } });
  });

  test.each([
    ['read', 'the token allows read', { allow: ['read'] }],
    ['send', 'the token allows send', { allow: ['send'] }],
  ])('that allows %s allows nothing else', async (right, detail, more) => {
    const token = await makeToken({ session: 'shop:rights', ...more });
    await holder.rig.settle('shop:rights', 'Hi');
    const sent = await say(token, 'shop:rights', { text: 'Hi' });
    const read = await get(token, '/v1/sessions/shop:rights');
    expect([sent.status, read.status]).toEqual(right === 'send' ? [202, 403] : [403, 200]);
    expect(String((right === 'send' ? read : sent).body.detail).toLowerCase()).toContain(detail);
  });
});

test('a token for a prefix is for the sessions that begin with it, and not for a fork of another session (G44)', async () => {
  const { rig } = holder;
  const token = await makeToken({ sessions: 'agent:main:desk:*' });
  for (const session of ['desk:1', 'desk:2']) expect((await say(token, session, { text: 'Hi' })).status).toBe(202);
  expect(await statusOf(token, '/v1/sessions/desk:1')).toBe(200);
  expect((await say(token, 'desk', { text: 'Hi' })).status).toBe(404);
  await rig.settle('private', 'private [[reply: ok]]');
  await rig.post('/v1/sessions/private/fork', { key: 'desk:fork' });
  expect(await statusOf(token, '/v1/sessions/desk:fork')).toBe(404);
});

test('a token is refused by every other route, however much its key may do (G32)', async () => {
  const { key } = await makeKey({ role: 'admin' });
  const routes = ROUTES.filter(({ token, isPublic }) => token === undefined && isPublic !== true);
  expect(routes.map(({ path }) => path)).toEqual(expect.arrayContaining(['/v1/tokens', '/v1/keys', '/v1/auth/codes']));
  const answered = routes.map(async ({ method, path }) => {
    const token = await makeToken({ session: 'shop:refused' }, key);
    const url = path.replace('{key}', 'shop:refused').replaceAll(/\{\w+\}/g, newId<string>());
    const { statusCode } = await holder.rig.app.inject({ method, url, headers: bearer(token) });
    return `${method} ${path} ${statusCode}`;
  });
  expect(await Promise.all(answered)).toEqual(routes.map(({ method, path }) => `${method} ${path} 403`));
});

describe('a message of a token', () => {
  test.each([
    ['sender', { sender: { id: '1' } }],
    ['channel', { channel: 'telegram' }],
    ['model', { model: 'anthropic/claude-opus-5-5' }],
    ['thinking', { thinking: 'high' }],
    ['deliver', { deliver: { url: 'https://evil.example/' } }],
    ['tools', { tools: { allow: ['exec'] } }],
    ['tags', { tags: { a: 'b' } }],
    ['mode', { mode: 'interrupt' }],
    ['priority', { priority: 10 }],
    ['groupSystemPrompt', { groupSystemPrompt: 'Obey.' }],
    // A file of the workspace may be that of another visitor.
    ['media[0].path', { media: [{ path: 'notes.md' }] }],
  ])('cannot have %s (G30)', async (path, more) => {
    const token = await makeToken({ session: 'shop:fields' });
    const sent = await say(token, 'shop:fields', { text: 'Hi', ...more });
    expect(sent).toMatchObject({ status: 400, body: { code: 'invalid_body', errors: [{ path }] } });
  });

  test('can have media by their addresses', async () => {
    const token = await makeToken({ session: 'shop:media' });
    const media = [{ type: 'image/png', url: 'https://shop.example/a.png' }];
    expect((await say(token, 'shop:media', { text: '', media })).status).toBe(202);
  });

  test.each(['/usage', '/status', '/model anthropic/claude-opus-5-5', '/think high', '/stop', '/reasoning stream'])(
    'is no command: %s is a text for the agent (G30)',
    async (text) => {
      const session = `shop:${newId<string>()}`;
      const token = await makeToken({ session });
      const { body } = await say(token, session, { text });
      expect(body).toMatchObject({ disposition: 'queued', message: { text, status: 'waiting', reply: null } });
      const kept = { model: null, thinking: null, reasoning: null };
      expect((await holder.rig.get(`/v1/sessions/${session}`)).body).toMatchObject(kept);
    },
  );

  test('with an Idempotency-Key is stored once, and gets no stored answer of its key (G2, G32)', async () => {
    const { key } = await makeKey();
    const [token, renewed] = [
      await makeToken({ session: 'shop:once' }, key),
      await makeToken({ session: 'shop:once' }, key),
    ];
    const keyed = { 'idempotency-key': 'once' };
    const ofKey = await say(key, 'shop:once', { text: 'Hi' }, keyed);
    const first = await say(token, 'shop:once', { text: 'Hi' }, keyed);
    // After the first token has expired, the page has another one.
    const again = await say(renewed, 'shop:once', { text: 'Hi' }, keyed);
    expect([first.status, again.status]).toEqual([202, 202]);
    expect(first.body.message.id).not.toBe(ofKey.body.message.id);
    expect(again.body.message.id).toBe(first.body.message.id);
    expect(again.headers).toMatchObject({ 'idempotent-replayed': 'true' });
  });
});

describe('a token is made', () => {
  test('by a key that was created through the API, and by no other', async () => {
    for (const key of [CONFIGURED, 'hf_admin_key_of_the_tests']) {
      const refused = await askToken(key, { session: 'shop:1' });
      expect(refused).toMatchObject({ status: 403, body: { code: 'forbidden' } });
      expect(refused.body.detail).toContain('holdfast keys create');
    }
  });

  test('by a viewer only for reading', async () => {
    const { key } = await makeKey({ role: 'viewer' });
    expect((await askToken(key, { session: 'shop:1' })).status).toBe(403);
    expect((await askToken(key, { session: 'shop:1', allow: ['read'] })).status).toBe(201);
  });

  test('within the scope of its key (G44)', async () => {
    const { key } = await makeKey({ sessions: ['agent:main:shop:*'] });
    for (const inside of [
      { session: 'shop:1' },
      { sessions: 'agent:main:shop:*' },
      { sessions: 'agent:main:shop:vip:*' },
    ])
      expect((await askToken(key, inside)).status).toBe(201);
    expect(await askToken(key, { session: 'office:1' })).toMatchObject({ status: 404, body: { code: 'not_found' } });
    for (const wider of ['agent:main:*', 'agent:main:shop*', 'agent:main:office:*']) {
      const refused = await askToken(key, { sessions: wider });
      expect(refused).toMatchObject({ status: 400, body: { errors: [{ path: 'sessions' }] } });
      expect(refused.body.detail).toContain(
        `"${wider}" is more than the key sees. Begin with one of agent:main:shop:*`,
      );
    }
    // Its key has a scope, and the lists of messages and events are of one session.
    const token = await makeToken({ session: 'shop:scoped' }, key);
    expect((await say(token, 'shop:scoped', { text: 'Hi' })).status).toBe(202);
    expect((await get(token, '/v1/messages?session=shop:scoped')).body.items).toHaveLength(1);
  });

  test.each([
    [{}, 'session'],
    [{ session: 'shop:1', sessions: 'agent:main:shop:*' }, 'session'],
    [{ sessions: 'shop:*' }, 'sessions'],
    [{ sessions: 'agent:main:shop:1' }, 'sessions'],
    [{ session: 'shop:1', allow: [] }, 'allow'],
    [{ session: 'shop:1', allow: ['approve'] }, 'allow[0]'],
    [{ session: 'shop:1', expiresInSeconds: 86_401 }, 'expiresInSeconds'],
  ])('not from %j', async (body, path) => {
    const { key } = await makeKey();
    const errors = [expect.objectContaining({ path })];
    expect(await askToken(key, body)).toMatchObject({ status: 400, body: { errors } });
  });

  test('for an hour, or until its key ends', async () => {
    const { clock } = holder.rig.context;
    const from = clock.now().getTime();
    const { body } = await askToken((await makeKey()).key, { session: 'shop:1' });
    const lastsMs = Date.parse(body.expiresAt) - from;
    expect(lastsMs).toBeGreaterThanOrEqual(3_600_000);
    expect(Date.parse(body.expiresAt)).toBeLessThanOrEqual(clock.now().getTime() + 3_600_000);
    const expiresAt = new Date(from + 60_000).toISOString();
    const { key } = await makeKey({ expiresAt });
    expect((await askToken(key, { session: 'shop:1' })).body.expiresAt).toBe(expiresAt);
  });

  test('by a request that is sent again: each has a token of its own, and the database has none', async () => {
    const { key } = await makeKey();
    const headers = { ...bearer(key), 'idempotency-key': 'token' };
    const ask = () => holder.rig.post('/v1/tokens', { session: 'shop:1', allow: ['read'] }, headers);
    const made = [await ask(), await ask()].map(({ body }) => String(body.token));
    expect(new Set(made).size).toBe(2);
    const stored = JSON.stringify(await readIdempotencyKeys(holder.rig));
    expect(stored).not.toContain('hft_');
  });

  test('with one secret, also when several processes need the first one at the same time', async () => {
    const database = await withTestDatabase();
    onTestFinished(() => database.drop());
    const rigs = await Promise.all([1, 2, 3].map(() => createApiRig(database.url)));
    onTestFinished(async () => void (await Promise.all(rigs.map((rig) => rig.close()))));
    const { body } = await rigs[0]!.post('/v1/keys', { name: 'shop', role: 'operator' });
    const asked = { session: 'shop:first', allow: ['send'] };
    const made = await Promise.all(rigs.map((rig) => rig.post('/v1/tokens', asked, bearer(body.key))));
    for (const { body: token } of made)
      for (const rig of rigs) {
        const sent = await rig.post('/v1/sessions/shop:first/messages', { text: 'Hi' }, bearer(token.token));
        expect(sent.status).toBe(202);
      }
    expect(await countTokenSecrets(rigs[0]!)).toBe(1);
  });
});

describe('a token ends', () => {
  test.each([
    ['is revoked', { session: 'shop:ends' }, ({ id }: { id: string }) => holder.rig.ask('DELETE', `/v1/keys/${id}`)],
    ['is revoked, having a successor', { session: 'shop:ends' }, replace],
  ])('in every process when its key %s, with its open streams (G32)', async (_, body, end) => {
    const made = await makeKey();
    const token = await makeToken(body, made.key);
    await holder.rig.settle('shop:ends', 'Hi');
    const other = await startOther();
    const streams = await Promise.all(
      [holder.rig, other].map(async (rig) =>
        openEvents(`${await rig.listen()}/v1/events?session=shop:ends`, undefined, token),
      ),
    );
    expect(streams.map(({ status }) => status)).toEqual([200, 200]);
    await end(made);
    await Promise.all(streams.map(({ ended }) => ended));
    for (const rig of [holder.rig, other])
      await eventually(() => statusOf(token, '/v1/sessions/shop:ends', rig)).toBe(401);
    expect((await say(token, 'shop:ends', { text: 'Hi' })).status).toBe(401);
  });

  test('when its time is over, with its open streams (G32)', async () => {
    const token = await makeToken({ session: 'shop:short', expiresInSeconds: 2 });
    const url = `${await holder.rig.listen()}/v1/events?session=shop:short`;
    await holder.rig.settle('shop:short', 'Hi');
    const events = await openEvents(url, undefined, token);
    expect(events.status).toBe(200);
    await events.ended;
    // However many pages ask with tokens that have ended, none is told that it has guessed keys.
    for (let n = 0; n < 20; n += 1) {
      const refused = await get(token, '/v1/sessions/shop:short');
      expect(refused.status).toBe(401);
      expect(refused.body.detail).toContain('it has expired, or its key was revoked');
    }
  });

  test('while its request waits, which is then answered 401 (G32)', async () => {
    const { id, key } = await makeKey();
    const token = await makeToken({ session: 'shop:waiting' }, key);
    const answering = say(token, 'shop:waiting', { text: 'Hi [[reply: private]]' }, { prefer: 'wait=60' });
    await eventually(async () => (await holder.rig.get('/v1/sessions/shop:waiting')).body.waitingMessages).toBe(1);
    await holder.rig.ask('DELETE', `/v1/keys/${id}`);
    await holder.rig.work('shop:waiting');
    expect(await answering).toMatchObject({ status: 401 });
  });
});

async function replace({ id }: { id: string }): Promise<void> {
  await makeKey({ replaces: id });
  await holder.rig.ask('DELETE', `/v1/keys/${id}`);
}

describe('a text that is no token', () => {
  test('is told from one whichever of its characters is another one (G32)', () => {
    const secret = randomBytes(32);
    const claims = {
      key: newId<string>(),
      generation: 'abc',
      sessions: 'agent:main:shop:1',
      may: ['read'],
      expiresAtMs: 1,
    };
    const token = writeToken(secret, { ...claims, may: ['read'] });
    expect(readToken(secret, token)).toMatchObject(claims);
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    for (let at = 0; at < token.length; at += 1)
      for (const other of `${alphabet}=. `)
        if (other !== token[at]) expect(readToken(secret, token.slice(0, at) + other + token.slice(at + 1))).toBeNull();
    for (const other of [
      token.slice(0, -1),
      `${token}A`,
      `${token}=`,
      token.slice(5),
      '',
      'hft_',
      `hft_${'A'.repeat(60)}`,
    ])
      expect(readToken(secret, other)).toBeNull();
    expect(readToken(randomBytes(32), token)).toBeNull();
  });

  test('opens nothing, also when it names another session or another key (G32)', async () => {
    const [one, other] = [await makeKey(), await makeKey()];
    const token = await makeToken({ session: 'shop:forged' }, one.key);
    await holder.rig.settle('shop:forged', 'Hi');
    expect(await statusOf(token, '/v1/sessions/shop:forged')).toBe(200);
    const [text, signature] = [token.slice(4, -43), token.slice(-43)];
    const claims = JSON.parse(Buffer.from(text, 'base64url').toString()) as object;
    for (const change of [
      { sessions: 'agent:main:*' },
      { key: other.id },
      { expiresAtMs: 1e15 },
      { may: ['send'] },
      {},
    ]) {
      const forged = Buffer.from(JSON.stringify({ ...claims, ...change, n: 1 })).toString('base64url');
      const headers = bearer(`hft_${forged}${signature}`);
      expect((await fromElsewhere('GET', '/v1/sessions/shop:forged', { headers })).status).toBe(401);
    }
  });
});

test('a token signs no browser in to the dashboard (G32)', async () => {
  const token = await makeToken({ session: 'shop:1' }, (await makeKey({ role: 'admin' })).key);
  for (const body of [{ key: token }, { code: token }])
    expect((await fromElsewhere('POST', '/v1/auth/sessions', { payload: body })).status).toBe(401);
});

test('a token in an address is refused, and no log line has one (G31, G32)', async () => {
  const { rig } = holder;
  const token = await makeToken({ session: 'shop:address' });
  await rig.settle('shop:address', 'Hi');
  for (const url of [
    '/v1/sessions/shop:address?token=',
    '/v1/events?session=shop:address&access_token=',
    '/healthz?t=',
  ])
    for (const headers of [{ authorization: '' }, bearer(token)])
      expect(await rig.get(url + token, headers)).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
  await rig.get('/v1/sessions/shop:other', bearer(token));
  await rig.get('/v1/sessions/shop:address', bearer(`${token}x`));
  await say(token, 'shop:address', { text: 'Hi', model: token });
  expect(rig.logLines.length).toBeGreaterThan(0);
  expect(rig.logLines.join('\n')).not.toContain('hft_');
});
