// Why messages wait, from real rows: claims, turns and parks are made by their statements, rows of
// workers as processes write them.
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { SessionId } from '../../src/core/ids.ts';
import { newId } from '../../src/ids.ts';
import { openDatabase } from '../../src/database/database.ts';
import { listMessages, viewMessage } from '../../src/kernel/views/messages.ts';
import { viewLockedSession } from '../../src/kernel/views/sessions.ts';
import { viewTurn } from '../../src/kernel/views/turns.ts';
import { listWaiting } from '../../src/kernel/views/waiting.ts';
import { reportWorker } from '../../src/kernel/processes/report-worker.ts';
import { addBatchItems } from '../rows/batches.ts';
import { addYields, changeDoorbells } from '../rows/doorbells.ts';
import { addInputs } from '../rows/inputs.ts';
import { changeSessions } from '../rows/sessions.ts';
import { ago, ahead, now } from '../rows/table.ts';
import { emptyTables } from '../rows/whole-tables.ts';
import { changeWorkers } from '../rows/workers.ts';
import { createStoreRig, type StoreRig } from './store-rig.ts';
import { EVERYTHING } from '../../src/core/scope.ts';

let rig: StoreRig;
beforeAll(async () => {
  rig = await createStoreRig();
});
afterAll(() => rig.drop());
beforeEach(async () => {
  await emptyTables(rig, 'workers', 'inbox', 'sessions', 'doorbells', 'turns', 'yields');
});

const views = () => rig.database.views;

/** A process with slots in the lane main that reports now. */
async function report(name: string, more: { slots?: number; isQueueAway?: boolean; isDraining?: boolean } = {}) {
  const { slots = 1, isQueueAway = false, isDraining = false } = more;
  const identity = { id: newId<string>(), name, host: 'host', pid: 1, roles: ['worker'], version: '1.0.0' };
  const facts = { isQueueAway, isDraining, isReconcilerStalled: false };
  await reportWorker(rig.database, identity, { lanes: { main: { slots, inUse: 0 } }, ...facts });
}

const silence = (name: string) => changeWorkers(rig, { name }, { seenAt: ago('1 minute') });

/** Stores a message and returns its id. */
async function send(sessionId: SessionId): Promise<string> {
  const input = rig.input(sessionId);
  await rig.accept(input);
  return input.messageId;
}

const whyOf = async (id: string) => (await viewMessage(views(), id))?.why;

