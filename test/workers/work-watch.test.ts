// Rounds of a process are asked about together, and one that has no work is not begun.
import { expect, onTestFinished, test } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { anyOf, createWorkWatch } from '../../src/kernel/queue/work-watch.ts';
import { every, startRounds } from '../../src/kernel/queue/start-rounds.ts';
import { createStoreRig, type StoreRig } from '../store/store-rig.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';

let rig: StoreRig;

shareAmongTests(async (onEnd) => {
  const made = await createStoreRig();
  rig = made;
  onEnd(() => made.drop());
});

/** The database of the rig, with the statements that ask for work; each fails while `isAway`. */
function seenDatabase() {
  const seen = { asked: [] as boolean[][], isAway: false };
  const query = ((sent: { values: [boolean[]] }) => {
    seen.asked.push(sent.values[0]);
    if (seen.isAway) return Promise.reject(Object.assign(new Error('the database is away'), { code: '57P01' }));
    return rig.database.hot.query(sent as never);
  }) as Database['hot']['query'];
  return { seen, database: { ...rig.database, hot: { query } as Database['hot'] } };
}

/** Starts rounds that have work as long as `hasWork`, and counts those that were begun. */
function countedRounds(parts: Pick<Parameters<typeof startRounds>[0], 'database' | 'watch'>, ms: number) {
  const state = { hasWork: false, begun: 0, failed: 0 };
  const report = (): void => void (state.failed += 1);
  const stop = startRounds({
    ...parts,
    database: { ...parts.database, outages: { ...parts.database.outages, report } },
    work: { sql: '$hasWork::boolean', values: () => ({ hasWork: state.hasWork }) },
    async round() {
      state.begun += 1;
    },
    failure: 'Failed',
    pauseMs: every(ms),
  });
  onTestFinished(stop);
  return state;
}

test('rounds without work share the statement that asks for it, and none is begun', async () => {
  const { seen, database } = seenDatabase();
  const watch = createWorkWatch(database);
  const rounds = Array.from({ length: 20 }, () => countedRounds({ database, watch }, 50));
  await expect.poll(() => seen.asked.length).toBeGreaterThan(5);
  const together = seen.asked.slice(1, 5);
  expect(together).toEqual(together.map(() => rounds.map(() => true)));
  expect(rounds.filter(({ begun }) => begun > 0)).toEqual([]);
});

test('a round is begun when there is work for it, and one beside it is not', async () => {
  const { database } = seenDatabase();
  const watch = createWorkWatch(database);
  const [busy, idle] = [countedRounds({ database, watch }, 20), countedRounds({ database, watch }, 20)];
  busy.hasWork = true;
  await expect.poll(() => busy.begun).toBeGreaterThan(3);
  expect(idle.begun).toBe(0);
});

test('a round that says when there will be work is begun then, without being asked about', async () => {
  const { seen, database } = seenDatabase();
  const begunAtMs: number[] = [];
  const stop = startRounds({
    database,
    watch: createWorkWatch(database),
    work: { sql: 'true' },
    async round() {
      begunAtMs.push(performance.now());
      return begunAtMs.length === 1 ? 100 : 1e9;
    },
    failure: 'Failed',
    pauseMs: { first: 0, min: 1, max: 600_000 },
  });
  onTestFinished(stop);
  await expect.poll(() => begunAtMs.length).toBe(2);
  expect(begunAtMs[1]! - begunAtMs[0]!).toBeGreaterThanOrEqual(99);
  expect(seen.asked).toEqual([]);
});

test('a round with a longer pause is asked about at its own pace', async () => {
  const { seen, database } = seenDatabase();
  const watch = createWorkWatch(database);
  countedRounds({ database, watch }, 10);
  countedRounds({ database, watch }, 600_000);
  await expect.poll(() => seen.asked.length).toBeGreaterThan(5);
  expect(seen.asked.filter(([, isLongAsked]) => isLongAsked)).toEqual([]);
});

test('while the database is away no round is begun, and work is found when it is back', async () => {
  const { seen, database } = seenDatabase();
  const rounds = countedRounds({ database, watch: createWorkWatch(database) }, 10);
  rounds.hasWork = true;
  seen.isAway = true;
  await expect.poll(() => rounds.failed).toBeGreaterThan(2);
  const { begun } = rounds;
  seen.isAway = false;
  await expect.poll(() => rounds.begun).toBeGreaterThan(begun);
});

test('questions of one kind of work have one answer, and equal values are sent under one name', async () => {
  const watch = createWorkWatch(rig.database);
  const { signal } = new AbortController();
  const of = (n: number) => ({ sql: '$n::int = 2', values: () => ({ n }) });
  const ask = watch.add(anyOf([{ sql: 'false' }, of(2)]));
  const other = watch.add(anyOf([{ sql: 'null' }, of(1)]));
  expect(await Promise.all([ask(0, signal), other(0, signal)])).toEqual([true, false]);
});

test('who waits for an answer leaves when it is stopped', async () => {
  const stopped = new AbortController();
  const answer = createWorkWatch(rig.database).add({ sql: 'true' })(600_000, stopped.signal);
  stopped.abort();
  expect(await answer).toBe(false);
});

test('a round that its question has missed for long is begun all the same', async () => {
  const { database } = seenDatabase();
  const rounds = countedRounds({ database, watch: createWorkWatch(database, { anywayMs: 100 }) }, 10);
  await expect.poll(() => rounds.begun).toBeGreaterThan(1);
});

test('a question that the database refuses, or that it does not answer in time, lets every round look for its own work', async () => {
  for (const sql of ['1 / 0 = 1', 'exists (select from pg_sleep(600))']) {
    const { database } = seenDatabase();
    const reported: string[] = [];
    const outages = { ...database.outages, report: (_: unknown, message: string) => void reported.push(message) };
    const watch = createWorkWatch({ ...database, outages }, { lateMs: 200 });
    const { signal } = new AbortController();
    const [ask, faulty] = [watch.add({ sql: 'false' }), watch.add({ sql })];
    expect(await Promise.all([ask(0, signal), faulty(0, signal)])).toEqual([true, true]);
    expect(await ask(0, signal)).toBe(true);
    expect(reported).toEqual(['The database did not say which rounds have work; for 30 s, each looks for its own']);
  }
});
