// Goal: PostgreSQL accepts what `npm run sql` prints, and the statements of a turn stay fast while
// tables grow. Method: prepare every form of every statement on a migrated database with rows in
// it, with the settings of the connections that run them, and read the generic plans.
import type { PoolClient } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { printedForms } from '../../scripts/printed-statement.ts';
import { STATEMENTS, TURN_STATEMENTS } from '../../scripts/statement-catalogue.ts';
import type { VisibleStatement } from '../../src/database/statement.ts';
import { readSettlements } from '../../src/kernel/views/turns.ts';
import { createStoreRig, goodEnd, type StoreRig } from './store-rig.ts';

const SESSIONS = 200;
/**
 * How a plan is allowed to read a table: by an index. A table that is written is named by its own
 * node.
 */
const READS_BY_INDEX = new Set(['Index Scan', 'Index Only Scan', 'ModifyTable']);

const LOCKS_ROWS = /\bfor (?:no key )?update\b/;

/** Options that a statement never has without others. */
const IMPLIED: Readonly<Record<string, string[]>> = { run_end: ['outreach'] };

let rig: StoreRig;
let client: PoolClient;
beforeAll(async () => {
  rig = await createStoreRig();
  await Promise.all(Array.from({ length: SESSIONS }, () => answerOne()));
  await rig.rows('analyze');
  client = await rig.database.hot.connect();
});
afterAll(async () => {
  client.release();
  await rig.drop();
});

async function answerOne(): Promise<void> {
  const sessionId = await rig.session();
  await rig.accept(rig.input(sessionId));
  const { write } = await rig.opened(sessionId);
  await rig.finishTurn(goodEnd(write));
}

test('psql accepts every statement as it is printed', async () => {
  for (const text of STATEMENTS.flatMap(printedForms)) {
    await client.query(text);
    await client.query('deallocate all');
  }
});

test.each([...TURN_STATEMENTS, readSettlements])(
  '$name reads tables by index scans only, with any of its options',
  async (statement) => {
    const choices = [[], statement.options, ...statement.options.map((option) => [option, ...(IMPLIED[option] ?? [])])];
    for (const options of choices) {
      const reads = (await planOf(statement, options)).filter(({ table }) => table !== undefined);
      expect(reads.length).toBeGreaterThan(0);
      expect(
        reads.filter(({ node }) => !READS_BY_INDEX.has(node)),
        options.join(', '),
      ).toEqual([]);
    }
  },
);

test('no statement that locks rows reads every session to find them', async () => {
  const reading = new Set<string>();
  // It counts the rows from before an upgrade once, in the background.
  const others = STATEMENTS.filter(({ name }) => name !== 'count-existing');
  for (const statement of others.filter((one) => LOCKS_ROWS.test(one.render(new Set(one.options)).text))) {
    for (const options of [[], statement.options]) {
      const reads = await planOf(statement, options);
      if (reads.some(({ index, isBounded }) => index === 'sessions_pkey' && !isBounded)) reading.add(statement.name);
    }
  }
  expect([...reading]).toEqual([]);
});

/** The nodes of the generic plan, with the tables that they read. */
async function planOf(statement: VisibleStatement, options: readonly string[]): Promise<PlanRead[]> {
  const { text } = statement.render(new Set(options));
  await client.query(`prepare explained as ${text}`);
  const { rows: prepared } = await client.query<{ count: number }>(
    `select cardinality(parameter_types) as count from pg_prepared_statements where name = 'explained'`,
  );
  const nulls = Array.from({ length: prepared[0]?.count ?? 0 }, () => 'null').join(', ');
  const { rows } = await client.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
    `explain (format json) execute explained${nulls === '' ? '' : `(${nulls})`}`,
  );
  await client.query('deallocate explained');
  return rows.flatMap((row) => row['QUERY PLAN'].flatMap(({ Plan }) => readsOf(Plan)));
}

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Index Cond'?: string;
  Plans?: PlanNode[];
}

interface PlanRead {
  node: string;
  table: string | undefined;
  index: string | undefined;
  /** False: it reads the whole index. */
  isBounded: boolean;
}

function readsOf(plan: PlanNode): PlanRead[] {
  const own = {
    node: plan['Node Type'],
    table: plan['Relation Name'],
    index: plan['Index Name'],
    isBounded: plan['Index Cond'] !== undefined,
  };
  return [own, ...(plan.Plans ?? []).flatMap(readsOf)];
}
