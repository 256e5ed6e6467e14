// The row of a process: written while it runs, used by an operator to drain it, and deleted when it
// has drained.
import { expect, onTestFinished, test, vi } from 'vitest';
import { liveEvent } from '../../src/contract/events.ts';
import { readServiceHealth } from '../../src/features/overview/views/service-health.ts';
import { withFileSlot } from '../../src/files/file-slots.ts';
import { newId } from '../../src/ids.ts';
import { openDatabase, type Database } from '../../src/database/database.ts';
import { workers } from '../../src/kernel/views/workers.ts';
import { drainWorker, reportWorker, trimWorkers } from '../../src/kernel/processes/report-worker.ts';
import { readIdentity, startReports } from '../../workers/report-process.ts';
import { readEvents } from '../rows/events.ts';
import { ago, like } from '../rows/table.ts';
import { addWorkers, changeWorkers } from '../rows/workers.ts';
import { withTestDatabase } from '../servers/postgres.ts';

const IDLE = { lanes: {}, isQueueAway: false, isDraining: false, isReconcilerStalled: false };

async function startProcess(roles: string[] = ['worker']) {
  const server = await withTestDatabase();
  const database = openDatabase({ url: server.url, role: 'test' });
  onTestFinished(async () => {
    await database.close();
    await server.drop();
  });
  const identity = readIdentity(roles);
  const lanes = { main: { slots: 4, inUse: 1 } };
  const reporter = await startReports({
    database,
    identity,
    lanes: () => lanes,
    isQueueAway: () => true,
    isReconcilerStalled: () => false,
    everyMs: 10,
  });
  const see = () => workers.find(database.views, identity.id);
  const seeEvents = async () => {
    const rows = await readEvents(database.views, { type: like('worker.%') }, 'type', 'data');
    for (const { type, data } of rows) {
      const event = { ...(data as object), type, sessionKey: null, turnId: null, at: new Date().toISOString() };
      expect(liveEvent.safeParse(event).error?.message).toBeUndefined();
    }
    return rows;
  };
  return { database, identity, reporter, lanes, see, seeEvents };
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
    running: [],
  });
  const { memoryBytes, loopDelayMs } = (await see())!;
  expect(memoryBytes).toBeGreaterThan(1_000_000);
  expect(loopDelayMs).toBeGreaterThanOrEqual(0);
  reporter.startDrain();
  await expect.poll(see).toMatchObject({ state: 'draining', drainingAt: expect.any(String) });
  await reporter.stop();
  expect(await see()).toBeNull();
});

test('a process reads with its next report that it must drain', async () => {
  const { database, identity, reporter, see } = await startProcess();
  expect(await drainWorker(database, { id: identity.id, idempotency: null })).toEqual({ kind: 'asked' });
  await reporter.drainRequested;
  expect(await see()).toMatchObject({ state: 'draining' });
  await reporter.stop();
});

test('a process that has missed three reports is lost, cannot be drained, and is deleted after the retention', async () => {
  const { database, identity, reporter, see } = await startProcess();
  await reporter.stop();
  await addWorkers(database.hot, { id: identity.id, name: identity.name, seenAt: ago('1 minute') });
  expect((await see())?.state).toBe('lost');
  const request = { id: identity.id, idempotency: null };
  expect(await drainWorker(database, request)).toMatchObject({ kind: 'lost' });
  expect(await drainWorker(database, { ...request, id: newId() })).toEqual({ kind: 'unknown' });
  await trimWorkers(database, 30_000);
  expect(await see(), 'no process has marked it yet').not.toBeNull();
  const other = readIdentity(['api']);
  for (let n = 0; n < 2; n += 1) await reportWorker(database, other, IDLE);
  await trimWorkers(database, 3_600_000);
  expect(await see()).not.toBeNull();
  await trimWorkers(database, 30_000);
  expect(await see()).toBeNull();
});

test('the start and the end of a process are one event each, however often it reports', async () => {
  const { identity, reporter, database, seeEvents } = await startProcess(['api', 'worker']);
  for (let n = 0; n < 3; n += 1) await reportWorker(database, identity, IDLE);
  reporter.startDrain();
  await reporter.stop();
  await reporter.stop();
  const { id: workerId, ...facts } = identity;
  expect(await seeEvents()).toEqual([
    { type: 'worker.started', data: { workerId, ...facts, isBack: false } },
    { type: 'worker.drained', data: { workerId, ...facts } },
  ]);
});

test('a process that is lost is one event, however many processes look at the same time', async () => {
  const { database, reporter, seeEvents } = await startProcess();
  const lost = readIdentity(['worker']);
  await reportWorker(database, lost, IDLE);
  const others = Array.from({ length: 8 }, () => readIdentity(['scheduler']));
  await Promise.all(others.map((each) => reportWorker(database, each, IDLE)));
  await silence(database, [lost.id]);
  for (let n = 0; n < 3; n += 1) await Promise.all(others.map((each) => reportWorker(database, each, IDLE)));
  const isLoss = ({ type }: { type: string }): boolean => type === 'worker.lost';
  expect((await seeEvents()).filter(isLoss)).toMatchObject([
    { data: { workerId: lost.id, name: lost.name, seenAt: expect.stringMatching(/Z$/) } },
  ]);
  // It was only frozen: it reports again, and is lost again.
  await reportWorker(database, lost, IDLE);
  expect((await seeEvents()).at(-1)).toMatchObject({
    type: 'worker.started',
    data: { workerId: lost.id, isBack: true },
  });
  await silence(database, [lost.id]);
  await Promise.all(others.map((each) => reportWorker(database, each, IDLE)));
  expect((await seeEvents()).filter(isLoss)).toHaveLength(2);
  await reporter.stop();
});

test('a process that was itself silent reports no other as lost before its next report', async () => {
  const { database, reporter, seeEvents } = await startProcess();
  await reporter.stop();
  const [one, two] = [readIdentity(['worker']), readIdentity(['worker'])];
  for (const each of [one, two]) await reportWorker(database, each, IDLE);
  await silence(database, [one.id, two.id]);
  await Promise.all([one, two].map((each) => reportWorker(database, each, IDLE)));
  await Promise.all([one, two].map((each) => reportWorker(database, each, IDLE)));
  expect((await seeEvents()).filter(({ type }) => type === 'worker.lost')).toEqual([]);
});

/** As if these processes had not reported for a minute. */
async function silence(database: Database, ids: string[]): Promise<void> {
  await changeWorkers(database.hot, { id: ids }, { seenAt: ago('1 minute') });
}

test('a process reports a file call that has not ended for 5 s, until it ends', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { database, identity, reporter } = await startProcess();
  const { promise, resolve } = Promise.withResolvers<void>();
  const call = withFileSlot('/mnt/away/notes', () => promise);
  const read = async () => (await readServiceHealth(database.reads)).filter(({ kind }) => kind === 'files_hang');
  expect(await read()).toEqual([]);
  vi.advanceTimersByTime(5_000);
  const fact = {
    kind: 'files_hang',
    name: `${identity.name} at /mnt/away/notes`,
    detail: null,
    count: 1,
    since: expect.any(String),
  };
  await expect.poll(read).toEqual([fact]);
  resolve();
  await call;
  await expect.poll(read).toEqual([]);
  await reporter.stop();
});
