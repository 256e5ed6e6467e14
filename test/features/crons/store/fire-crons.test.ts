import { afterEach, describe, expect, test } from 'vitest';
import { newId } from '../../../../src/ids.ts';
import { cronPatch } from '../../../../src/features/crons/config.ts';
import { editCron } from '../../../../src/features/crons/use-cases.ts';
import { fireCrons } from '../../../../src/features/crons/store/fire-crons.ts';
import { readDueCrons } from '../../../../src/features/crons/store/crons.ts';
import { retireCrons } from '../../../../src/features/crons/store/settle-fires.ts';
import { fireDueCrons, giveNotices } from '../../../../src/features/crons/schedule.ts';
import { changeCrons, readCronFires, removeCronFires } from '../../../rows/crons.ts';
import { readEvents } from '../../../rows/events.ts';
import { changeInputs, readInputs } from '../../../rows/inputs.ts';
import { readSessions } from '../../../rows/sessions.ts';
import { addSystemEvents, readSystemEvents } from '../../../rows/system-events.ts';
import { earlier, not, now } from '../../../rows/table.ts';
import { shareAmongTests } from '../../../servers/share-among-tests.ts';
import { again, configWith, fireAll, makeCron, schedulerParts, settleAll } from '../cron-rig.ts';
import { createStoreRig, type StoreRig } from '../../../store/store-rig.ts';

let rig: StoreRig;
shareAmongTests(async (onEnd) => {
  const made = await createStoreRig();
  rig = made;
  onEnd(() => made.drop());
});
afterEach(() => changeCrons(rig.database.views, {}, { isEnabled: false }));

const everySecond = { schedule: { kind: 'every', everyMs: 1000 }, payload: { kind: 'agentTurn', message: 'Tick.' } };

function firesOf(id: string) {
  return readCronFires(rig, { cronId: id });
}

async function inputsOf(id: string) {
  const fires = await readCronFires(rig, { cronId: id, messageId: not(null) }, 'messageId');
  return readInputs(rig, { id: fires.map(({ messageId }) => messageId!) });
}

/** Ends the runs of a cron, as turns or people would. */
async function endRuns(id: string, status: string, error: object | null = null): Promise<void> {
  const open = (await inputsOf(id)).filter((input) => ['waiting', 'claimed'].includes(input.status));
  await changeInputs(rig, { id: open.map((input) => input.id) }, { status, error, settledAt: now });
}

test('a due slot becomes a fire, an input, a ring, an event and the next slot in one transaction', async () => {
  const parts = schedulerParts(rig.database);
  const hourly = { ...everySecond, schedule: { kind: 'every', everyMs: 3_600_000 }, name: 'all' };
  const cron = await makeCron(rig.database, hourly, { dueAgoMs: 3_600_000 });
  await fireAll(parts);
  const [fire] = await firesOf(cron.id);
  const [input] = await inputsOf(cron.id);
  expect(fire).toMatchObject({ status: 'claimed', scheduledFor: new Date(cron.nextSlotMs!), slots: 1 });
  expect(input).toMatchObject({ kind: 'cron', status: 'waiting', causeKey: expect.stringContaining(cron.id) });
  expect(input?.['body']).toMatchObject({ text: `[cron:${cron.id} all] Tick.`, isFresh: true });
  const [session] = await readSessions(rig, { id: input?.['sessionId'] });
  expect(session).toMatchObject({ key: `agent:main:cron:${cron.id}`, kind: 'cron', lane: 'cron', waiting: 1 });
  expect(parts.rings).toEqual([
    expect.objectContaining({ kind: 'cron', lane: 'cron', sessionId: input?.['sessionId'] }),
  ]);
  expect((await again(rig.database, cron)).nextSlotMs).toBe(cron.nextSlotMs! + 3_600_000);
  const events = await readEvents(rig, { sessionId: session?.['id'] }, 'type', 'data');
  expect(events.map(({ type }) => type)).toEqual(['cron.fired', 'message.accepted']);
  expect(events[0]?.['data']).toMatchObject({
    cronId: cron.id,
    scheduledFor: new Date(cron.nextSlotMs!).toISOString(),
  });
});

