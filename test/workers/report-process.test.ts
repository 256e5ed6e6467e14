// The row of a process: written while it runs, the way in which a person drains it, and gone when it has drained.
import { expect, onTestFinished, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { openDatabase } from '../../src/store/database.ts';
import { drizzle } from '../../src/store/drizzle.ts';
import { viewWorker } from '../../src/store/views/workers.ts';
import { drainWorker } from '../../src/store/workers/drain-worker.ts';
import { trimWorkers } from '../../src/store/workers/report-worker.ts';
import { identityOf, startReports } from '../../workers/report-process.ts';
import { withTestDatabase } from '../servers/postgres.ts';

async function startProcess(roles: string[] = ['worker']) {
  const server = await withTestDatabase();
  const database = openDatabase({ url: server.url, role: 'test' });
  onTestFinished(async () => {
    await database.close();
    await server.drop();
  });
  const identity = identityOf(roles);
  const lanes = { main: { slots: 4, inUse: 1 } };
  const reporter = await startReports({ database, identity, lanes: () => lanes, isQueueAway: () => true, everyMs: 10 });
  const see = () => viewWorker(drizzle({ client: database.views }), identity.id);
  return { database, identity, reporter, lanes, see };
}

test('a process has a row from its start to the end of its drain', async () => {
  const { reporter, identity, lanes, see } = await startProcess(['api', 'scheduler']);
  expect(await see()).toMatchObject({
    name: identity.name,
    pid: process.pid,
    roles: ['api', 'scheduler'],
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    state: 'running',
    drainingAt: null,
    queueAwaySince: expect.any(String),
    lanes,
  });
  reporter.startDrain();
  await expect.poll(see).toMatchObject({ state: 'draining', drainingAt: expect.any(String) });
  await reporter.stop();
  expect(await see()).toBeNull();
});

test('a process notices with its next report that it is to drain', async () => {
  const { database, identity, reporter, see } = await startProcess();
  expect(await drainWorker(database, { id: identity.id, idempotency: null })).toEqual({ kind: 'asked' });
  await reporter.drainRequested;
  expect(await see()).toMatchObject({ state: 'draining' });
  await reporter.stop();
});

test('a process that has missed three reports is lost, cannot be drained, and is deleted after the retention', async () => {
  const { database, identity, reporter, see } = await startProcess();
  await reporter.stop();
  await database.hot.query(
    `insert into holdfast.workers (id, name, host, pid, roles, version, lanes, seen_at)
     values ($1, $2, 'host', 1, '{worker}', '1.0.0', '{}', clock_timestamp() - interval '1 minute')`,
    [identity.id, identity.name],
  );
  expect((await see())?.state).toBe('lost');
  const request = { id: identity.id, idempotency: null };
  expect(await drainWorker(database, request)).toMatchObject({ kind: 'lost' });
  expect(await drainWorker(database, { ...request, id: newId() })).toEqual({ kind: 'unknown' });
  await trimWorkers(database, 3_600_000);
  expect(await see()).not.toBeNull();
  await trimWorkers(database, 30_000);
  expect(await see()).toBeNull();
});
