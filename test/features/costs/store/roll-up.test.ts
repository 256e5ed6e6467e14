// Goal: usage and counts are exactly those of the rows, before, during and after the roll-up.
// Method: turns of several kinds run on a real database, and every answer is compared with a count
// of the rows.
import { beforeAll, describe, expect, test } from 'vitest';
import { abortSession } from '../../../../src/kernel/effects/control.ts';
import { retryTurn } from '../../../../src/kernel/turn/journal/retry-turn.ts';
import { trimEvents } from '../../../../src/features/retention/rounds.ts';
import { countExisting, countSessions, rollUp, trimUsage } from '../../../../src/features/costs/store/roll-up.ts';
import type { ViewDatabase } from '../../../../src/database/page.ts';
import { readScrapeFigures } from '../../../../src/features/overview/views/scrape-figures.ts';
import { viewStats } from '../../../../src/features/overview/views/stats.ts';
import type { UsageGroup } from '../../../../src/core/prices.ts';
import { viewUsage } from '../../../../src/features/costs/views.ts';
import { readModelCalls } from '../../../rows/calls.ts';
import { readDeliveries } from '../../../rows/deliveries.ts';
import { changeEvents, countEvents } from '../../../rows/events.ts';
import { readInputs } from '../../../rows/inputs.ts';
import { addSessions, readSessions } from '../../../rows/sessions.ts';
import { earlier, grouped, not, replaced, sumOf } from '../../../rows/table.ts';
import { countTurns, readTurns } from '../../../rows/turns.ts';
import {
  changeRollUpCursor,
  changeUsageBuckets,
  readRollUpCursor,
  readUncounted,
  readUsageBuckets,
  removeRowCounts,
  removeUsageBuckets,
} from '../../../rows/usage.ts';
import { withTestDatabase } from '../../../servers/postgres.ts';
import { shareAmongTests } from '../../../servers/share-among-tests.ts';
import { createTurnRig, type TurnRig } from '../../../turn/turn-rig.ts';
import { rollUpAll } from '../../../store/roll-up-all.ts';
import { EVERYTHING } from '../../../../src/core/scope.ts';

const EVER = { from: new Date(0), to: new Date(Date.now() + 86_400_000) };

let rig: TurnRig;
let views: ViewDatabase;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  rig = await createTurnRig(database.url);
  views = rig.database.views;
  const made = rig;
  onEnd(() => made.close());
});

async function play(name: string, text: string, model?: string): Promise<void> {
  const worker = rig.worker();
  await rig.send(name, text, model === undefined ? {} : { model });
  await worker.run(name);
  worker.stop();
}

/**
 * Turns that end well, fail, are retried, are stopped while they wait, and whose model has no
 * price.
 */
async function playAll(): Promise<void> {
  await play('well', '[[reply: yes]]');
  await play('well', '[[cut: after=3]] [[reply: whole]]');
  await play('unpriced', '[[reply: yes]]', 'anthropic/scripted-1');
  await play('bad', '[[error: 400]]');
  await play('again', '[[error: 400 times=1]] [[reply: better]]');
  const [failed] = await readTurns(rig, { sessionKey: 'agent:main:again' }, 'id');
  expect(await retryTurn(rig.database, String(failed?.['id']))).toMatchObject({ kind: 'ok' });
  const worker = rig.worker();
  await worker.run('again');
  worker.stop();
  await rig.send('stopped', 'waits');
  await abortSession(rig, { sessionKey: 'agent:main:stopped', keepQueued: false });
  await rig.send('waiting', 'waits');
}

const byGroup = (group: UsageGroup | null = null, by: 'hour' | 'day' | 'minute' = 'day') =>
  viewUsage(views, { by, group, scope: EVERYTHING, ...EVER });

/** The same sums from the rows, by model. */
async function journalByModel(): Promise<Record<string, unknown>[]> {
  const groups = Map.groupBy(await readModelCalls(rig), ({ model }) => model);
  return [...groups]
    .toSorted(([one], [other]) => String(one).localeCompare(String(other)))
    .map(([group, calls]) => ({
      group,
      calls: calls.length,
      failures: calls.filter(({ status }) => status === 'failed').length,
      unpricedCalls: calls.filter(({ costMicros }) => costMicros === null).length,
      inputTokens: sumOf(calls, 'inputTokens'),
      outputTokens: sumOf(calls, 'outputTokens'),
      costMicros: calls.every(({ costMicros }) => costMicros === null) ? null : sumOf(calls, 'costMicros'),
    }));
}

/** The counts of the rows themselves. */
async function countedRows() {
  const byStatus = (rows: { status: string }[]) =>
    Object.fromEntries(grouped(rows, 'status').map(({ status, n }) => [status, n]));
  return {
    sessions: (await readSessions(rig, {}, 'id')).length,
    messages: byStatus(await readInputs(rig, {}, 'status')),
    turns: byStatus(await readTurns(rig, {}, 'status')),
    deliveries: byStatus(await readDeliveries(rig, {}, 'status')),
  };
}

