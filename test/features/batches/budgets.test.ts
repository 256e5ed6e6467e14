// Batches, crons and polls under budgets: the work that is held back while a budget has no room,
// and how it continues.
import { budgetBookOf } from '../../../src/features/budgets/rounds.ts';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { loadConfig } from '../../../src/config.ts';
import { newId } from '../../../src/ids.ts';
import type { SessionId, TurnId } from '../../../src/core/ids.ts';
import { createReserveCost } from '../../../src/features/budgets/store/reserve-cost.ts';
import { fireDueCrons } from '../../../src/features/crons/schedule.ts';
import { syncHeartbeats } from '../../../src/features/heartbeats/schedule-heartbeats.ts';
import { readDueCrons } from '../../../src/features/crons/store/crons.ts';
import { readDatabaseTime } from '../../../src/database/database-time.ts';
import { useApiRig } from '../../api/use-api-rig.ts';
import { changeBatchItems, readBatches } from '../../rows/batches.ts';
import { changeBudgets, readBudgetWindows } from '../../rows/budgets.ts';
import { readCronFires } from '../../rows/crons.ts';
import { readDueSessions } from '../../rows/doorbells.ts';
import { changeHeartbeatStates, readHeartbeats } from '../../rows/heartbeats.ts';
import { now } from '../../rows/table.ts';
import { readTurns } from '../../rows/turns.ts';
import { makeCron, makeDuePolls, schedulerParts } from '../crons/cron-rig.ts';
import { batchRig } from './batch-rig.ts';

const shared = useApiRig();

const items = (count: number) => Array.from({ length: count }, (_, n) => ({ text: `item ${n} [[reply: done ${n}]]` }));

/** Every process reads the budgets once a second; here, when a test says so. */
async function readAll(): Promise<void> {
  await budgetBookOf(shared.rig.context.service).read();
  await shared.rig.turns.budgets.read();
}

beforeEach(async () => {
  await changeBudgets(shared.rig, { removedAt: null }, { removedAt: now });
  await readAll();
});

test('a batch pauses when its cap has no room for the next call, and continues with a higher one', async () => {
  const batches = batchRig(shared.rig);
  const { body } = await batches.submit({ items: items(4), concurrency: 2, maxCostUsd: 0.005 });
  const paused = await batches.run(body.id);
  expect(paused).toMatchObject({ status: 'paused', pauseReason: 'cost_cap', reservedUsd: 0 });
  expect(paused.counts).toMatchObject({ answered: 0, parked: 2, pending: 2 });
  await shared.rig.ask('PATCH', `/v1/batches/${body.id}`, { payload: { maxCostUsd: 5 } });
  await readAll();
  expect(await batches.show(body.id)).toMatchObject({ status: 'running' });
  await runWoken();
  expect(await batches.run(body.id)).toMatchObject({ status: 'ended', outcome: 'completed' });
  const { cost, spent } = await sumsOf(body.id);
  expect(spent).toBe(cost);
});

test('a batch at its cap that is cancelled ends, even if its running turns are allowed to finish', async () => {
  const batches = batchRig(shared.rig);
  const { body } = await batches.submit({ items: items(3), concurrency: 2, maxCostUsd: 0.005 });
  expect(await batches.run(body.id)).toMatchObject({ status: 'paused', pauseReason: 'cost_cap' });
  await shared.rig.post(`/v1/batches/${body.id}/cancel`, { running: 'finish' });
  await batches.round();
  await runWoken();
  expect(await batches.run(body.id)).toMatchObject({ status: 'ended', counts: { cancelled: 3 } });
});

test('a cancelled batch whose turns wait for another budget ends, even if its running turns are allowed to finish', async () => {
  const batches = batchRig(shared.rig);
  const { body } = await batches.submit({ items: items(3), concurrency: 2 });
  await batches.round();
  await shared.rig.post('/v1/budgets', { scope: 'all', per: 'month', limitUsd: 0 });
  await readAll();
  await batches.workAll();
  expect((await batches.show(body.id)).counts).toMatchObject({ parked: 2, pending: 1 });
  await shared.rig.post(`/v1/batches/${body.id}/cancel`, { running: 'finish' });
  await batches.round();
  await runWoken();
  expect(await batches.run(body.id)).toMatchObject({ status: 'ended', counts: { cancelled: 3 } });
});

test('failed items that are retried after the end of a batch are under its cap again', async () => {
  const batches = batchRig(shared.rig);
  const { body } = await batches.submit({ items: [{ text: '[[error: 400 times=always]]' }], maxCostUsd: 5 });
  expect(await batches.run(body.id)).toMatchObject({ status: 'ended', outcome: 'failed' });
  // As if the fault had been repaired meanwhile.
  await changeBatchItems(shared.rig, { batchId: body.id }, { body: { text: 'Now.' } });
  await shared.rig.post(`/v1/batches/${body.id}/retry-failed`, {});
  await readAll();
  expect(await batches.run(body.id)).toMatchObject({ status: 'ended', outcome: 'completed' });
  const { cost, spent } = await sumsOf(body.id);
  expect(cost).toBeGreaterThan(0);
  expect(spent).toBe(cost);
});

