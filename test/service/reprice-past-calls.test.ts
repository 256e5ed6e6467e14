// An explicit command reprices past calls, and all sums are updated.
import { expect, test } from 'vitest';
import { priceBookOf } from '../../src/config.ts';
import { repricePastCalls } from '../../src/features/costs/reprice-past-calls.ts';
import { viewUsage } from '../../src/features/costs/views.ts';
import { readModelCalls, removeModelCalls } from '../rows/calls.ts';
import { countEarlierCosts, readEarlierCosts, readRepricings } from '../rows/prices.ts';
import { readSessions } from '../rows/sessions.ts';
import { not, sumOf } from '../rows/table.ts';
import { readTurns, removeTurns } from '../rows/turns.ts';
import { lockRow } from '../rows/whole-tables.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { createTurnRig, type TurnRig } from '../turn/turn-rig.ts';
import { rollUpAll } from '../store/roll-up-all.ts';
import { EVERYTHING } from '../../src/core/scope.ts';

const SPAN = { from: new Date(Date.now() - 3_600_000), to: new Date(Date.now() + 3_600_000) };
const SONNET = { model: 'anthropic/claude-sonnet-5-5', inputPerMTok: 20, outputPerMTok: 100 };
const SCRIPTED = { model: 'anthropic/scripted-1', inputPerMTok: 1, outputPerMTok: 1 };

let rig: TurnRig;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  rig = await createTurnRig(database.url);
  const made = rig;
  onEnd(() => made.close());
});

async function play(name: string, model?: string): Promise<void> {
  const worker = rig.worker();
  await rig.send(
    name,
    '[[usage: input=1000 output=200 cache-read=0 cache-write=0]] [[reply: ok]]',
    model === undefined ? {} : { model },
  );
  await worker.run(name);
  worker.stop();
}

async function sums(): Promise<unknown[]> {
  const row = {
    calls: sumOf(await readModelCalls(rig), 'costMicros'),
    turns: sumOf(await readTurns(rig), 'costMicros'),
    sessions: sumOf(await readSessions(rig), 'costMicros'),
    unpriced: sumOf(await readSessions(rig), 'unpricedCalls'),
  };
  // Two days at midnight.
  const usage = await viewUsage(rig.database.views, {
    scope: EVERYTHING,
    by: 'day',
    group: null,
    from: new Date(0),
    to: new Date(Date.now() + 86_400_000),
  });
  const total = (of: 'costMicros' | 'unpricedCalls') => usage.reduce((sum, each) => sum + (each[of] ?? 0), 0);
  return [
    row?.['calls'],
    row?.['turns'],
    row?.['sessions'],
    total('costMicros'),
    row?.['unpriced'],
    total('unpricedCalls'),
  ];
}

test('every sum has the new costs, the earlier ones are kept, and a second run changes nothing', async () => {
  const prices = priceBookOf({ models: { ...rig.config.models, prices: [SONNET, SCRIPTED] } });
  const parts = { database: rig.database, prices };
  await play('one');
  await play('two', 'anthropic/scripted-1');
  await rollUpAll(rig.database);
  await play('one');
  expect(await sums()).toEqual([8000, 8000, 8000, 8000, 1, 1]);

  const changes = { calls: 3, changed: 3, beforeMicros: 8000, afterMicros: 80_000 + 1200 };
  expect(await repricePastCalls(parts, { ...SPAN, reason: null, isDryRun: true })).toMatchObject(changes);
  expect(await sums()).toEqual([8000, 8000, 8000, 8000, 1, 1]);

  expect(await repricePastCalls(parts, { ...SPAN, reason: 'a test', isDryRun: false })).toMatchObject(changes);
  expect(await sums()).toEqual([81_200, 81_200, 81_200, 81_200, 0, 0]);
  await rollUpAll(rig.database);
  expect(await sums()).toEqual([81_200, 81_200, 81_200, 81_200, 0, 0]);

  const earlier = await readEarlierCosts(rig, {}, 'costMicros', 'priceVersion');
  expect(earlier).toHaveLength(3);
  expect(earlier.filter((cost) => cost.costMicros === 4000 && cost.priceVersion !== null)).toHaveLength(2);
  expect(earlier).toContainEqual({ costMicros: null, priceVersion: null });
  expect(
    await readRepricings(rig, { endedAt: not(null) }, 'reason', 'priceVersion', 'calls', 'beforeMicros', 'afterMicros'),
  ).toEqual([
    {
      reason: 'a test',
      priceVersion: prices.version,
      calls: 3,
      beforeMicros: 8000,
      afterMicros: 81_200,
    },
  ]);
  expect(await repricePastCalls(parts, { ...SPAN, reason: null, isDryRun: false })).toMatchObject({ changed: 0 });
});

