// Goal: a database that dies, comes back or never answers is a quick 503, never a request that hangs, and nothing that was
// answered is lost (G1, G23). Method: a server of its own that is killed as a power cut would.
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

// A request that hung would end with the code `timeout`.
test('reads are 503 with Retry-After while it is away, and work when it is back', async () => {
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
  expect((await rig.get(`/v1/messages/${body.message.id}`)).body).toEqual(body.message);
});

test('a message that comes while it is away is accepted once when it is soon back (G1)', async () => {
  await server.kill();
  const sending = rig.post('/v1/sessions/patient/messages', { text: 'x' }, { 'idempotency-key': 'away-1' });
  await server.restart();
  const answer = await sending;
  expect(answer.status).toBe(202);
  const again = await rig.post('/v1/sessions/patient/messages', { text: 'x' }, { 'idempotency-key': 'away-1' });
  expect(again.body.message.id).toBe(answer.body.message.id);
  expect((await rig.get('/v1/sessions/patient')).body.waitingMessages).toBe(1);
});

test('a statement that never ends is 503 in time, and says what is not known', async () => {
  const { context } = rig;
  const { accept } = context;
  onTestFinished(() => {
    vi.useRealTimers();
    context.accept = accept;
  });
  const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>();
  context.accept = () => {
    isAsked();
    return new Promise(() => undefined);
  };
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const asking = rig.post('/v1/sessions/patient/messages', { text: 'x' });
  await asked;
  await vi.advanceTimersByTimeAsync(15_000);
  vi.useRealTimers();
  const answer = await asking;
  expect(answer).toMatchObject({ status: 503, body: { code: 'timeout' } });
  expect(answer.body.detail).toContain('Idempotency-Key');
});

test('an outage is one line in the log, not one per request', async () => {
  await server.kill();
  for (let n = 1; n <= 5; n += 1) expect((await rig.get('/v1/stats')).status).toBe(503);
  const warnings = rig.logLines.filter((line) => line.includes('The database is away'));
  expect(warnings.length).toBeGreaterThan(0);
  expect(warnings.length).toBeLessThan(5);
});
