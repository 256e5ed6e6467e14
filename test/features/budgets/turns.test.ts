// Turns under budgets: what they reserve before each call, how a reservation ends, and what a turn
// does when the budget has no room.
import fc from 'fast-check';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { toMicros } from '../../../src/core/prices.ts';
import type { BudgetSettings } from '../../../src/features/budgets/rules/budget.ts';
import type { SessionId, TurnId } from '../../../src/core/ids.ts';
import { newId } from '../../../src/ids.ts';
import { BudgetBook } from '../../../src/features/budgets/store/budget-book.ts';
import { releaseReservations, wakeBudgetWaiters } from '../../../src/features/budgets/store/reservations.ts';
import { changeBudget, createBudget, syncBudgets } from '../../../src/features/budgets/store/budgets.ts';
import { eraseRows } from '../../../src/features/erasure/store/erase-sessions.ts';
import { createReserveCost, openWindows, reserveCosts } from '../../../src/features/budgets/store/reserve-cost.ts';
import { windowBoundsSql } from '../../../src/features/budgets/store/budgets-sql.ts';
import { createSettleCosts, settleLeftCosts } from '../../../src/features/budgets/store/settle-costs.ts';
import { viewTurn } from '../../../src/kernel/views/turns.ts';
import { withTestDatabase } from '../../servers/postgres.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';
import { isLongForm } from '../../servers/test-form.ts';
import { PASS, type GateCheck } from '../../../src/kernel/turn/gate-check.ts';
import { changeBudgets, readBudgetWindows, readCostReservations } from '../../rows/budgets.ts';
import { addModelCalls, readModelCalls } from '../../rows/calls.ts';
import { changeDoorbells, readDoorbells } from '../../rows/doorbells.ts';
import { readEvents } from '../../rows/events.ts';
import { readInputs } from '../../rows/inputs.ts';
import { changeSessions, readSessions } from '../../rows/sessions.ts';
import { ago, earlier, having, now, plus, sumOf } from '../../rows/table.ts';
import { changeTurns, readTurns } from '../../rows/turns.ts';
import { lockRow } from '../../rows/whole-tables.ts';
import { createTurnRig, type TurnRig } from '../../turn/turn-rig.ts';

let rig: TurnRig;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  rig = await createTurnRig(database.url, { settings: { models: { prices: PRICES } } });
  onEnd(() => rig.close());
});

/** A call of the scripted model costs cents at these prices. */
const PRICES = [{ model: 'anthropic/claude-sonnet-5-5', inputPerMTok: 1, outputPerMTok: 100 }];

beforeEach(async () => {
  await changeBudgets(rig, { removedAt: null }, { removedAt: now });
  await rig.budgets.read();
});

async function budget(more: Partial<BudgetSettings> & { limitUsd: number }): Promise<string> {
  const { limitUsd, ...settings } = more;
  const id = newId<string>();
  await createBudget(
    rig.database,
    {
      id,
      scope: 'all',
      per: 'day',
      zone: 'UTC',
      warnPercent: 80,
      action: 'pause',
      strict: false,
      limitMicros: toMicros(limitUsd),
      ...settings,
    },
    { createdBy: 'admin', idempotency: null },
  );
  await rig.budgets.read();
  return id;
}

const windowOf = async (id: string) => {
  const [row] = await readBudgetWindows(rig, { budgetId: id }, 'spentMicros', 'reservedMicros');
  return row && { spent: row.spentMicros, reserved: row.reservedMicros };
};

const costOf = async (names: readonly string[]): Promise<number> => {
  const ids = await Promise.all(names.map((name) => rig.sessionOf(name)));
  return sumOf(await readModelCalls(rig, { sessionId: ids }, 'costMicros'), 'costMicros');
};

const eventsOf = async (type: string, id: string) => readEvents(rig, { type, data: having({ budgetId: id }) }, 'data');

test('the spending of a turn is the sum of its calls, and nothing stays reserved', async () => {
  const [all, agent] = [
    await budget({ limitUsd: 100 }),
    await budget({ limitUsd: 100, scope: 'agent:main', per: 'total' }),
  ];
  const worker = rig.worker();
  await rig.send('sum', 'hello');
  expect(await worker.run('sum')).toMatchObject({ kind: 'ended' });
  const cost = await costOf(['sum']);
  expect(cost).toBeGreaterThan(0);
  for (const id of [all, agent]) expect(await windowOf(id)).toEqual({ spent: cost, reserved: 0 });
});