test('calls of a turn that is deleted meanwhile are skipped, and there is no deadlock', async () => {
  await play('deleted');
  const prices = priceBookOf({ models: { ...rig.config.models, prices: [{ ...SONNET, inputPerMTok: 77 }] } });
  const sessionId = await rig.sessionOf('deleted');
  const client = await rig.database.views.connect();
  await client.query('begin');
  await lockRow(client, 'turns', 'session_id', sessionId);
  const repricing = repricePastCalls({ database: rig.database, prices }, { ...SPAN, reason: null, isDryRun: false });
  const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%locked_turns%' and pid <> pg_backend_pid()`;
  await expect.poll(async () => (await rig.rows(waiting)).length, { interval: 5, timeout: 120_000 }).toBe(1);
  // The lock order of the statements that delete turns: this one finds the calls unlocked.
  await client.query(`set local lock_timeout = '1ms'`);
  await removeModelCalls(client, { sessionId });
  await removeTurns(client, { sessionId });
  await client.query('commit');
  client.release();
  await repricing;
  const turns = (await readTurns(rig, {}, 'id')).map(({ id }) => id);
  const costs = await readEarlierCosts(rig, {}, 'turnId');
  expect(costs.filter(({ turnId }) => !turns.includes(turnId))).toEqual([]);
});

test('earlier costs are deleted with their turn, also those that the deleting statement does not see', async () => {
  await play('repriced');
  const prices = priceBookOf({ models: { ...rig.config.models, prices: [{ ...SONNET, inputPerMTok: 78 }] } });
  await repricePastCalls({ database: rig.database, prices }, { ...SPAN, reason: null, isDryRun: false });
  const sessionId = await rig.sessionOf('repriced');
  expect(await countEarlierCosts(rig, { sessionId })).toBe(1);
  const [turn] = await readTurns(rig, { sessionId }, 'id');
  await removeTurns(rig, { sessionId });
  expect(await countEarlierCosts(rig, { turnId: turn!.id })).toBe(0);
});

test('the calls of a turn that is open keep their costs, because its worker knows the sum', async () => {
  const worker = rig.worker();
  await rig.send(
    'open',
    '[[cut: after=3]] [[stall: after=5 times=always]] [[usage: input=1000 output=200 cache-read=0 cache-write=0]] [[reply: x]]',
  );
  const running = worker.run('open');
  const calls = () => readModelCalls(rig, { sessionId }, 'costMicros');
  const sessionId = await rig.sessionOf('open');
  await expect.poll(async () => (await calls()).length, { timeout: 120_000 }).toBe(1);
  const before = await calls();
  const prices = priceBookOf({ models: { ...rig.config.models, prices: [{ ...SONNET, inputPerMTok: 999 }] } });
  await repricePastCalls({ database: rig.database, prices }, { ...SPAN, reason: null, isDryRun: false });
  expect(await calls()).toEqual(before);
  worker.context.store.locks.stopAll({ kind: 'stopped', message: 'Stopped by the test.' });
  await running;
  worker.stop();
});