test('one of many schedulers fires a slot, and a plan that arrives late fires nothing (G20)', async () => {
  const cron = await makeCron(rig.database, everySecond, { dueAgoMs: 1000 });
  const { due, nowMs } = await readDueCrons(rig.database, 100);
  const mine = due.filter(({ id }) => id === cron.id);
  const all = Array.from({ length: 8 }, () => schedulerParts(rig.database));
  await Promise.all(all.map((parts) => fireDueCrons(parts, mine, nowMs)));
  await fireDueCrons(schedulerParts(rig.database), mine, nowMs);
  expect(await firesOf(cron.id)).toHaveLength(1);
  expect(await inputsOf(cron.id)).toHaveLength(1);
});

test('a fire that is sent again after an unknown COMMIT stores nothing twice', async () => {
  const cron = await makeCron(rig.database, everySecond, { dueAgoMs: 1000 });
  const sessionId = await rig.session();
  const slotMs = cron.nextSlotMs!;
  const firing = {
    cronId: cron.id,
    revision: cron.revision,
    firstSlotMs: slotMs,
    sessionId,
    kind: 'cron' as const,
    body: '{"text":"tick"}',
    route: 'cron',
    event: null,
    waitingMax: 10,
    ticks: [{ tick: { kind: 'fire' as const, slotMs }, messageId: newId<never>() }],
    nextSlotMs: slotMs + 1000,
    dueMs: slotMs + 1000,
    disabledReason: null,
  };
  expect((await fireCrons(rig.database, [firing])).fired).toEqual(new Map([[cron.id, 1]]));
  expect((await fireCrons(rig.database, [firing])).fired.size).toBe(0);
  expect(await inputsOf(cron.id)).toHaveLength(1);
});

test('a session with a full inbox skips the tick with a reason, and the schedule continues (G27)', async () => {
  const config = configWith(({ limits }) => ({ limits: { ...limits, waitingPerSession: 2 } }));
  const parts = schedulerParts(rig.database, config);
  const cron = await makeCron(rig.database, { ...everySecond, misfire: 'run_all' }, { dueAgoMs: 4000 });
  await fireAll(parts);
  const fires = await firesOf(cron.id);
  expect(fires.filter(({ status }) => status === 'claimed')).toHaveLength(2);
  expect(fires.filter(({ reason }) => reason === 'inbox_full').length).toBeGreaterThanOrEqual(2);
  expect(await inputsOf(cron.id)).toHaveLength(2);
});

describe('missed slots', () => {
  test.each([
    ['run_once', 1, 'missed', 'superseded'],
    ['run_all', 5, 'missed', 'superseded'],
    ['skip', 1, 'skipped', 'late'],
  ])('follow the policy %s, and each is a row', async (misfire, fired, status, reason) => {
    const cron = await makeCron(rig.database, { ...everySecond, misfire }, { dueAgoMs: 20_000 });
    await fireAll(schedulerParts(rig.database));
    const fires = await firesOf(cron.id);
    const claimed = fires.filter((fire) => fire['status'] === 'claimed');
    expect(claimed).toHaveLength(fired);
    // Oldest first, the latest at the end, without a gap.
    expect(fires.slice(-fired)).toEqual(claimed);
    const passed = fires.slice(0, -fired);
    expect(passed.every((fire) => fire['status'] === status && fire['reason'] === reason)).toBe(true);
    const times = fires.map((fire) => (fire['scheduledFor'] as Date).getTime());
    expect(times).toEqual(times.map((_, at) => cron.nextSlotMs! + at * 1000));
    expect((await again(rig.database, cron)).nextSlotMs).toBe(times.at(-1)! + 1000);
  });

  test('of a long downtime share one row, with their number', async () => {
    const cron = await makeCron(rig.database, everySecond, { dueAgoMs: 3_000_000 });
    await fireAll(schedulerParts(rig.database));
    const fires = await firesOf(cron.id);
    expect(fires.length).toBeLessThan(10);
    const counted = fires.reduce((sum, fire) => sum + (fire['slots'] as number), 0);
    const span = ((await again(rig.database, cron)).nextSlotMs! - cron.nextSlotMs!) / 1000;
    expect(counted).toBe(span);
  });
});