test('without room a turn is parked before it asks the model, and resumes when the limit is raised', async () => {
  const id = await budget({ limitUsd: 0, per: 'total' });
  const worker = rig.worker();
  await rig.send('waits', 'hello');
  expect(await worker.run('waits')).toMatchObject({ kind: 'parked', after: { rings: [] } });
  const [turn] = await readTurns(rig, { sessionId: await rig.sessionOf('waits') }, 'id', 'calls', 'parkBy');
  expect(turn).toMatchObject({ parkBy: id });
  const shown = await viewTurn(rig.database.views, String(turn?.['id']));
  expect(shown).toMatchObject({ status: 'parked', why: { code: 'budget_reached', by: id } });
  expect(await costOf(['waits'])).toBe(0);
  expect(await eventsOf('budget.reached', id)).toHaveLength(1);
  const { result, after } = await changeBudget(rig.database, id, { limitMicros: toMicros(10) });
  expect(result).toBe('done');
  expect(after?.rings).toMatchObject([{ sessionId: await rig.sessionOf('waits') }]);
  await rig.budgets.read();
  expect(await worker.run('waits')).toMatchObject({ kind: 'ended' });
  expect(await windowOf(id)).toEqual({ spent: await costOf(['waits']), reserved: 0 });
});

test('a call that costs more than a whole budget parks its own turn and holds nothing else back', async () => {
  const id = await budget({ limitUsd: 0.05, per: 'total' });
  const worker = rig.worker();
  await rig.send('huge', 'hello');
  expect(await worker.run('huge')).toMatchObject({ kind: 'parked' });
  const [turn] = await readTurns(rig, { sessionId: await rig.sessionOf('huge') }, 'id', 'parkBy');
  expect(turn).toMatchObject({ parkBy: id });
  const { why } = (await viewTurn(rig.database.views, String(turn?.['id']))) ?? {};
  expect(why?.text).toMatch(/likely to cost \$0\.1\d*, more than the whole budget "all in total" of \$0\.05/);
  await rig.budgets.read();
  const facts = { agentId: 'main', sessionKey: 'agent:main:other', keyName: null, batchId: null };
  expect(rig.budgets.reached(facts)).toBeNull();
  expect(await eventsOf('budget.reached', id)).toEqual([]);
  await rig.send('small', 'hello', { model: 'anthropic/claude-haiku-5-5' });
  expect(await worker.run('small')).toMatchObject({ kind: 'ended' });
  // It is not woken repeatedly while the budget is unchanged.
  expect(await wakeBudgetWaiters(rig.database)).toMatchObject({ woken: 0 });
  const { after } = await changeBudget(rig.database, id, { limitMicros: toMicros(10) });
  expect(after?.rings).toHaveLength(1);
  await rig.budgets.read();
  expect(await worker.run('huge')).toMatchObject({ kind: 'ended' });
});

test('with the action "fail", only the turn whose call costs more than the whole budget fails', async () => {
  const id = await budget({ limitUsd: 0.05, action: 'fail' });
  await rig.send('huge-fails', 'hello');
  await rig.worker().run('huge-fails');
  const [turn] = await readTurns(rig, { sessionId: await rig.sessionOf('huge-fails') }, 'status', 'error');
  expect(turn).toMatchObject({
    status: 'failed',
    error: { code: 'budget_exceeded', message: expect.stringContaining('more than the whole budget') },
  });
  const [known] = await rig.budgets.read();
  expect(known).toMatchObject({ id, isReached: false });
});

test('a turn that waits for a window is due at its end, and one whose budget is removed is due immediately', async () => {
  const id = await budget({ limitUsd: 0, per: 'hour' });
  const worker = rig.worker();
  await rig.send('hour', 'hello');
  expect(await worker.run('hour')).toMatchObject({ kind: 'parked' });
  const [bell] = await readDoorbells(rig, { sessionId: await rig.sessionOf('hour') }, 'dueAt');
  const [window] = await readBudgetWindows(rig, { budgetId: id }, 'endsAt');
  const afterEndMs = Number(bell?.dueAt) - Number(window?.endsAt);
  expect(afterEndMs).toBeGreaterThanOrEqual(0);
  expect(afterEndMs).toBeLessThanOrEqual(6000);
  const { after } = await changeBudget(rig.database, id, { isRemoved: true });
  expect(after?.rings).toHaveLength(1);
});