describe('a message waits', () => {
  test('for a worker, while no process that serves its lane reports', async () => {
    const id = await send(await rig.session());
    expect(await whyOf(id)).toMatchObject({ code: 'no_worker', by: 'main' });
    await report('draining', { isDraining: true });
    await report('lost');
    await silence('lost');
    expect(await whyOf(id)).toMatchObject({ code: 'no_worker' });
    await report('worker');
    expect(await whyOf(id)).toMatchObject({ code: 'ring_lost' });
  });

  test('for the disk of the database, after it has refused a write, in the message, its session and its turn', async () => {
    const [waits, runs] = [await rig.session(), await rig.session()];
    const id = await send(waits);
    await send(runs);
    const { turnId } = await rig.opened(runs, 'worker-1');
    expect(await whyOf(id)).toMatchObject({ code: 'no_worker' });
    // As in another process: it remembers the fault for 10 s.
    const database = openDatabase({ url: rig.url, role: 'test' });
    onTestFinished(() => database.close());
    const db = database.reads;
    const refused = await database.hot
      .query(`do $$ begin raise exception 'could not extend file' using errcode = '53100'; end $$`)
      .catch((error: unknown) => error);
    database.outages.report(refused, 'Report of this process failed; the next one retries');
    const reason = {
      code: 'storage_unavailable',
      text: expect.stringContaining('disk is full (53100)'),
      by: 'storage',
    };
    const message = await viewMessage(db, id);
    expect(message?.why).toMatchObject(reason);
    expect((await viewLockedSession(db, message?.sessionKey ?? ''))?.why).toMatchObject(reason);
    expect((await viewTurn(db, turnId))?.why).toMatchObject(reason);
  });

  test('for a slot, while turns of the workers of its lane use all of them', async () => {
    const [busy, other] = [await rig.session(), await rig.session()];
    await send(busy);
    await rig.opened(busy);
    const id = await send(other);
    // The turns of the rig name this worker.
    await report('worker');
    expect(await whyOf(id)).toMatchObject({ code: 'lane_full', by: 'main' });
    // A slot is free, and the job was enqueued just now: it is fetched in its turn.
    await report('another');
    expect(await whyOf(id)).toMatchObject({ code: 'lane_full', by: 'main' });
    await changeDoorbells(rig, {}, { dueAt: ago('1 minute'), rungAt: ago('1 minute') });
    expect(await whyOf(id)).toMatchObject({ code: 'ring_lost' });
    // With more due sessions than slots, it is an ordinary backlog.
    for (const session of [await rig.session(), await rig.session()]) await send(session);
    await changeDoorbells(rig, {}, { rungAt: ago('1 minute') });
    expect(await whyOf(id)).toMatchObject({ code: 'lane_full', by: 'main' });
  });

  test('for the turn of its session; after a crash for the takeover, and then for the turn again', async () => {
    const sessionId = await rig.session();
    await send(sessionId);
    await report('worker-1');
    await report('worker-2');
    const { turnId } = await rig.opened(sessionId, 'worker-1');
    expect((await viewTurn(views(), turnId))?.why).toBeNull();
    const id = await send(sessionId);
    expect(await whyOf(id)).toMatchObject({ code: 'session_busy', by: turnId });
    await silence('worker-1');
    expect(await whyOf(id)).toMatchObject({ code: 'lock_of_lost_worker', by: 'worker-1', until: expect.any(String) });
    // No other worker can take the session over.
    await silence('worker-2');
    expect(await whyOf(id)).toMatchObject({ code: 'no_worker', by: 'main' });
    expect((await viewTurn(views(), turnId))?.why).toMatchObject({ code: 'no_worker', by: 'main' });
    await changeWorkers(rig, { name: 'worker-2' }, { seenAt: now });
    expect((await viewTurn(views(), turnId))?.why).toMatchObject({ code: 'lock_of_lost_worker' });
    await changeSessions(rig, { id: sessionId }, { leaseExpiresAt: now });
    expect(await whyOf(id)).toMatchObject({ code: 'lock_of_lost_worker', by: 'worker-1', until: null });
    await rig.claimed(sessionId, 'worker-2');
    expect(await whyOf(id)).toMatchObject({ code: 'session_busy', by: turnId });
  });

  test("for the reason of its session's parked turn, and no longer when that turn is claimed again", async () => {
    const sessionId = await rig.session();
    const claimed = await send(sessionId);
    await report('worker-1');
    const { turnId, write } = await rig.opened(sessionId, 'worker-1');
    const id = await send(sessionId);
    const reason = { code: 'model_blocked', text: 'The model is not to be called.', by: 'anthropic/m' };
    await rig.parkTurn({ ...write, reason, delayMs: 60_000, notBeforeMs: 0, heldSeq: 0, parks: 1 });
    expect(await whyOf(id)).toMatchObject({ ...reason, until: expect.any(String) });
    expect(await whyOf(claimed)).toMatchObject(reason);
    const { items, count } = await listWaiting(views(), { scope: EVERYTHING }, { limit: 10, after: null });
    expect(count).toBe(2);
    expect(items).toMatchObject([
      { id: claimed, status: 'claimed', turnId, position: 1, why: reason },
      { id, status: 'waiting', turnId: null, position: 2, why: reason },
    ]);
    const [{ sessionKey } = { sessionKey: '' }] = items;
    expect(await idsOf({ sessionKey })).toEqual([claimed, id]);
    expect((await viewLockedSession(views(), sessionKey))?.why).toMatchObject(reason);
    await changeDoorbells(rig, { sessionId }, { dueAt: now });
    await rig.claimed(sessionId, 'worker-1');
    expect(await whyOf(id)).toMatchObject({ code: 'session_busy' });
    expect(await whyOf(claimed)).toBeNull();
    expect(await idsOf({ sessionKey })).toEqual([id]);
    expect((await viewLockedSession(views(), sessionKey))?.why).toBeNull();
  });

  test('for the end of gathering, for a time, for the end of a wait, and for the queue', async () => {
    await report('worker', { isQueueAway: true });
    const sessionId = await rig.session();
    const id = await send(sessionId);
    expect(await whyOf(id)).toMatchObject({ code: 'queue_unreachable' });
    await changeDoorbells(rig, {}, { dueAt: ahead('1 minute') });
    expect(await whyOf(id)).toMatchObject({ code: 'delayed', until: expect.any(String) });
    await addYields(rig, { sessionId, turnId: sessionId, epoch: 0, seconds: 60, dueAt: ahead('1 minute') });
    expect(await whyOf(id)).toMatchObject({ code: 'yielded', until: expect.any(String) });
    await changeDoorbells(rig, {}, { quietMs: 60000, gatherUntil: ahead('1 hour') });
    expect(await whyOf(id)).toMatchObject({ code: 'gathering', until: expect.any(String) });
  });
});

