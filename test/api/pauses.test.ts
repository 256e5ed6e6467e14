// Pausing and resuming over the API, with real claims.
import { expect, test } from 'vitest';
import { createClaim } from '../../src/kernel/sessions/claim-session.ts';
import type { SessionId } from '../../src/core/ids.ts';
import { selectStaleRings } from '../../src/kernel/queue/reconcile.ts';
import { changeSessions, readSessions } from '../rows/sessions.ts';
import { ago } from '../rows/table.ts';
import { useApiRig } from './use-api-rig.ts';

const holder = useApiRig({ keys: [{ name: 'ops', role: 'operator', key: 'operator-key-0123456789' }] });
const ops = { authorization: 'Bearer operator-key-0123456789' };

async function send(session: string, text = '[[reply: done]]'): Promise<string> {
  return (await holder.rig.post(`/v1/sessions/${session}/messages`, { text })).body.message.id;
}

const statusOf = async (id: string): Promise<string> => (await holder.rig.get(`/v1/messages/${id}`)).body.status;

test('a paused session answers nothing until it is resumed, and its messages name the principal and the reason of the pause', async () => {
  const { rig } = holder;
  const paused = await rig.post('/v1/pause', { session: 'held', reason: 'wrong prompt' }, ops);
  expect(paused).toMatchObject({
    status: 200,
    body: { lane: null, agent: null, session: 'agent:main:held', reason: 'wrong prompt', pausedBy: 'key:ops' },
  });
  const id = await send('held');
  const other = await send('free');
  await rig.work('held');
  await rig.work('free');
  expect(await statusOf(other)).toBe('answered');
  expect((await rig.get(`/v1/messages/${id}`)).body).toMatchObject({
    status: 'waiting',
    why: { code: 'paused', by: 'key:ops', text: expect.stringContaining('wrong prompt') },
  });
  expect((await rig.get('/v1/pauses')).body.items).toEqual([paused.body]);

  rig.rings.length = 0;
  const resumed = await rig.post('/v1/resume', { session: 'held' });
  expect(resumed.body).toEqual({ ended: [paused.body], remaining: [] });
  expect(rig.rings).toHaveLength(1);
  await rig.work('held');
  expect(await statusOf(id)).toBe('answered');
});

test.each([
  ['a lane', { lane: 'main' }, false],
  ['another lane', { lane: 'cron' }, true],
  ['an agent', { agent: 'main' }, false],
  ['an agent in another lane', { agent: 'main', lane: 'batch' }, true],
  ['everything', {}, false],
])('a pause of %s holds the messages that match its whole scope', async (_name, scope, isAnswered) => {
  const { rig } = holder;
  await rig.post('/v1/pause', scope);
  const id = await send('scoped');
  await rig.work('scoped');
  expect((await statusOf(id)) === 'answered').toBe(isAnswered);
  await rig.post('/v1/resume', scope);
  await rig.work('scoped');
  expect(await statusOf(id)).toBe('answered');
});

test('ending one pause leaves the others, and the messages that they hold; without a scope all end', async () => {
  const { rig } = holder;
  await rig.post('/v1/pause', { lane: 'main' });
  await rig.post('/v1/pause', { agent: 'main', reason: 'a second reason' });
  const id = await send('twice');
  rig.rings.length = 0;
  const { body } = await rig.post('/v1/resume', { lane: 'main' });
  expect(body).toMatchObject({ ended: [{ lane: 'main' }], remaining: [{ agent: 'main' }] });
  expect(rig.rings).toEqual([]);
  await rig.work('twice');
  expect(await statusOf(id)).toBe('waiting');
  expect((await rig.post('/v1/resume', { lane: 'cron' })).body.ended).toEqual([]);
  expect((await rig.post('/v1/resume')).body).toMatchObject({ ended: [{ agent: 'main' }], remaining: [] });
  await rig.work('twice');
  expect(await statusOf(id)).toBe('answered');
});

test('a pause of the same scope is one pause, and a retry after its end does not create it again (G2)', async () => {
  const { rig } = holder;
  const first = await rig.post('/v1/pause', { lane: 'cron' }, { 'idempotency-key': 'pause-1' });
  expect((await rig.post('/v1/pause', { lane: 'cron' })).body.id).toBe(first.body.id);
  await rig.post('/v1/resume', { lane: 'cron' });
  const again = await rig.post('/v1/pause', { lane: 'cron' }, { 'idempotency-key': 'pause-1' });
  expect(again.body).toEqual(first.body);
  expect((await rig.get('/v1/pauses')).body.items).toEqual([]);
});

test('a stop reaches a turn of a paused session whose worker is lost (G24)', async () => {
  const { rig } = holder;
  const id = await send('lost');
  const [{ id: sessionId } = {}] = await readSessions(rig, { key: 'agent:main:lost' }, 'id');
  await rig.post('/v1/pause', { session: 'lost' });
  await changeSessions(rig, { id: sessionId }, { owner: 'gone', leaseExpiresAt: ago('1 s') });
  const claim = createClaim(rig.turns.database);
  const known = { version: -1, seq: 0 };
  const ask = { sessionId: sessionId as SessionId, owner: 'next', leaseMs: 10_000, known };
  expect((await claim(ask)).kind).toBe('idle');
  await changeSessions(rig, { id: sessionId }, { stopReason: 'user' });
  expect((await claim(ask)).kind).toBe('claimed');
  expect(await statusOf(id)).toBe('waiting');
});

test('the worker that holds a session claims it again although it was paused meanwhile (G4)', async () => {
  const { rig } = holder;
  await send('mine');
  const [{ id: sessionId } = {}] = await readSessions(rig, { key: 'agent:main:mine' }, 'id');
  const claim = createClaim(rig.turns.database);
  const ask = {
    sessionId: sessionId as SessionId,
    owner: 'holder',
    leaseMs: 60_000,
    known: { version: -1, seq: 0 },
  };
  expect((await claim(ask)).kind).toBe('claimed');
  await rig.post('/v1/pause', { session: 'mine' });
  expect((await claim(ask)).kind).toBe('claimed');
});

test('the reconciler does not ring for paused sessions, so they do not take the room of others', async () => {
  const { rig } = holder;
  await rig.post('/v1/pause', { session: 'quiet' });
  await send('quiet');
  await send('loud');
  const { stale } = await selectStaleRings(rig.turns.database, {
    staleAfterMs: 0,
    lanes: [{ lane: 'main', room: 100 }],
  });
  const keys = await readSessions(rig, { id: stale.map(({ sessionId }) => sessionId) }, 'key');
  expect(keys).toEqual([{ key: 'agent:main:loud' }]);
});

test('an invalid pause is refused, and pauses nothing', async () => {
  const { rig } = holder;
  await rig.post('/v1/resume');
  for (const [body, code] of [
    [{ lane: 'none' }, 'invalid_body'],
    [{ agent: 'nobody' }, 'unknown_agent'],
    [{ session: 'no key' }, 'invalid_session_key'],
    [{ everything: true }, 'invalid_body'],
    [{ reason: '' }, 'invalid_body'],
  ] as const) {
    expect((await rig.post('/v1/pause', body)).body.code).toBe(code);
  }
  expect((await rig.get('/v1/pauses')).body.items).toEqual([]);
});
