// An explicit command reprices past calls, and all sums are updated.
import { expect, test } from 'vitest';
import { priceBookOf } from '../../src/config.ts';
import { repricePastCalls } from '../../src/service/reprice-past-calls.ts';
import { viewUsage } from '../../src/store/views/usage.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { createTurnRig, type TurnRig } from '../turn/turn-rig.ts';
import { rollUpAll } from '../store/roll-up-all.ts';

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
  const [row] = await rig.rows(
    `select (select sum(cost_micros)::int from holdfast.model_calls) as calls, (select sum(cost_micros)::int from holdfast.turns) as turns,
       (select sum(cost_micros)::int from holdfast.sessions) as sessions, (select sum(unpriced_calls)::int from holdfast.sessions) as unpriced`,
  );
  // Two days at midnight.
  const usage = await viewUsage(rig.database.views, {
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

  expect(
    await rig.rows(
      `select cost_micros::int, price_version is null as is_unpriced from holdfast.earlier_costs order by cost_micros`,
    ),
  ).toEqual([
    { cost_micros: 4000, is_unpriced: false },
    { cost_micros: 4000, is_unpriced: false },
    { cost_micros: null, is_unpriced: true },
  ]);
  expect(
    await rig.rows(
      'select reason, price_version, calls::int, before_micros::int, after_micros::int, ended_at is not null as is_over from holdfast.repricings',
    ),
  ).toEqual([
    {
      reason: 'a test',
      price_version: prices.version,
      calls: 3,
      before_micros: 8000,
      after_micros: 81_200,
      is_over: true,
    },
  ]);
  expect(await repricePastCalls(parts, { ...SPAN, reason: null, isDryRun: false })).toMatchObject({ changed: 0 });
});

test('calls of a turn that is deleted meanwhile are skipped, and there is no deadlock', async () => {
  await play('deleted');
  const prices = priceBookOf({ models: { ...rig.config.models, prices: [{ ...SONNET, inputPerMTok: 77 }] } });
  const sessionId = await rig.sessionOf('deleted');
  const ofTurn = `turn_id in (select id from holdfast.turns where session_id = '${sessionId}')`;
  const client = await rig.database.views.connect();
  await client.query('begin');
  await client.query('select from holdfast.turns where session_id = $1 for update', [sessionId]);
  const repricing = repricePastCalls({ database: rig.database, prices }, { ...SPAN, reason: null, isDryRun: false });
  const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%locked_turns%' and pid <> pg_backend_pid()`;
  await expect.poll(async () => (await rig.rows(waiting)).length, { interval: 5, timeout: 120_000 }).toBe(1);
  // The lock order of the statements that delete turns: this one finds the calls unlocked.
  await client.query(`select from holdfast.model_calls where ${ofTurn} for update nowait`);
  await client.query(`delete from holdfast.model_calls where ${ofTurn}`);
  await client.query('delete from holdfast.turns where session_id = $1', [sessionId]);
  await client.query('commit');
  client.release();
  await repricing;
  expect(
    await rig.rows('select from holdfast.earlier_costs where turn_id not in (select id from holdfast.turns)'),
  ).toEqual([]);
});

test('earlier costs are deleted with their turn, also those that the deleting statement does not see', async () => {
  await play('repriced');
  const prices = priceBookOf({ models: { ...rig.config.models, prices: [{ ...SONNET, inputPerMTok: 78 }] } });
  await repricePastCalls({ database: rig.database, prices }, { ...SPAN, reason: null, isDryRun: false });
  const sessionId = await rig.sessionOf('repriced');
  const earlier = () =>
    rig.rows('select from holdfast.earlier_costs e join holdfast.turns t on t.id = e.turn_id where t.session_id = $1', [
      sessionId,
    ]);
  expect(await earlier()).toHaveLength(1);
  const [turn] = await rig.rows('delete from holdfast.turns where session_id = $1 returning id', [sessionId]);
  expect(await rig.rows('select from holdfast.earlier_costs where turn_id = $1', [turn?.['id']])).toEqual([]);
});

test('the calls of a turn that is open keep their costs, because its worker knows the sum', async () => {
  const worker = rig.worker();
  await rig.send(
    'open',
    '[[cut: after=3]] [[stall: after=5 times=always]] [[usage: input=1000 output=200 cache-read=0 cache-write=0]] [[reply: x]]',
  );
  const running = worker.run('open');
  const calls = () =>
    rig.rows(
      `select c.cost_micros::int from holdfast.model_calls c join holdfast.turns t on t.id = c.turn_id where t.session_id = $1`,
      [sessionId],
    );
  const sessionId = await rig.sessionOf('open');
  await expect.poll(async () => (await calls()).length, { timeout: 120_000 }).toBe(1);
  const before = await calls();
  const prices = priceBookOf({ models: { ...rig.config.models, prices: [{ ...SONNET, inputPerMTok: 999 }] } });
  await repricePastCalls({ database: rig.database, prices }, { ...SPAN, reason: null, isDryRun: false });
  expect(await calls()).toEqual(before);
  worker.context.locks.stopAll({ kind: 'stopped', message: 'Stopped by the test.' });
  await running;
  worker.stop();
});
