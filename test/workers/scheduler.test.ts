// Goal: due slots are fired in time and once, by any number of schedulers, and a scheduler that
// stops leaves nothing running.
import { budgetBookOf, openBudgetRounds } from '../../src/features/budgets/rounds.ts';
import { tmpdir } from 'node:os';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Config } from '../../src/config.ts';
import { findCron, readConfigCrons } from '../../src/features/crons/store/crons.ts';
import type { TurnId } from '../../src/core/ids.ts';
import { newId } from '../../src/ids.ts';
import { createBudget } from '../../src/features/budgets/store/budgets.ts';
import { createReserveCost } from '../../src/features/budgets/store/reserve-cost.ts';
import { editCron } from '../../src/features/crons/use-cases.ts';
import { openCrons, reconcileConfigCrons } from '../../src/features/crons/schedule.ts';
import { openHeartbeats } from '../../src/features/heartbeats/schedule.ts';
import { syncHeartbeats } from '../../src/features/heartbeats/schedule-heartbeats.ts';
import { readDatabaseTime } from '../../src/database/database-time.ts';
import type { ScheduleStep } from '../../src/kernel/process-part.ts';
import { startRounds } from '../../src/kernel/queue/start-rounds.ts';
import { Scheduler } from '../../workers/scheduler.ts';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { readBudgetWindows } from '../rows/budgets.ts';
import { changeCrons, readCronFires } from '../rows/crons.ts';
import { changeHeartbeatStates, countHeartbeats } from '../rows/heartbeats.ts';
import { countInputs } from '../rows/inputs.ts';
import { like, now } from '../rows/table.ts';
import { SLOWNESS_MAX } from '../servers/busy-machine.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { again, configWith, makeCron, schedulerParts } from '../features/crons/cron-rig.ts';
import { createStoreRig, type StoreRig } from '../store/store-rig.ts';

let rig: StoreRig;
const running: Scheduler[] = [];

shareAmongTests(async (onEnd) => {
  const made = await createStoreRig();
  rig = made;
  onEnd(() => made.drop());
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((scheduler) => scheduler.stop()));
  await changeCrons(rig.database.views, {}, { isEnabled: false });
});

function startScheduler(config: Config = configWith(), steps: ScheduleStep[] = []): Scheduler {
  const service = schedulerParts(rig.database, config);
  const { logger } = service;
  const parts = [openCrons, openHeartbeats].map((open) => open({ service, logger, metrics: null }));
  const scheduler = new Scheduler({
    service,
    schedules: [...steps, ...parts.flatMap(({ schedule }) => schedule ?? [])],
  });
  running.push(scheduler);
  scheduler.start();
  return scheduler;
}

const tick = { payload: { kind: 'agentTurn', message: 'Tick.' } };

function firesOf(id: string) {
  return readCronFires(rig, { cronId: id });
}

test('three schedulers fire every slot of a cron that ticks every second, once and in time (G20)', async () => {
  const crons = await Promise.all(
    Array.from({ length: 5 }, () =>
      makeCron(rig.database, { ...tick, schedule: { kind: 'cron', expr: '* * * * * *' } }),
    ),
  );
  for (let n = 1; n <= 3; n += 1) startScheduler();
  await expect.poll(async () => (await firesOf(crons[0]!.id)).length).toBeGreaterThanOrEqual(4);
  await Promise.all(running.splice(0).map((scheduler) => scheduler.stop()));
  for (const cron of crons) {
    const fires = await firesOf(cron.id);
    let nextSlotMs = cron.nextSlotMs!;
    for (const fire of fires) {
      expect((fire['scheduledFor'] as Date).getTime()).toBe(nextSlotMs);
      // A row represents several slots if they had passed before a scheduler looked.
      nextSlotMs += Number(fire['slots']) * 1000;
    }
    for (const fire of fires.filter(({ status }) => status === 'claimed')) {
      const lateMs = (fire['firedAt'] as Date).getTime() - (fire['scheduledFor'] as Date).getTime();
      expect(lateMs).toBeGreaterThanOrEqual(0);
      // On a machine that is not busy it is a few milliseconds.
      expect(lateMs).toBeLessThan(1_000 * SLOWNESS_MAX);
    }
    expect(await countInputs(rig, { causeKey: like(`cron:${cron.id}:%`) })).toBe(
      fires.filter(({ status }) => status === 'claimed').length,
    );
  }
});

// On a busy machine the scheduler may be late: that says nothing, and there is another deadline.
test('a deadline is met in its second', async () => {
  startScheduler();
  await waitUntil('a deadline is met in its second', 240_000, async () => {
    const at = Math.ceil(Date.now() / 1_000) * 1_000 + 1_350;
    const cron = await makeCron(rig.database, { ...tick, schedule: { kind: 'at', at: new Date(at).toISOString() } });
    await expect.poll(async () => (await firesOf(cron.id)).length).toBe(1);
    const [{ firedAt } = { firedAt: null }] = await readCronFires(rig, { cronId: cron.id }, 'firedAt');
    return Math.floor(Number(firedAt) / 1_000) === Math.floor(at / 1_000);
  });
});