test('a turn that was parked right after its budget had changed is woken, and one that waits for a budget without room is not', async () => {
  const id = await budget({ limitUsd: 0, per: 'total' });
  const worker = rig.worker();
  await rig.send('missed', 'hello');
  expect(await worker.run('missed')).toMatchObject({ kind: 'parked' });
  expect(await wakeBudgetWaiters(rig.database)).toMatchObject({ woken: 0 });
  // As if the change had been committed between the refusal and the park.
  await changeBudgets(rig, { id }, { limitMicros: 10000000, changedAt: now });
  const { woken, after } = await wakeBudgetWaiters(rig.database);
  expect([woken, after?.rings.length]).toEqual([1, 1]);
});

test('the wait for a budget does not count as one for the model, which may be away afterwards (G33)', async () => {
  const id = await budget({ limitUsd: 0.000001, per: 'total' });
  const worker = rig.worker();
  const message = await rig.send('away', '[[error: 529]] [[reply: back]]');
  expect(await worker.run('away')).toMatchObject({ kind: 'parked' });
  const sessionId = await rig.sessionOf('away');
  await changeTurns(rig, { sessionId }, { parkSince: earlier('10 days') });
  await changeBudget(rig.database, id, { limitMicros: toMicros(10) });
  await rig.budgets.read();
  expect(await worker.run('away')).toMatchObject({ kind: 'parked' });
  await changeDoorbells(rig, { sessionId }, { dueAt: now });
  expect(await worker.run('away')).toMatchObject({ kind: 'ended' });
  expect(await readInputs(rig, { id: message }, 'status')).toEqual([{ status: 'answered' }]);
});

test.each([
  ['day', 'Europe/Berlin', '2026-03-29T10:00:00Z', '2026-03-28T23:00:00Z', '2026-03-29T22:00:00Z'],
  ['day', 'Europe/Berlin', '2026-10-25T10:00:00Z', '2026-10-24T22:00:00Z', '2026-10-25T23:00:00Z'],
  ['month', 'Europe/Berlin', '2026-10-31T23:30:00Z', '2026-10-31T23:00:00Z', '2026-11-30T23:00:00Z'],
  // The hour from 2 to 3 occurs twice.
  ['hour', 'Europe/Berlin', '2026-10-25T00:30:00Z', '2026-10-25T00:00:00Z', '2026-10-25T01:00:00Z'],
  ['hour', 'Europe/Berlin', '2026-10-25T01:30:00Z', '2026-10-25T01:00:00Z', '2026-10-25T02:00:00Z'],
  // So does the hour from midnight to 1.
  ['day', 'Atlantic/Azores', '2026-10-25T00:30:00Z', '2026-10-24T00:00:00Z', '2026-10-25T01:00:00Z'],
  ['day', 'Atlantic/Azores', '2026-10-25T01:30:00Z', '2026-10-25T01:00:00Z', '2026-10-26T01:00:00Z'],
  ['month', 'America/Havana', '2026-11-01T04:30:00Z', '2026-10-01T04:00:00Z', '2026-11-01T05:00:00Z'],
])('the %s in %s at %s lasts from %s to %s', async (per, zone, at, startsAt, endsAt) => {
  const [bounds] = await rig.rows(
    `select bounds.* from (select $1::text as per, $2::text as zone, null::timestamptz as created_at, $3::timestamptz as at) as b,
     ${windowBoundsSql('b', 'b.at')} as bounds`,
    [per, zone, at],
  );
  expect(bounds).toEqual({ starts_at: new Date(startsAt), ends_at: new Date(endsAt) });
});

test('budgets that were read earlier do not replace those that were read later', async () => {
  const [isRead, mayArrive] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const hot = new Proxy(rig.database.hot, {
    get: (pool, name) =>
      name !== 'query'
        ? Reflect.get(pool, name)
        : async (query: { text: string }) => {
            const rows = await pool.query(query);
            isRead.resolve();
            await mayArrive.promise;
            return rows;
          },
  });
  let isLate = true;
  const book = new BudgetBook({
    ...rig.database,
    get hot() {
      return isLate ? hot : rig.database.hot;
    },
  });
  const first = book.read();
  await isRead.promise;
  const id = await budget({ limitUsd: 1 });
  isLate = false;
  await book.read();
  mayArrive.resolve();
  await first;
  expect(book.all.map((known) => known.id)).toEqual([id]);
});

