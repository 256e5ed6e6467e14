// Every POST with an Idempotency-Key, on a database without a worker. A process that crashes
// between the effect of a request and its answer leaves a key without an answer; the tests make
// such keys. Crashes of real processes: test/crash/keyed-sweep.test.ts.
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { ROUTES } from '../../scripts/all-routes.ts';
import type { Ground, KeyedAnswer } from '../crash/rig/keyed-ground.ts';
import { KEYED_SETTINGS } from '../crash/rig/keyed-channels.ts';
import { KEYED_SCENARIOS } from '../crash/rig/keyed-scenarios.ts';
import { readInputs } from '../rows/inputs.ts';
import { changeIdempotencyKeys } from '../rows/keys.ts';
import { useApiRig } from './use-api-rig.ts';

const holder = useApiRig({ file: KEYED_SETTINGS });

const ground: Ground = {
  async post(path, body, key) {
    const {
      status,
      headers,
      body: answer,
    } = await holder.rig.post(path, body, key === undefined ? {} : { 'idempotency-key': key });
    return { status, isReplay: headers['idempotent-replayed'] === 'true', body: answer };
  },
  rows: (sql, values = []) => holder.rig.rows(sql, values),
};

let sessions = 0;
const newSession = (): string => `keyed-${(sessions += 1)}`;

test('every POST route has a scenario', () => {
  // A request without an API key has no Idempotency-Key either. A chat is answered when its turn
  // has ended: test/openai/chat.test.ts. The key of an MCP message is that of the route which it
  // performs: test/mcp-server.
  const posts = ROUTES.filter(({ method, isPublic }) => method === 'POST' && isPublic !== true)
    .map(({ path }) => path)
    .filter((path) => !path.endsWith('/chat/completions') && path !== '/openai/v1/files' && path !== '/mcp')
    // A probe and a test of a bot change nothing, and a token is not stored: a request that is sent
    // again makes another one (test/features/tokens).
    .filter((path) => !path.endsWith('/probe') && !path.endsWith('/{account}/test') && path !== '/v1/tokens');
  expect(new Set(KEYED_SCENARIOS.map(({ route }) => route))).toEqual(new Set(posts));
});

describe.each(KEYED_SCENARIOS)('$name with an Idempotency-Key', ({ prepare, secret }) => {
  test('has one effect and one answer when its process crashed before it stored the answer (G2)', async () => {
    const request = await prepare(ground, newSession());
    const key = randomUUID();
    const send = (): Promise<KeyedAnswer> => ground.post(request.path, request.body, key);
    expect(await send()).toMatchObject({ status: request.status, isReplay: false });
    await changeIdempotencyKeys(ground, { key }, { status: null, response: null });
    await request.meanwhile?.();
    const again = await send();
    expect(again).toMatchObject({ status: request.status, isReplay: true });
    expect(await send()).toEqual(again);
    expect(await request.effects()).toBe(1);
  });

  test('has one effect and one answer when it is sent four times simultaneously (G2)', async () => {
    const request = await prepare(ground, newSession());
    const key = randomUUID();
    const answers = await Promise.all([1, 2, 3, 4].map(() => ground.post(request.path, request.body, key)));
    expect(answers.map(({ status }) => status)).toEqual([1, 2, 3, 4].map(() => request.status));
    const bodies = answers.map(({ body }) => (secret === undefined ? body : { ...body, [secret]: null }));
    for (const body of bodies) expect(body).toEqual(bodies[0]);
    if (secret !== undefined) expect(answers.filter(({ body }) => body[secret] !== null)).toHaveLength(1);
    expect(answers.filter(({ isReplay }) => isReplay)).toHaveLength(3);
    expect(await request.effects()).toBe(1);
  });
});

test('a chat command cancels only what was accepted before it, also when it waits for its session (G2)', async () => {
  const session = newSession();
  const say = (text: string, key?: string): Promise<KeyedAnswer> =>
    ground.post(`/v1/sessions/${session}/messages`, { text }, key);
  await say('before');
  const stopped = await say('/stop', 'stop');
  expect(stopped.body.message).toMatchObject({
    seq: 2,
    status: 'answered',
    reply: '⚙️ Agent was aborted. Cancelled 1 waiting message.',
  });
  const after = await say('after');
  expect((await say('/stop', 'stop')).body).toEqual(stopped.body);
  expect(after.body.message.seq).toBe(3);
  const rows = await readInputs(ground, { sessionKey: `agent:main:${session}` }, 'seq', 'status');
  expect(rows).toEqual([
    { seq: 1, status: 'cancelled' },
    { seq: 2, status: 'answered' },
    { seq: 3, status: 'waiting' },
  ]);
});