test('waiting messages are listed oldest first with their place and reason, in pages, by session and lane', async () => {
  const [one, two] = [await rig.session(), await rig.session()];
  const ids = [await send(one), await send(two), await send(one), await send(one)];
  const first = await listWaiting(views(), { scope: EVERYTHING }, { limit: 3, after: null });
  expect(first).toMatchObject({ count: 4, isCapped: false, next: ids[2] });
  expect(first.items.map(({ id, position, why }) => [id, position, why.code])).toEqual([
    [ids[0], 1, 'no_worker'],
    [ids[1], 1, 'no_worker'],
    [ids[2], 2, 'no_worker'],
  ]);
  const second = await listWaiting(views(), { scope: EVERYTHING }, { limit: 3, after: first.next });
  expect(second.items).toMatchObject([{ id: ids[3], position: 3, lane: 'main' }]);
  expect(await idsOf({ sessionKey: first.items[0]?.sessionKey })).toEqual([ids[0], ids[2], ids[3]]);
  expect(await idsOf({ lane: 'cron' })).toEqual([]);
  const shown = await listMessages(views(), { scope: EVERYTHING, statuses: ['waiting'] }, { limit: 10, after: null });
  expect(shown.items.map(({ id, why }) => [id, why?.code])).toEqual(ids.toReversed().map((id) => [id, 'no_worker']));
});

test('the waiting messages of a batch are those in flight that no turn has claimed', async () => {
  const [sessionId, batchId] = [await rig.session(), newId<string>()];
  const id = await send(sessionId);
  await send(sessionId);
  await addBatchItems(rig, {
    batchId,
    n: 1,
    sessionKey: 'k',
    isOwnSession: true,
    isReady: true,
    body: {},
    status: 'fed',
    messageId: id,
  });
  expect(await idsOf({ batchId })).toEqual([id]);
  expect(await idsOf({ batchId: newId<string>() })).toEqual([]);
});

test('more than 10,000 waiting messages are counted as 10,000', async () => {
  const sessionId = await rig.session();
  await addInputs(rig, ...Array.from({ length: 10_001 }, (_, n) => ({ sessionId, seq: n + 1 })));
  const page = await listWaiting(views(), { scope: EVERYTHING }, { limit: 1, after: null });
  expect(page).toMatchObject({ count: 10_000, isCapped: true });
});

async function idsOf(filter: Omit<Parameters<typeof listWaiting>[1], 'scope'>): Promise<string[]> {
  return (await listWaiting(views(), { ...filter, scope: EVERYTHING }, { limit: 10, after: null })).items.map(
    ({ id }) => id,
  );
}
