// An erasure deletes from a list of tables; this compares the list with the existing tables.
import { expect, test } from 'vitest';
import { ERASED_OTHERWISE, ERASED_ROWS } from '../../src/features/erasure/store/erased-rows.ts';
import { createStoreRig } from './store-rig.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';

const holder = {} as { rig: Awaited<ReturnType<typeof createStoreRig>> };
shareAmongTests(async (onEnd) => {
  holder.rig = await createStoreRig();
  onEnd(() => holder.rig.drop());
});

/** Tables that refer to sessions, turns or messages and keep their rows, with the reason. */
const KEPT: Record<string, string> = {
  batch_items: 'emptied; the batch keeps its numbers',
  bulk_action_items: 'ids only, for 30 days',
  cron_fires: 'go with their cron; those of other crons have ids only',
};

test('an erasure covers every table that refers to a session', async () => {
  const { rows } = await holder.rig.database.views.query<{ table: string }>(
    `select distinct c.table_name as table from information_schema.columns c
      join information_schema.tables t using (table_schema, table_name)
      where c.table_schema = 'holdfast' and t.table_type = 'BASE TABLE'
        and c.column_name ~ '(^|_)(session|turn|message|child|parent|process|inbox|entry|delivery)_(id|key)$' order by 1`,
  );
  const known = new Set([...ERASED_ROWS.flatMap(({ tables }) => tables), ...ERASED_OTHERWISE, ...Object.keys(KEPT)]);
  expect(rows.map(({ table }) => table).filter((table) => !known.has(table))).toEqual([]);
});
