// Subagents over HTTP: spawned, listed, messaged and stopped, with real turns.
import { describe, expect, test } from 'vitest';
import { newId } from '../../../src/ids.ts';
import { endGathering } from '../../rows/doorbells.ts';
import { spawnBelow } from '../../api/spawn-below.ts';
import { useApiRig } from '../../api/use-api-rig.ts';

const holder = useApiRig();

async function spawn(session: string, body: object, headers: Record<string, string> = {}) {
  return holder.rig.post(`/v1/sessions/${session}/spawn`, body, headers);
}

/** Runs the turn of a session by its whole key. */
async function work(key: string) {
  return holder.rig.work(key);
}

describe('POST /v1/sessions/{key}/spawn', () => {
  test('spawns in the background, and the result reaches the session in its own turn (G18)', async () => {
    const { rig } = holder;
    const answer = await spawn('boss', { task: '[[reply: forty-two]]', label: 'count' });
    expect(answer).toMatchObject({ status: 202, body: { runId: expect.any(String) } });
    const { runId, childSessionKey } = answer.body;
    expect(childSessionKey).toMatch(/^agent:main:subagent:/);
    expect(rig.rings).toContainEqual(expect.objectContaining({ lane: 'subagent', kind: 'inbound' }));
    expect((await rig.get(`/v1/sessions/${childSessionKey}`)).body).toMatchObject({
      parentKey: 'agent:main:boss',
      kind: 'subagent',
      label: 'count',
      status: 'waiting',
    });
    await work(childSessionKey);
    expect((await rig.get('/v1/sessions/boss/subagents')).body.items).toMatchObject([
      {
        runId,
        childSessionKey,
        parentSessionKey: 'agent:main:boss',
        status: 'ok',
        result: 'forty-two',
        depth: 1,
        announcement: { sessionKey: 'agent:main:boss', status: 'waiting' },
      },
    ]);
    expect((await rig.get(`/v1/subagents/${runId}`)).body).toMatchObject({ runId, status: 'ok' });
    await work('boss');
    const { items } = (await rig.get('/v1/turns?session=boss')).body;
    expect(items).toMatchObject([{ kind: 'announce', status: 'completed' }]);
    const announced = (await rig.get('/v1/sessions/boss/subagents')).body.items[0].announcement;
    expect(announced).toMatchObject({ status: 'answered' });
    const message = (await rig.get(`/v1/messages/${announced.messageId}`)).body;
    expect(message).toMatchObject({ kind: 'announcement', status: 'answered' });
    expect(message.text).toMatch(
      /^\[System Message\] \[sessionId: .*A subagent task "count" just completed successfully\./,
    );
  });

  test('is idempotent on its key: one run, and the first answer again (G2, G18)', async () => {
    const { rig } = holder;
    const headers = { 'idempotency-key': 'spawn-once' };
    const answers = await Promise.all([1, 2, 3].map(() => spawn('keyed', { task: 'x' }, headers)));
    expect(new Set(answers.map(({ body }) => body.runId)).size).toBe(1);
    expect(answers.filter((answer) => answer.headers['idempotent-replayed'] === 'true')).toHaveLength(2);
    expect((await spawn('keyed', { task: 'y' }, headers)).body.code).toBe('idempotency_mismatch');
    expect((await rig.get('/v1/sessions/keyed/subagents')).body.items).toHaveLength(1);
  });

  test('names the reason of a refusal', async () => {
    expect((await spawn('picky', {})).body.errors).toMatchObject([{ path: 'task' }]);
    expect(
      (await spawn('picky', { task: ' ', depth: 1 })).body.errors.map(({ path }: { path: string }) => path),
    ).toEqual(expect.arrayContaining(['task', 'depth']));
    expect(await spawn('picky', { task: 'x', agentId: 'nobody' })).toMatchObject({
      status: 404,
      body: { code: 'unknown_agent', detail: expect.stringContaining('"nobody"') },
    });
    expect((await spawn('picky', { task: 'x', model: 'gpt' })).body).toMatchObject({
      code: 'invalid_body',
      errors: [{ path: 'model', message: expect.stringContaining('"gpt"') }],
    });
    expect((await spawn('agent:nobody:x', { task: 'x' })).body.code).toBe('unknown_agent');
  });

  test('over the limits writes nothing: too many, with Retry-After; too deep, permanently (G27)', async () => {
    const { rig } = holder;
    for (let n = 0; n < 5; n += 1) expect((await spawn('full', { task: 'waits' })).status).toBe(202);
    const over = await spawn('full', { task: 'one more' });
    expect(over).toMatchObject({
      status: 429,
      body: {
        code: 'spawn_limit',
        detail: 'MaxChildrenPerSession is 5, and 5 subagents of this session are active.',
      },
    });
    expect(over.headers['retry-after']).toBe('5');
    const { items } = (await rig.get('/v1/sessions/full/subagents?limit=2')).body;
    expect(items).toHaveLength(2);
    expect(await spawn(items[0].childSessionKey, { task: 'deeper' })).toMatchObject({
      status: 409,
      body: { code: 'conflict', detail: 'MaxSpawnDepth is 1, and this session is at depth 1.' },
    });
  });
});

describe('a run', () => {
  test('is killed once, with those below it, and its end is announced', async () => {
    const { rig } = holder;
    const { body } = await spawn('killer', { task: 'waits' });
    expect((await rig.post(`/v1/subagents/${body.runId}/kill`)).body).toEqual({ killed: 1 });
    expect((await rig.post(`/v1/subagents/${body.runId}/kill`)).body).toEqual({ killed: 0 });
    expect((await rig.get('/v1/sessions/killer/subagents')).body.items).toMatchObject([
      { status: 'killed', error: 'It was killed by a person.', announcement: { status: 'waiting' } },
    ]);
    expect(await work(body.childSessionKey)).toMatchObject({ kind: 'idle' });
    await work('killer');
    const entries = (await rig.get('/v1/sessions/killer/transcript')).body.items;
    expect(JSON.stringify(entries)).toContain('just was killed.');
    expect((await rig.post(`/v1/subagents/${newId<string>()}/kill`)).status).toBe(404);
    expect((await rig.post('/v1/subagents/none/kill')).status).toBe(404);
  });

  test('is killed alone with below: keep, and the run below it continues', async () => {
    const { rig } = holder;
    const { body } = await spawn('alone', { task: 'waits' });
    const below = await spawnBelow(rig, body.childSessionKey, { label: 'late' });
    const kill = (request: object) => rig.post(`/v1/subagents/${body.runId}/kill`, request);
    expect(await kill({ below: 'all' })).toMatchObject({ status: 400 });
    expect((await kill({ below: 'keep' })).body).toEqual({ killed: 1 });
    const get = async (runId: string) => (await rig.get(`/v1/subagents/${runId}`)).body;
    expect(await get(body.runId)).toMatchObject({ status: 'killed' });
    expect(await get(below.runId)).toMatchObject({ status: 'running' });
    await work(below.key);
    expect(await get(below.runId)).toMatchObject({
      status: 'ok',
      announcement: { sessionKey: 'agent:main:alone', status: 'waiting' },
    });
  });

  test('accepts a message while it works, and refuses it afterwards', async () => {
    const { rig } = holder;
    const { body } = await spawn('steerer', { task: '[[reply: first]]' });
    const steer = (payload: object) => rig.post(`/v1/subagents/${body.runId}/steer`, payload);
    const steered = await steer({ text: '[[reply: second]]' });
    expect(steered).toMatchObject({ status: 202, body: { runId: body.runId, how: 'waits' } });
    expect((await steer({})).status).toBe(400);
    await work(body.childSessionKey);
    expect((await rig.get('/v1/sessions/steerer/subagents')).body.items[0].status).toBe('running');
    await endGathering(rig);
    await work(body.childSessionKey);
    expect((await rig.get('/v1/sessions/steerer/subagents')).body.items[0]).toMatchObject({
      status: 'ok',
      result: 'second',
    });
    expect(await steer({ message: 'too late' })).toMatchObject({ status: 409, body: { code: 'conflict' } });
  });
});

describe('stopping a session', () => {
  test('stops its subagents, and /stop says how many (G24)', async () => {
    const { rig } = holder;
    const { body } = await spawn('stopper', { task: 'waits' });
    await spawn('stopper', { task: 'waits, too' });
    const said = await rig.post('/v1/sessions/stopper/messages', { text: '/stop' });
    expect(said.body).toMatchObject({
      disposition: 'command',
      message: { reply: '⚙️ Agent was aborted. Stopped 2 sub-agents.' },
    });
    const { items } = (await rig.get('/v1/sessions/stopper/subagents')).body;
    expect(items).toMatchObject([{ status: 'killed' }, { status: 'killed' }]);
    expect(items[0].announcement.status).toBe('cancelled');
    expect(await work(body.childSessionKey)).toMatchObject({ kind: 'idle' });
    expect((await rig.post('/v1/sessions/stopper/abort')).body).toEqual({ aborted: null, cancelled: 0 });
  });
});