async function expectExact(): Promise<void> {
  const journal = await journalByModel();
  expect(journal.length).toBeGreaterThan(1);
  expect(await byGroup('model')).toMatchObject(journal);
  const [all] = await byGroup();
  expect(all?.turns).toBe(await countTurns(rig, { endedAt: not(null) }));
  expect(all).toMatchObject({ group: null, simulated: true });
  expect(await viewStats(views)).toMatchObject(await countedRows());
  const unpriced = grouped(await readModelCalls(rig, { costMicros: null }, 'model'), 'model');
  expect(unpriced.length).toBeGreaterThan(0);
  const { unpricedCalls } = await readScrapeFigures(views);
  expect(unpricedCalls).toEqual(Object.fromEntries(unpriced.map(({ model, n }) => [model, n])));
}

const unread = () => readUncounted(rig);

const buckets = () => readUsageBuckets(rig);

describe('usage and counts', () => {
  beforeAll(async () => {
    await playAll();
    expect(await countedRows()).toMatchObject({
      messages: { failed: 2, cancelled: 1, waiting: 1 },
      turns: { failed: 3 },
    });
  });

  test('are exact before anything is rolled up, and after each event is', async () => {
    await expectExact();
    await rollUpAll(rig.database);
    expect((await buckets()).length).toBeGreaterThan(0);
    await expectExact();
    await play('later', '[[reply: more]]');
    await expectExact();
    await rollUpAll(rig.database);
    await expectExact();
  });

  test('count each event once, also when several processes roll up at the same time', async () => {
    for (let round = 1; round <= 5; round += 1) {
      await play(`round-${round}`, '[[reply: ok]]');
      await Promise.all(Array.from({ length: 4 }, () => rollUp(rig.database)));
    }
    await rollUpAll(rig.database);
    await expectExact();
  });

  test('skip no event of a transaction that is still running', async () => {
    const slow = await rig.database.hot.connect();
    await slow.query('begin');
    await slow.query('select pg_current_xact_id()');
    await play('beside', '[[reply: ok]]');
    await rollUp(rig.database);
    expect(await unread()).not.toEqual([]);
    await expectExact();
    await slow.query('commit');
    slow.release();
    await rollUpAll(rig.database);
    await expectExact();
  });

  test('survive the deletion of events, which waits until they are rolled up', async () => {
    await play('kept', '[[reply: ok]]');
    const before = (await unread()).length;
    expect(before).toBeGreaterThan(0);
    await trimEvents(rig.database, 0);
    expect((await unread()).length).toBe(before);
    await rollUpAll(rig.database);
    await trimEvents(rig.database, 0);
    expect(await countEvents(rig, { type: not('log.trimmed') })).toBe(0);
    await expectExact();
  });

  test('are grouped by minute and hour, and minutes are deleted after two days', async () => {
    await rollUpAll(rig.database);
    const sum = (items: { calls: number }[]) => items.reduce((total, { calls }) => total + calls, 0);
    const calls = sum(await byGroup());
    expect(sum(await byGroup('agent', 'minute'))).toBe(calls);
    expect(sum(await byGroup('kind', 'hour'))).toBe(calls);
    await changeUsageBuckets(rig, { size: 'minute' }, { startsAt: earlier('49 hours') });
    expect(await trimUsage(rig.database)).toBe(false);
    expect(await byGroup(null, 'minute')).toEqual([]);
    expect(sum(await byGroup(null, 'hour'))).toBe(calls);
  });

  test('read an event with characters that PostgreSQL cannot hold in a text', async () => {
    await play('odd', '[[reply: ok]]');
    const ends = (await unread()).filter(({ type }) => ['model.ended', 'turn.ended'].includes(type));
    await changeEvents(
      rig,
      { id: ends.map(({ id }) => id) },
      { data: replaced('"status":', String.raw`"odd":"\u0000 \ud800 \\u0000","status":`) },
    );
    await expectExact();
    await rollUpAll(rig.database);
    await expectExact();
  });

  test('include the rows from before the upgrade, once', async () => {
    const before = await byGroup('model');
    await removeUsageBuckets(rig);
    await removeRowCounts(rig);
    await changeRollUpCursor(rig, {}, { afterId: 0, countedAt: null, sessions: 0, sessionsTo: null });
    await play('rolling', '[[reply: ok]]');
    // Not counted yet: the statistics count the rows, as before the upgrade.
    expect(await viewStats(views)).toMatchObject(await countedRows());
    const slow = await rig.database.hot.connect();
    await slow.query('begin');
    await slow.query('select pg_current_xact_id()');
    await play('rolling', '[[reply: seen by the count and by the log]]');
    expect(await Promise.all([countExisting(rig.database), countExisting(rig.database)])).toContain(true);
    await slow.query('commit');
    slow.release();
    await expectExact();
    await rollUpAll(rig.database);
    await expectExact();
    expect(await countExisting(rig.database)).toBe(false);
    expect((await byGroup('model')).length).toBe(before.length);
  });

  test('count sessions by their ids, once they are ten minutes old', async () => {
    await countSessions(rig.database);
    expect(await readRollUpCursor(rig, {}, 'sessions')).toEqual([{ sessions: 0 }]);
    const old = Array.from({ length: 50 }, (_, n) => ({
      id: `0190${n.toString(16).padStart(4, '0')}-0000-7000-8000-000000000000`,
      key: `agent:main:old-${n}`,
    }));
    await addSessions(rig, ...old);
    await countSessions(rig.database);
    expect(await readRollUpCursor(rig, {}, 'sessions')).toEqual([{ sessions: 50 }]);
    await expectExact();
  });
});