test('a budget of the configuration that a restart changes or removes wakes the turns that wait for it', async () => {
  const own = {
    id: newId<string>(),
    scope: 'session:agent:main:synced',
    per: 'total',
    zone: 'UTC',
    warnPercent: 80,
    action: 'pause',
    strict: false,
  } as const;
  await syncBudgets(rig.database, [{ ...own, limitMicros: 1 }]);
  await rig.budgets.read();
  const worker = rig.worker();
  await rig.send('synced', 'hello');
  expect(await worker.run('synced')).toMatchObject({ kind: 'parked' });
  expect((await syncBudgets(rig.database, [{ ...own, limitMicros: 1 }])).after?.rings).toEqual([]);
  expect((await syncBudgets(rig.database, [{ ...own, limitMicros: 2 }])).after?.rings).toHaveLength(1);
  await rig.budgets.read();
  expect(await worker.run('synced')).toMatchObject({ kind: 'parked' });
  expect((await syncBudgets(rig.database, [])).after?.rings).toHaveLength(1);
});

test('with the action "fail" a turn without room fails with budget_exceeded', async () => {
  await budget({ limitUsd: 0, action: 'fail' });
  await rig.send('fails', 'hello');
  await rig.worker().run('fails');
  const [turn] = await readTurns(rig, { sessionId: await rig.sessionOf('fails') }, 'status', 'error');
  expect(turn).toMatchObject({ status: 'failed', error: { code: 'budget_exceeded' } });
});

test('a strict budget allows no call of a model without a price; any other reserves the price of the most expensive model of its provider', async () => {
  const id = await budget({ limitUsd: 0.001, per: 'total' });
  await rig.send('unpriced', 'hello', { model: 'anthropic/mystery-1' });
  expect(await rig.worker().run('unpriced')).toMatchObject({ kind: 'parked' });
  await changeBudget(rig.database, id, { isRemoved: true });
  await budget({ limitUsd: 100, strict: true });
  await rig.send('strict', 'hello', { model: 'anthropic/mystery-1' });
  await rig.worker().run('strict');
  const [turn] = await readTurns(rig, { sessionId: await rig.sessionOf('strict') }, 'status', 'error');
  expect(turn).toMatchObject({
    status: 'failed',
    error: { code: 'budget_exceeded', message: expect.stringContaining('has no price') },
  });
});

test('a call without a known cost counts as its reservation, and a refused one as nothing', async () => {
  const id = await budget({ limitUsd: 100, per: 'total' });
  const worker = rig.worker();
  await rig.send('unknown-cost', 'hello [[error: 400]]', { model: 'anthropic/mystery-1' });
  await worker.run('unknown-cost');
  expect(await windowOf(id)).toEqual({ spent: 0, reserved: 0 });
  await rig.send('unknown-cost', 'hello', { model: 'anthropic/mystery-1' });
  expect(await worker.run('unknown-cost')).toMatchObject({ kind: 'ended' });
  const { spent, reserved } = (await windowOf(id)) ?? {};
  expect([Number(spent) > 0, reserved]).toEqual([true, 0]);
});

test('a retry that a budget holds back is charged to the retry budget of its turn (G16)', async () => {
  const id = await budget({ limitUsd: 100, per: 'total' });
  const worker = rig.worker();
  const { context } = worker;
  // Asked after the budgets: the first call has its reservation.
  const empties: GateCheck = {
    async ask() {
      await changeBudgets(rig, { id }, { limitMicros: 0 });
      return PASS;
    },
  };
  context.models.checks = [...context.models.checks, empties];
  await rig.send('retried', '[[error: 500 times=always]]');
  expect(await worker.run('retried')).toMatchObject({ kind: 'parked' });
  const [turn] = await readTurns(rig, { sessionId: await rig.sessionOf('retried') }, 'parkCode', 'retries');
  expect(turn).toEqual({ parkCode: 'budget_reached', retries: 1 });
});

test('a call has no room beside what another call has reserved', async () => {
  const id = await budget({ limitUsd: 0.001 });
  const sessionId = await rig.sessionOf('beside');
  const reserve = createReserveCost(rig.database);
  const call = () => ({ sessionId, turnId: newId<TurnId>(), callNo: 1, epoch: 1, isLive: true });
  expect(await reserve({ ...call(), asks: [{ budgetId: id, micros: 600 }] })).toMatchObject({ kind: 'reserved' });
  expect(await reserve({ ...call(), asks: [{ budgetId: id, micros: 600 }] })).toMatchObject({
    kind: 'busy',
    budgetId: id,
  });
  expect(await windowOf(id)).toEqual({ spent: 0, reserved: 600 });
});