/** The cost of a batch, and the amount that its cap has counted. */
async function sumsOf(id: string): Promise<{ cost: number; spent: number }> {
  const [batch] = await readBatches(shared.rig, { id }, 'costMicros');
  const [window] = await readBudgetWindows(shared.rig, { budgetId: id }, 'spentMicros');
  return { cost: batch!.costMicros!, spent: window!.spentMicros };
}

/** Runs the turns that were woken. */
async function runWoken(): Promise<void> {
  const parked = await readTurns(shared.rig, { status: 'parked' }, 'sessionId');
  const due = (await readDueSessions(shared.rig)).filter((id) => parked.some(({ sessionId }) => sessionId === id));
  const worker = shared.rig.turns.worker();
  for (const id of due) await worker.runSession(id);
}

/** A budget of everything whose window has refused a call. */
async function reachedBudget(): Promise<string> {
  const { body } = await shared.rig.post('/v1/budgets', { scope: 'all', per: 'day', limitUsd: 0 });
  const reserve = createReserveCost(shared.rig.context.service.database);
  const call = { sessionId: newId<SessionId>(), turnId: newId<TurnId>(), callNo: 1, epoch: 1, isLive: true };
  const refused = await reserve({ ...call, asks: [{ budgetId: body.id, micros: 1 }] });
  expect(refused).toMatchObject({ kind: 'refused', budgetId: body.id, waitMs: expect.any(Number) });
  await readAll();
  return body.id;
}

test('a batch pauses while a budget is reached, and resumes by itself', async () => {
  const id = await reachedBudget();
  const batches = batchRig(shared.rig);
  const { body } = await batches.submit({ items: items(2) });
  await batches.round();
  expect(await batches.show(body.id)).toMatchObject({ status: 'paused', pauseReason: 'budget' });
  await shared.rig.ask('PATCH', `/v1/budgets/${id}`, { payload: { limitUsd: 100 } });
  await readAll();
  await batches.round();
  expect(await batches.show(body.id)).toMatchObject({ status: 'running', pauseReason: null });
  await runWoken();
  expect(await batches.run(body.id)).toMatchObject({ status: 'ended', outcome: 'completed' });
});

test('a batch that a budget has paused stays paused when a person pauses it, too', async () => {
  const id = await reachedBudget();
  const batches = batchRig(shared.rig);
  const { body } = await batches.submit({ items: items(2) });
  await batches.round();
  expect(await batches.show(body.id)).toMatchObject({ status: 'paused', pauseReason: 'budget' });
  await shared.rig.post(`/v1/batches/${body.id}/pause`);
  await shared.rig.ask('PATCH', `/v1/budgets/${id}`, { payload: { limitUsd: 100 } });
  await readAll();
  await batches.round();
  expect(await batches.show(body.id)).toMatchObject({ status: 'paused', pauseReason: 'manual' });
  await shared.rig.post(`/v1/batches/${body.id}/resume`);
  expect(await batches.run(body.id)).toMatchObject({ status: 'ended', outcome: 'completed' });
});

test('a recurring cron and a poll are skipped while a budget is reached, with that reason', async () => {
  await reachedBudget();
  const { database } = shared.rig.context.service;
  const dir = await mkdtemp(join(tmpdir(), 'holdfast-budgets-'));
  const settings = { agents: { list: [{ id: 'polled', workspace: dir, heartbeat: { every: '1h' } }] } };
  await writeFile(join(dir, 'holdfast.json'), JSON.stringify(settings));
  const config = loadConfig({
    env: { HOLDFAST_CONFIG: join(dir, 'holdfast.json'), HOLDFAST_DATA_DIR: join(dir, 'data') },
    cwd: dir,
  });
  const parts = schedulerParts(database, config);
  const report = { kind: 'agentTurn', message: 'report' };
  const cron = await makeCron(
    database,
    {
      name: 'report',
      agentId: 'polled',
      schedule: { kind: 'every', everyMs: 60_000 },
      target: 'isolated',
      payload: report,
    },
    { config, dueAgoMs: 61_000 },
  );
  const { due, nowMs } = await readDueCrons(database, 100);
  const own = due.filter(({ id }) => id === cron.id);
  await fireDueCrons(parts, own, nowMs);
  const fires = await readCronFires(shared.rig, { cronId: cron.id }, 'status', 'reason', 'messageId');
  expect(fires).toEqual([{ status: 'skipped', reason: 'budget_reached', messageId: null }]);
  await syncHeartbeats(parts, await readDatabaseTime(database));
  await changeHeartbeatStates(shared.rig, { agentId: 'polled' }, { nextAt: now });
  await makeDuePolls(parts);
  const polls = await readHeartbeats(shared.rig, { agentId: 'polled' }, 'status', 'reason');
  expect(polls).toEqual([{ status: 'skipped', reason: 'budget_reached' }]);
  await rm(dir, { recursive: true });
});
