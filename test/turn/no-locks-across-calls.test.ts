// Goal: while a model answers or a tool runs, the turn holds nothing in the database (G9). Method:
// in the middle of each call of a turn, check every connection and every lock of the database, and
// write to the row of the session, which a lock would block.
import { expect, test } from 'vitest';
import type { Tool } from '../../src/tools/tool.ts';
import { readInputs } from '../rows/inputs.ts';
import { lockEveryRow } from '../rows/whole-tables.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

let rig: TurnRig;
const found: { during: string; held: Record<string, unknown>[] }[] = [];

/**
 * What other connections hold now: transactions that wait for their client, advisory locks, and
 * locks on rows.
 */
async function check(during: string): Promise<void> {
  const held = await rig.rows(
    `select 'transaction ' || state as what, left(query, 80) as by from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and state like 'idle in transaction%'
     union all
     select 'lock ' || locktype, mode from pg_locks
     where pid <> pg_backend_pid() and (locktype in ('advisory', 'tuple', 'transactionid')
       and (database is null or database = (select oid from pg_database where datname = current_database())))
       and pid in (select pid from pg_stat_activity where datname = current_database() and state <> 'active')`,
  );
  found.push({ during, held });
  await lockEveryRow(rig, 'sessions', 'updated_at');
}

const lookup: Tool = {
  spec: { name: 'lookup', description: 'Looks.', input_schema: { type: 'object' } },
  summary: 'looks',
  isIdempotent: false,
  async run() {
    await check('a tool call');
    return { content: 'seen', isError: false };
  },
};

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  const made = await createTurnRig(database.url, { tools: [lookup] });
  onEnd(() => made.close());
  rig = made;
});

test('no transaction and no lock is held while a model answers or a tool runs (G9)', async () => {
  const worker = rig.worker();
  const { client: model } = worker.context.models;
  const ask = model.ask.bind(model);
  model.ask = async (...asked) => {
    const answer = await ask(...asked);
    await check('a model call');
    return answer;
  };
  const message = await rig.send('free', '[[tool: lookup {}]] [[reply: done]]');
  expect(await worker.run('free')).toMatchObject({ kind: 'ended' });
  worker.stop();
  expect(found).toEqual(['a model call', 'a tool call', 'a model call'].map((during) => ({ during, held: [] })));
  expect(await readInputs(rig, { id: message }, 'status')).toEqual([{ status: 'answered' }]);
});