test('a reservation that is sent again while the first one still waits for its window counts once', async () => {
  const id = await budget({ limitUsd: 1 });
  const sessionId = await rig.sessionOf('twice');
  const call = { sessionId, turnId: newId<TurnId>(), callNo: 1, epoch: 1, isLive: true };
  const asks = [{ budgetId: id, micros: 500 }];
  await createReserveCost(rig.database)({ ...call, turnId: newId<TurnId>(), asks });
  const holder = await rig.database.views.connect();
  onTestFinished(() => holder.release(true));
  await holder.query('begin');
  await lockRow(holder, 'budget_windows', 'budget_id', id);
  // As if the first connection had broken: its statement continues on the server.
  const both = [reserveCosts(rig.database, [{ ...call, asks }]), reserveCosts(rig.database, [{ ...call, asks }])];
  const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  await expect.poll(async () => (await rig.database.views.query(waiting)).rows).toHaveLength(2);
  await holder.query('commit');
  await Promise.all(both);
  expect(await windowOf(id)).toEqual({ spent: 0, reserved: 1_000 });
});

describe('64 sessions at once on four workers', () => {
  const names = (prefix: string) => Array.from({ length: 64 }, (_, n) => `${prefix}-${n}`);

  async function runAll(prefix: string, words: number): Promise<void> {
    const workers = Array.from({ length: 4 }, () => rig.worker());
    await Promise.all(names(prefix).map((name) => rig.send(name, `hello [[reply: ${'word '.repeat(words)}]]`)));
    await Promise.all(names(prefix).map((name, n) => workers[n % 4]!.run(name)));
  }

  test('never exceed a strict limit', async () => {
    // It has room for one call at a time, and all of them together would cost more than twice as
    // much.
    const id = await budget({ limitUsd: 3, strict: true, per: 'total' });
    await runAll('never', 1_000);
    const cost = await costOf(names('never'));
    expect(cost).toBeGreaterThan(0);
    expect(cost).toBeLessThanOrEqual(toMicros(3));
    expect(await windowOf(id)).toEqual({ spent: cost, reserved: 0 });
  });

  test('spend nine tenths of another limit before the first call is refused, and exceed it by a twentieth at most', async () => {
    const id = await budget({ limitUsd: 1, per: 'total' });
    await runAll('likely', 200);
    const cost = await costOf(names('likely'));
    expect(cost).toBeLessThanOrEqual(toMicros(1.05));
    expect(await windowOf(id)).toEqual({ spent: cost, reserved: 0 });
    const [refused] = await readEvents(rig, { type: 'budget.reached', data: having({ budgetId: id }) }, 'data');
    expect((refused!.data as { spentMicros: number }).spentMicros).toBeGreaterThanOrEqual(toMicros(0.9));
  });
});