test('a heartbeat whose check takes long delays no cron', async () => {
  const cron = await makeCron(rig.database, { ...tick, schedule: { kind: 'every', everyMs: 1000 } });
  const config = configWith(({ agents, tools }) => {
    const heartbeat = { every: 60_000, when: { command: 'sleep 60', timeoutSeconds: 30 } };
    return {
      agents: { ...agents, list: [{ ...agents.list[0]!, workspace: tmpdir(), heartbeat }] },
      // Its check needs a data directory.
      tools: { ...tools, exec: { ...tools.exec, sandbox: 'off' } },
    } as Partial<Config>;
  });
  await syncHeartbeats(schedulerParts(rig.database, config), await readDatabaseTime(rig.database));
  await changeHeartbeatStates(rig.database.views, {}, { nextAt: now });
  startScheduler(config);
  await expect.poll(() => countHeartbeats(rig, { status: 'claimed' })).toBe(1);
  const before = (await firesOf(cron.id)).length;
  await expect.poll(async () => (await firesOf(cron.id)).length).toBeGreaterThan(before + 1);
  expect(await countHeartbeats(rig, { status: 'claimed' })).toBe(1);
});

test('a step that fails keeps no other step of the round', async () => {
  const cron = await makeCron(rig.database, { ...tick, schedule: { kind: 'every', everyMs: 1000 } });
  const failing = { sync: () => Promise.reject(new Error('no configuration')), start: () => Promise.resolve(null) };
  startScheduler(configWith(), [failing]);
  await expect.poll(async () => (await firesOf(cron.id)).length).toBeGreaterThan(0);
});

test('a stopped scheduler fires nothing, and crons wait while all are disabled', async () => {
  const cron = await makeCron(rig.database, { ...tick, schedule: { kind: 'every', everyMs: 1000 } });
  const off = configWith(({ cron: settings }) => ({ cron: { ...settings, enabled: false } }));
  startScheduler(off);
  const stopped = startScheduler();
  await stopped.stop();
  const before = (await firesOf(cron.id)).length;
  await expect.poll(async () => Date.now() - cron.nextSlotMs!).toBeGreaterThan(500);
  expect(await firesOf(cron.id)).toHaveLength(before);
});

test('a scheduler releases the reservations of calls whose worker is gone', async () => {
  const service = schedulerParts(rig.database);
  const id = newId<string>();
  const settings = {
    scope: 'all',
    per: 'total',
    zone: 'UTC',
    warnPercent: 80,
    action: 'pause',
    strict: false,
  } as const;
  await createBudget(rig.database, { id, ...settings, limitMicros: 1_000 }, { createdBy: 'admin', idempotency: null });
  await budgetBookOf(service).read();
  const call = { sessionId: await rig.session(), turnId: newId<TurnId>(), callNo: 1, epoch: 1, isLive: true };
  const reserved = async () => (await readBudgetWindows(rig, { budgetId: id }, 'reservedMicros'))[0];
  expect(await createReserveCost(rig.database)({ ...call, asks: [{ budgetId: id, micros: 500 }] })).toMatchObject({
    kind: 'reserved',
  });
  expect(await reserved()).toEqual({ reservedMicros: 500 });
  const [rounds] = openBudgetRounds({ service }).rounds ?? [];
  onTestFinished(startRounds({ ...rounds!, database: rig.database }));
  await expect.poll(reserved).toEqual({ reservedMicros: 0 });
});

describe('crons of the configuration file', () => {
  const job = {
    name: 'file',
    schedule: { kind: 'every' as const, everyMs: 3_600_000 },
    payload: { kind: 'agentTurn' as const, message: 'x' },
  };
  const withJobs = (...jobs: Config['cron']['jobs']) => configWith(({ cron }) => ({ cron: { ...cron, jobs } }));
  const reconcile = (config: Config) => reconcileConfigCrons(schedulerParts(rig.database, config), Date.now());

  test('are created once, however many schedulers start, and a restart moves no slot', async () => {
    await Promise.all([reconcile(withJobs(job)), reconcile(withJobs(job)), reconcile(withJobs(job))]);
    const made = await readConfigCrons(rig.database);
    expect(made).toEqual([expect.objectContaining({ name: 'file', origin: 'config', isEnabled: true })]);
    await reconcileConfigCrons(schedulerParts(rig.database, withJobs(job)), Date.now() + 60_000);
    expect(await readConfigCrons(rig.database)).toEqual(made);
  });

  test('follow the file, stay paused, and are disabled when they are removed from it', async () => {
    await reconcile(withJobs(job));
    const [cron] = await readConfigCrons(rig.database);
    const service = schedulerParts(rig.database, withJobs(job));
    const named = { id: cron!.id, by: null };
    expect(await editCron(service, named, { name: 'other' })).toEqual({ kind: 'fixed' });
    await editCron(service, named, { enabled: true });
    expect(await editCron(service, named, { enabled: false })).toMatchObject({
      kind: 'done',
      cron: { isEnabled: false },
    });
    await reconcile(withJobs(job));
    expect((await again(rig.database, cron!)).isEnabled).toBe(false);
    await reconcile(withJobs({ ...job, payload: { kind: 'agentTurn', message: 'y' } }));
    expect(await again(rig.database, cron!)).toMatchObject({ isEnabled: true, payload: { message: 'y' } });
    await reconcile(withJobs());
    expect(await again(rig.database, cron!)).toMatchObject({
      isEnabled: false,
      disabledReason: 'no longer in the configuration',
    });
    await reconcile(withJobs({ ...job, payload: { kind: 'agentTurn', message: 'y' } }));
    expect(await again(rig.database, cron!)).toMatchObject({ isEnabled: true, disabledReason: null });
    expect(await findCron(rig.database, cron!.id)).not.toBeNull();
  });
});