describe('system events', () => {
  const reminder = {
    payload: { kind: 'systemEvent', text: 'The kettle is hot.' },
    schedule: { kind: 'every', everyMs: 1000 },
  };

  test('wait in the main session, and a poll ensures that a turn reads them', async () => {
    const cron = await makeCron(rig.database, { ...reminder, name: 'kettle' }, { dueAgoMs: 1000 });
    const parts = schedulerParts(rig.database);
    await fireAll(parts);
    const [input] = await inputsOf(cron.id);
    const events = await readSystemEvents(rig, { contextKey: `cron:${cron.id}` });
    expect(input).toMatchObject({ kind: 'heartbeat' });
    expect(events).toEqual([expect.objectContaining({ text: 'The kettle is hot.', isTrusted: true, state: 'queued' })]);
    expect(input?.['body']).toMatchObject({ eventId: events[0]?.['id'], text: expect.stringContaining('reminder') });
    expect(parts.rings).toHaveLength(1);
    // The same line does not wait twice, and there is no second poll.
    await changeCrons(rig.database.views, { id: cron.id }, { dueAt: now, nextSlotAt: now });
    await fireAll(parts);
    expect((await firesOf(cron.id)).at(-1)).toMatchObject({ status: 'completed', reason: 'duplicate' });
    expect(await readSystemEvents(rig, { contextKey: `cron:${cron.id}` }, 'id')).toHaveLength(1);
  });

  test('with wake next-heartbeat only wait', async () => {
    const cron = await makeCron(
      rig.database,
      { ...reminder, target: 'session:quiet', wake: 'next-heartbeat' },
      { dueAgoMs: 1000 },
    );
    const parts = schedulerParts(rig.database);
    await fireAll(parts);
    expect(await firesOf(cron.id)).toEqual([expect.objectContaining({ status: 'completed', messageId: null })]);
    expect(parts.rings).toEqual([]);
    expect(await readSystemEvents(rig, { contextKey: `cron:${cron.id}` }, 'id')).toHaveLength(1);
  });

  test('drop the oldest over the cap of twenty', async () => {
    const sessionId = await rig.session();
    const [session] = await readSessions(rig, { id: sessionId }, 'key');
    const lines = Array.from({ length: 25 }, (_, n) => ({ id: newId<string>(), sessionId, text: `line ${n + 1}` }));
    await addSystemEvents(rig, ...lines);
    await makeCron(
      rig.database,
      { ...reminder, payload: { kind: 'systemEvent', text: 'last' }, target: `session:${session?.['key']}` },
      { dueAgoMs: 1000 },
    );
    await fireAll(schedulerParts(rig.database));
    const rows = await readSystemEvents(rig, { sessionId }, 'state');
    expect(rows.filter(({ state }) => state === 'queued')).toHaveLength(20);
  });
});