describe('a reservation of a lost worker', () => {
  test('is released when its lease has expired and no other worker has claimed its turn', async () => {
    const id = await budget({ limitUsd: 100 });
    const worker = rig.worker();
    await rig.send('gone', 'hello');
    await worker.run('gone');
    const sessionId = (await rig.sessionOf('gone')) as SessionId;
    const turnId = newId<TurnId>();
    const reserve = createReserveCost(rig.database);
    const call = { sessionId, turnId, callNo: 1, epoch: 1, isLive: true, asks: [{ budgetId: id, micros: 500 }] };
    expect(await reserve(call)).toMatchObject({ kind: 'reserved' });
    // Sent again after its answer was lost.
    expect(await reserve(call)).toMatchObject({ kind: 'reserved' });
    expect(await windowOf(id)).toMatchObject({ reserved: 500 });
    await releaseReservations(rig.database);
    expect(await windowOf(id)).toMatchObject({ reserved: 0 });
  });

  test('is also released when no other worker has claimed its turn, and the call counts if its worker stores it after all', async () => {
    const none = await budget({ limitUsd: 0, per: 'total' });
    await rig.send('stalled', 'hello');
    await rig.worker().run('stalled');
    await changeBudget(rig.database, none, { isRemoved: true });
    const id = await budget({ limitUsd: 100 });
    const sessionId = (await rig.sessionOf('stalled')) as SessionId;
    // As if a worker had claimed it and been stopped for two minutes.
    await changeSessions(rig, { id: sessionId }, { owner: 'stopped', leaseExpiresAt: ago('2 minutes') });
    const [row] = await readSessions(rig, { id: sessionId }, 'turnId', 'epoch');
    const turnId = row?.turnId as TurnId;
    const call = { sessionId, turnId, callNo: 1, epoch: Number(row?.epoch), isLive: true };
    await createReserveCost(rig.database)({ ...call, asks: [{ budgetId: id, micros: 500 }] });
    expect(await releaseReservations(rig.database)).toBe(false);
    expect(await windowOf(id)).toEqual({ spent: 0, reserved: 0 });
    await storeCall(turnId, 1, 300);
    await createSettleCosts(rig.database)(turnId);
    expect(await windowOf(id)).toEqual({ spent: 300, reserved: 0 });
    await createReserveCost(rig.database)({ ...call, callNo: 2, asks: [{ budgetId: id, micros: 500 }] });
    await releaseReservations(rig.database);
    // The next claim of the turn shows that the worker is lost.
    await changeSessions(rig, { id: sessionId }, { epoch: plus(1) });
    await releaseReservations(rig.database);
    expect(await readCostReservations(rig, { turnId }, 'callNo')).toEqual([]);
    expect(await windowOf(id)).toEqual({ spent: 300, reserved: 0 });
  });

  test('of a call that was stored before a crash becomes its cost, also if its session is erased first', async () => {
    const id = await budget({ limitUsd: 100 });
    await rig.send('erased', 'hello');
    await rig.worker().run('erased');
    const { spent } = (await windowOf(id)) as { spent: number };
    const sessionId = (await rig.sessionOf('erased')) as SessionId;
    const [turn] = await readTurns(rig, { sessionId }, 'id');
    const turnId = turn?.['id'] as TurnId;
    const call = { sessionId, turnId, callNo: 9, epoch: 1, isLive: true };
    await createReserveCost(rig.database)({ ...call, asks: [{ budgetId: id, micros: 500 }] });
    await storeCall(turnId, 9, 300);
    await eraseRows(rig.database, { ids: [sessionId], cronIds: [] });
    expect(await windowOf(id)).toEqual({ spent: spent + 300, reserved: 0 });
  });
});

test('after any order of reservations, ends, crashes and repeats, the reserved sum is at least 0 and the spent sum that of the calls (2,000 histories in the long form)', async () => {
  const id = await budget({ limitUsd: 1_000_000, per: 'total' });
  await openWindows(rig.database, [id]);
  const reserve = createReserveCost(rig.database);
  const settle = createSettleCosts(rig.database);
  const sessionId = (await rig.sessionOf('history')) as SessionId;
  const step = fc.record({
    turn: fc.integer({ min: 0, max: 2 }),
    // `store`: the process is killed before it settles the call.
    what: fc.constantFrom('reserve', 'repeat', 'store', 'settle', 'settle again', 'take over'),
    micros: fc.integer({ min: 0, max: 1_000 }),
  });
  let spent = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
      const turns = [0, 1, 2].map(() => ({ id: newId<TurnId>(), callNo: 1, epoch: 1, isLive: true, ended: 0 }));
      for (const { turn: at, what, micros } of steps) {
        const turn = turns[at]!;
        const call = {
          sessionId,
          turnId: turn.id,
          callNo: turn.callNo,
          epoch: turn.epoch,
          isLive: true,
          asks: [{ budgetId: id, micros }],
        };
        if (what === 'reserve' || what === 'repeat') await reserve(call);
        if (what === 'take over') Object.assign(turn, { epoch: turn.epoch + 1, callNo: turn.callNo + 1 });
        if (what === 'settle' || what === 'settle again' || what === 'store') {
          const isFirst = turn.ended < turn.callNo;
          const [reserved] = await readCostReservations(rig, { turnId: turn.id, callNo: turn.callNo }, 'micros');
          if (isFirst) await storeCall(turn.id, turn.callNo, micros);
          if (isFirst && reserved !== undefined) spent += micros;
          if (what !== 'store') await settle(turn.id);
          if (isFirst) Object.assign(turn, { ended: turn.callNo, callNo: turn.callNo + 1 });
        }
      }
      await settleLeftCosts(rig.database);
      while (await releaseReservations(rig.database));
      expect(await windowOf(id)).toEqual({ spent, reserved: 0 });
    }),
    { numRuns: isLongForm() ? 2_000 : 60 },
  );
});

/** Stores a call with that cost, as a write of its turn does. */
const storeCall = (turnId: TurnId, callNo: number, micros: number) =>
  addModelCalls(rig, {
    turnId,
    callNo,
    step: 0,
    epoch: 1,
    untilSeq: 0,
    status: 'ok',
    model: 'model',
    costMicros: micros,
    startedAt: now,
    endedAt: now,
  });
