// The budgets of the configuration when processes with different configurations start one after the
// other on one database.
import { onTestFinished, expect, test } from 'vitest';
import { loadConfig, type Config } from '../../../src/config.ts';
import { budgetBookOf, storeBudgets } from '../../../src/features/budgets/rounds.ts';
import { openDatabase } from '../../../src/database/database.ts';
import { openWindows } from '../../../src/features/budgets/store/reserve-cost.ts';
import { changeBudgetWindows } from '../../rows/budgets.ts';
import { withTestDatabase } from '../../servers/postgres.ts';
import { recordedService } from '../../service/recorded-service.ts';

type Budgets = NonNullable<Config['budgets']>;

const OWN: Budgets = [
  { scope: 'all', per: 'total', zone: 'UTC', limitUsd: 5, warnPercent: 80, action: 'pause', strict: false },
];

async function useDatabase() {
  const server = await withTestDatabase();
  const database = openDatabase({ url: server.url, role: 'test' });
  onTestFinished(async () => {
    await database.close();
    await server.drop();
  });
  const plain = loadConfig({ env: {}, cwd: '/', isTty: false });

  /**
   * Starts a process with these budgets in its configuration, and returns the budgets that it
   * knows.
   */
  async function start(budgets?: Budgets) {
    const { service } = recordedService({
      config: { ...plain, ...(budgets && { budgets }) },
      database: { ...database },
    });
    await storeBudgets(service);
    return budgetBookOf(service).all;
  }

  /** Stores as spent what calls would have cost. */
  async function spend(id: string, micros: number): Promise<void> {
    await openWindows(database, [id]);
    await changeBudgetWindows(database.hot, { budgetId: id }, { spentMicros: micros });
  }
  return { start, spend };
}

test('a process without budgets in its configuration keeps those of other processes, with their counts', async () => {
  const { start, spend } = await useDatabase();
  const [made] = await start(OWN);
  await spend(made!.id, 70_000);
  expect(await start()).toMatchObject([{ id: made!.id, origin: 'config', spentMicros: 70_000 }]);
  expect(await start(OWN)).toMatchObject([{ id: made!.id, spentMicros: 70_000 }]);
});

test('an empty list ends them, and a configuration that lists one again continues its sums', async () => {
  const { start, spend } = await useDatabase();
  const [made] = await start(OWN);
  await spend(made!.id, 70_000);
  expect(await start([])).toEqual([]);
  const [raised] = OWN.map((budget) => ({ ...budget, limitUsd: 7 }));
  expect(await start([raised!])).toMatchObject([{ id: made!.id, limitMicros: 7_000_000, spentMicros: 70_000 }]);
  expect(await start([{ ...raised!, zone: 'Europe/Berlin' }])).toMatchObject([
    { zone: 'Europe/Berlin', spentMicros: 0 },
  ]);
});

test('processes that start at the same time create one budget, also when it was ended before', async () => {
  const { start } = await useDatabase();
  const [made] = await start(OWN);
  await start([]);
  const known = await Promise.all(Array.from({ length: 6 }, () => start(OWN)));
  for (const each of known) expect(each).toMatchObject([{ id: made!.id }]);
});

test('processes with different budgets that start at the same time, in any order, all start', async () => {
  const { start } = await useDatabase();
  const lists = ['all', 'agent:a', 'agent:b', 'agent:c'].map((scope) => ({ ...OWN[0]!, scope }));
  for (let round = 0; round < 10; round += 1) {
    await start(lists.slice(round % 2));
    const others = [lists, [], lists.toReversed(), lists.slice(1), [], lists.slice(2).toReversed(), lists];
    await Promise.all(others.map((budgets, n) => start(budgets.map((budget) => ({ ...budget, limitUsd: n + 1 })))));
  }
  const known = await start(lists);
  expect(known.map(({ scope }) => scope).toSorted()).toEqual(['agent:a', 'agent:b', 'agent:c', 'all']);
});