describe('the end of a run', () => {
  test('that succeeded completes the fire', async () => {
    const parts = schedulerParts(rig.database);
    const cron = await makeCron(rig.database, everySecond, { dueAgoMs: 1000 });
    await fireAll(parts);
    await endRuns(cron.id, 'answered');
    await settleAll(parts);
    expect(await firesOf(cron.id)).toEqual([expect.objectContaining({ status: 'completed' })]);
  });

  test('that failed pauses the cron, and a good one ends the pause', async () => {
    const parts = schedulerParts(rig.database);
    const cron = await makeCron(rig.database, everySecond, { dueAgoMs: 1000 });
    await fireAll(parts);
    await endRuns(cron.id, 'failed', { code: 'model_overloaded', message: 'too much' });
    const endedMs = Date.now();
    await Promise.all([settleAll(parts), settleAll(schedulerParts(rig.database))]);
    const resting = await again(rig.database, cron);
    expect(resting.failures).toBe(1);
    expect(resting.notBeforeMs! - endedMs).toBeGreaterThan(20_000);
    expect(await firesOf(cron.id)).toEqual([expect.objectContaining({ status: 'failed', reason: 'model_overloaded' })]);
    // Slots in the pause are skipped, as rows.
    await changeCrons(rig.database.views, { id: cron.id }, { nextSlotAt: earlier('1 hour'), dueAt: earlier('1 hour') });
    await removeCronFires(rig.database.views, { cronId: cron.id });
    await fireAll(parts);
    expect((await firesOf(cron.id)).every(({ status, reason }) => status === 'skipped' && reason === 'backoff')).toBe(
      true,
    );
  });

  test('that failed ten times in a row disables the cron, with one notice', async () => {
    const parts = schedulerParts(rig.database);
    const cron = await makeCron(rig.database, { ...everySecond, name: 'broken' }, { dueAgoMs: 1000 });
    await changeCrons(rig.database.views, { id: cron.id }, { consecutiveErrors: 9 });
    await fireAll(parts);
    await endRuns(cron.id, 'failed', { code: 'model_unauthorized', message: 'bad key' });
    await settleAll(parts);
    await Promise.all([giveNotices(parts), giveNotices(schedulerParts(rig.database))]);
    await giveNotices(parts);
    const off = await again(rig.database, cron);
    expect(off).toMatchObject({ isEnabled: false, failures: 10 });
    expect(off.disabledReason).toContain('bad key');
    const notices = await readSystemEvents(rig, { contextKey: `notice:${cron.id}` }, 'text');
    expect(notices).toEqual([{ text: expect.stringContaining('"broken" was disabled') }]);
  });

  test('of a one-time cron is retried when its failure is temporary, otherwise the cron is disabled', async () => {
    const parts = schedulerParts(rig.database);
    const at = {
      schedule: { kind: 'at', at: new Date(Date.now() - 1000).toISOString() },
      payload: everySecond.payload,
    };
    const passing = await makeCron(rig.database, at);
    const lasting = await makeCron(rig.database, at);
    await fireAll(parts);
    const endedMs = Date.now();
    await endRuns(passing.id, 'failed', { code: 'model_overloaded', message: 'busy' });
    await endRuns(lasting.id, 'failed', { code: 'unknown_model', message: 'no such model' });
    await settleAll(parts);
    const retried = await again(rig.database, passing);
    expect(retried.isEnabled).toBe(true);
    expect(retried.nextSlotMs! - endedMs).toBeGreaterThan(20_000);
    expect(await again(rig.database, lasting)).toMatchObject({ isEnabled: false, nextSlotMs: null });
  });

  test('of a one-time cron retires it, and deletes it if it was to be deleted', async () => {
    const parts = schedulerParts(rig.database);
    const at = {
      schedule: { kind: 'at', at: new Date(Date.now() - 1000).toISOString() },
      payload: everySecond.payload,
    };
    const staying = await makeCron(rig.database, at);
    const going = await makeCron(rig.database, { ...at, deleteAfterRun: true });
    await fireAll(parts);
    await retireCrons(rig.database);
    expect((await again(rig.database, staying)).isEnabled).toBe(true);
    await endRuns(staying.id, 'silent');
    await endRuns(going.id, 'answered');
    await settleAll(parts);
    await retireCrons(rig.database);
    await retireCrons(rig.database);
    expect(await again(rig.database, staying)).toMatchObject({ isEnabled: false, disabledReason: 'done' });
    await expect(again(rig.database, going)).rejects.toThrow('is gone');
  });

  test.each([
    ['answered', null],
    ['failed', { code: 'unknown_model', message: 'no such model' }],
    ['failed', { code: 'model_overloaded', message: 'busy' }],
  ])('that ended %s after its cron was rescheduled leaves the new schedule as it is (%o)', async (status, error) => {
    const parts = schedulerParts(rig.database);
    const at = (ms: number) => ({ kind: 'at', at: new Date(Date.now() + ms).toISOString() });
    const payload = everySecond.payload;
    const cron = await makeCron(rig.database, { schedule: at(-1000), payload, deleteAfterRun: true });
    await fireAll(parts);
    const later = await editCron(parts, { id: cron.id, by: null }, cronPatch.parse({ schedule: at(3_600_000) }));
    expect(later.kind).toBe('done');
    const before = await again(rig.database, cron);
    await endRuns(cron.id, status, error);
    await settleAll(parts);
    await retireCrons(rig.database);
    expect(await again(rig.database, cron)).toMatchObject({
      isEnabled: true,
      disabledReason: null,
      nextSlotMs: before.nextSlotMs,
      failures: 0,
    });
    expect(await firesOf(cron.id)).toEqual([
      expect.objectContaining({ status: error === null ? 'completed' : 'failed' }),
    ]);
  });

  test('that a person cancelled does not count for the cron', async () => {
    const parts = schedulerParts(rig.database);
    const cron = await makeCron(rig.database, everySecond, { dueAgoMs: 1000 });
    await fireAll(parts);
    await endRuns(cron.id, 'cancelled');
    await settleAll(parts);
    expect(await again(rig.database, cron)).toMatchObject({ failures: 0, notBeforeMs: null });
    expect(await firesOf(cron.id)).toEqual([expect.objectContaining({ status: 'failed', reason: 'cancelled' })]);
  });
});
