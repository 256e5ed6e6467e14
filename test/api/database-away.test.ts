// Goal: when the database crashes, restarts or never answers, requests quickly get 503 and never
// hang, and no answered request is lost (G1, G23). Method: a server of this test that is killed as
// by a power cut.
import pg from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startTestPostgres } from '../servers/postgres.ts';
import type { PostgresServer } from '../servers/postgres-server.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { createApiRig, type ApiRig } from './api-rig.ts';

let server: PostgresServer;
let rig: ApiRig;

shareAmongTests(async (onEnd) => {
  const started = await startTestPostgres();
  onEnd(() => started.stop());
  const made = await createApiRig(started.url);
  onEnd(() => made.close());
  [server, rig] = [started, made];
});

/** Works as superuser, over a connection to another database that can always be written. */
async function asAdmin(work: (admin: pg.Client) => Promise<void>): Promise<void> {
  const url = new URL(server.url);
  url.pathname = '/template1';
  const admin = new pg.Client({ connectionString: url.toString(), options: '-c default_transaction_read_only=off' });
  await admin.connect();
  try {
    await work(admin);
  } finally {
    await admin.end();
  }
}

// A request that hangs would end with the code `timeout`.
test('reads are 503 with Retry-After during the outage, and work after it', async () => {
  const { body } = await rig.post('/v1/sessions/survivor/messages', { text: 'kept' });
  await server.kill();
  for (const url of ['/v1/sessions', `/v1/messages/${body.message.id}`, '/v1/stats', '/v1/events']) {
    const answer = await rig.get(url);
    expect(answer).toMatchObject({ status: 503, body: { code: 'database_unavailable' } });
    expect(answer.headers['retry-after']).toBe('1');
  }
  expect((await rig.get('/healthz')).status).toBe(200);
  expect(await rig.get('/readyz')).toMatchObject({ status: 503, body: { dependencies: [{ status: 'failed' }] } });
  expect((await rig.get('/metrics')).body).toContain('holdfast_database_up 0');
  await server.restart();
  expect((await rig.get(`/v1/messages/${body.message.id}`)).body).toMatchObject({ ...body.message, why: {} });
});

test('reads are 503 while the database accepts no connections, and readiness names its SQLSTATE', async () => {
  const { pathname } = new URL(rig.databaseUrl);
  const name = pathname.slice(1);
  await asAdmin(async (admin) => {
    await admin.query(`alter database ${name} allow_connections false`);
    await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]);
    // A terminated connection may only be noticed by the first request after it.
    await expect.poll(async () => (await rig.get('/v1/stats')).body.code).toBe('database_unavailable');
    expect(await rig.get('/v1/sessions')).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
    await expect
      .poll(async () => (await rig.get('/readyz')).body.dependencies[0])
      .toMatchObject({ name: 'database', status: 'failed', error: '55000' });
    await admin.query(`alter database ${name} allow_connections true`);
  });
  await expect.poll(async () => (await rig.get('/readyz')).status).toBe(200);
});

test('readiness is 503 while the database is read-only', async () => {
  await asAdmin(async (admin) => {
    await admin.query('alter system set default_transaction_read_only = on');
    await admin.query('select pg_reload_conf()');
    await expect
      .poll(async () => (await rig.get('/readyz')).body.dependencies[0])
      .toMatchObject({ name: 'database', status: 'failed', error: 'read_only' });
    expect((await rig.get('/readyz')).status).toBe(503);
    await admin.query('alter system reset default_transaction_read_only');
    await admin.query('select pg_reload_conf()');
  });
  await expect.poll(async () => (await rig.get('/readyz')).status).toBe(200);
});

test('a message during a short outage is accepted once (G1)', async () => {
  await server.kill();
  const sending = rig.post('/v1/sessions/patient/messages', { text: 'x' }, { 'idempotency-key': 'away-1' });
  await server.restart();
  const answer = await sending;
  expect(answer.status).toBe(202);
  const again = await rig.post('/v1/sessions/patient/messages', { text: 'x' }, { 'idempotency-key': 'away-1' });
  expect(again.body.message.id).toBe(answer.body.message.id);
  expect((await rig.get('/v1/sessions/patient')).body.waitingMessages).toBe(1);
});

/**
 * Posts a message whose statement never ends, and resolves with the answer at the deadline of the
 * request.
 */
async function postUntilTimeout(): Promise<Awaited<ReturnType<ApiRig['post']>>> {
  const { inbox } = rig.context.service;
  const { accept } = inbox;
  onTestFinished(() => {
    vi.useRealTimers();
    inbox.accept = accept;
  });
  const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>();
  inbox.accept = () => {
    isAsked();
    return new Promise(() => undefined);
  };
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const asking = rig.post('/v1/sessions/patient/messages', { text: 'x' });
  await asked;
  await vi.advanceTimersByTimeAsync(15_000);
  vi.useRealTimers();
  return asking;
}

test('a statement that never ends is 503 at the deadline, and the answer says that the outcome is unknown', async () => {
  const answer = await postUntilTimeout();
  expect(answer).toMatchObject({ status: 503, body: { code: 'timeout' } });
  expect(answer.body.detail).toContain('Idempotency-Key');
});

test('an outage is one line in the log, not one per request', async () => {
  const outages = () => rig.logLines.filter((line) => line.includes('The database is unavailable')).length;
  const earlier = outages();
  await server.kill();
  for (let n = 1; n <= 5; n += 1) expect((await rig.get('/v1/stats')).status).toBe(503);
  expect(outages()).toBeGreaterThan(0);
  // None if the outage of an earlier test is not over: it ends when nothing has failed for two
  // seconds.
  expect(outages() - earlier).toBeLessThanOrEqual(1);
  const before = rig.logLines.length;
  expect((await postUntilTimeout()).body.code).toBe('timeout');
  expect(rig.logLines.slice(before).filter((line) => line.includes('Request failed'))).toEqual([]);
});
