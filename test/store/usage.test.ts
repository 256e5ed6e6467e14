// Goal: usage and counts are exactly those of the rows, before, during and after the roll-up. Method: turns of several
// kinds run on a real database, and every answer is compared with a count of the rows.
import { beforeAll, describe, expect, test } from 'vitest';
import { abortSession } from '../../src/store/control.ts';
import { retryTurn } from '../../src/store/retry-turn.ts';
import { trimEvents } from '../../src/store/trim-events.ts';
import { countExisting, countSessions, rollUp, trimUsage } from '../../src/store/usage/roll-up.ts';
import type { ViewDatabase } from '../../src/store/views/page.ts';
import { readScrapeFigures } from '../../src/store/views/scrape-figures.ts';
import { viewStats } from '../../src/store/views/stats.ts';
import type { UsageGroup } from '../../src/core/usage-steps.ts';
import { viewUsage } from '../../src/store/views/usage.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { createTurnRig, type TurnRig } from '../turn/turn-rig.ts';
import { rollUpAll } from './roll-up-all.ts';

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

/** Turns that end well, fail, are retried, are stopped while they wait, and whose model has no price. */
async function playAll(): Promise<void> {
  await play('well', '[[reply: yes]]');
  await play('well', '[[cut: after=3]] [[reply: whole]]');
  await play('unpriced', '[[reply: yes]]', 'anthropic/scripted-1');
  await play('bad', '[[error: 400]]');
  await play('again', '[[error: 400 times=1]] [[reply: better]]');
  const [failed] = await rig.rows(
    `select t.id from holdfast.turns t join holdfast.sessions s on s.id = t.session_id where s.key = 'agent:main:again'`,
  );
  expect(await retryTurn(rig.database, String(failed?.['id']))).toMatchObject({ kind: 'ok' });
  const worker = rig.worker();
  await worker.run('again');
  worker.stop();
  await rig.send('stopped', 'waits');
  await abortSession(rig.database, { sessionKey: 'agent:main:stopped', keepQueued: false });
  await rig.send('waiting', 'waits');
}

const byGroup = (group: UsageGroup | null = null, by: 'hour' | 'day' | 'minute' = 'day') =>
  viewUsage(views, { by, group, ...EVER });

/** The same sums from the rows, by model. */
async function journalByModel(): Promise<Record<string, unknown>[]> {
  return await rig.rows(
    `select model as "group", count(*)::int as calls, count(*) filter (where status = 'failed')::int as failures,
       count(*) filter (where cost_micros is null)::int as "unpricedCalls", sum(input_tokens)::int as "inputTokens",
       sum(output_tokens)::int as "outputTokens", sum(cost_micros)::int as "costMicros"
     from holdfast.model_calls group by model order by model`,
  );
}

/** The counts of the rows themselves. */
async function countedRows() {
  const counts = async (table: string) =>
    Object.fromEntries(
      (await rig.rows(`select status, count(*)::int as count from holdfast.${table} group by status`)).map((row) => [
        row['status'],
        row['count'],
      ]),
    );
  const [sessions] = await rig.rows('select count(*)::int as count from holdfast.sessions');
  return {
    sessions: sessions?.['count'],
    messages: await counts('inbox'),
    turns: await counts('turns'),
    deliveries: await counts('deliveries'),
  };
}

async function expectExact(): Promise<void> {
  const journal = await journalByModel();
  expect(journal.length).toBeGreaterThan(1);
  expect(await byGroup('model')).toMatchObject(journal);
  const [all] = await byGroup();
  expect(all?.turns).toBe((await rig.rows('select from holdfast.turns where ended_at is not null')).length);
  expect(all).toMatchObject({ group: null, simulated: true });
  expect(await viewStats(views)).toMatchObject(await countedRows());
  const unpriced = await rig.rows(
    'select model, count(*)::int as count from holdfast.model_calls where cost_micros is null group by model',
  );
  expect(unpriced.length).toBeGreaterThan(0);
  const { unpricedCalls } = await readScrapeFigures(views);
  expect(unpricedCalls).toEqual(Object.fromEntries(unpriced.map(({ model, count }) => [model, count])));
}

const unread = () => rig.rows('select from holdfast.events e, holdfast.roll_up_cursor c where e.id > c.after_id');

const buckets = () => rig.rows('select * from holdfast.usage_buckets order by size, starts_at, model, kind');

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
    const [cursor] = await rig.rows(
      'select after_id < (select max(id) from holdfast.events) as is_behind from holdfast.roll_up_cursor',
    );
    expect(cursor).toEqual({ is_behind: true });
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
    expect(await rig.rows("select from holdfast.events where type <> 'log.trimmed'")).toEqual([]);
    await expectExact();
  });

  test('are grouped by minute and hour, and minutes are deleted after two days', async () => {
    await rollUpAll(rig.database);
    const sum = (items: { calls: number }[]) => items.reduce((total, { calls }) => total + calls, 0);
    const calls = sum(await byGroup());
    expect(sum(await byGroup('agent', 'minute'))).toBe(calls);
    expect(sum(await byGroup('kind', 'hour'))).toBe(calls);
    await rig.rows(
      `update holdfast.usage_buckets set starts_at = starts_at - interval '49 hours' where size = 'minute'`,
    );
    expect(await trimUsage(rig.database)).toBe(false);
    expect(await byGroup(null, 'minute')).toEqual([]);
    expect(sum(await byGroup(null, 'hour'))).toBe(calls);
  });

  test('read an event with characters that PostgreSQL cannot hold in a text', async () => {
    await play('odd', '[[reply: ok]]');
    await rig.rows(
      String.raw`update holdfast.events e set data = replace(e.data::text, '"status":', '"odd":"\u0000 \ud800 \\u0000","status":')::json
       from holdfast.roll_up_cursor c where e.id > c.after_id and e.type in ('model.ended', 'turn.ended')`,
    );
    await expectExact();
    await rollUpAll(rig.database);
    await expectExact();
  });

  test('include the rows from before the upgrade, once', async () => {
    const before = await byGroup('model');
    await rig.rows('delete from holdfast.usage_buckets');
    await rig.rows('delete from holdfast.row_counts');
    await rig.rows(
      'update holdfast.roll_up_cursor set after_id = 0, counted_at = null, sessions = 0, sessions_to = null',
    );
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
    expect(await rig.rows('select sessions::int from holdfast.roll_up_cursor')).toEqual([{ sessions: 0 }]);
    await rig.rows(
      `insert into holdfast.sessions (id, key, agent_id, kind, lane)
       select ('0190' || lpad(to_hex(n), 4, '0') || '-0000-7000-8000-000000000000')::uuid, 'agent:main:old-' || n, 'main', 'main', 'main'
       from generate_series(1, 50) as n`,
    );
    await countSessions(rig.database);
    expect(await rig.rows('select sessions::int from holdfast.roll_up_cursor')).toEqual([{ sessions: 50 }]);
    await expectExact();
  });
});
