// The statuses in the code are those that the database permits: each list is written in
// `src/contract` or `src/core`, and in a CHECK of a migration, and the two must not differ.
import { cronFire } from '../../src/features/crons/contract.ts';
import { heartbeat } from '../../src/features/heartbeats/contract.ts';
import { deadLetter } from '../../src/features/dead-letters/contract.ts';
import { RUN_STATUSES } from '../../src/features/subagents/contract.ts';
import { compaction, entry } from '../../src/contract/transcripts.ts';
import { systemEvent } from '../../src/contract/views.ts';
import { DELIVERY_STATUSES, MESSAGE_STATUSES, TURN_STATUSES, STOP_KINDS } from '../../src/core/statuses.ts';
import { expect, test } from 'vitest';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { createStoreRig, type StoreRig } from './store-rig.ts';

const lists: [column: string, known: readonly string[]][] = [
  // The API shows a message with `deliverAt` as waiting.
  ['inbox.status', ['delayed', ...MESSAGE_STATUSES]],
  ['turns.status', TURN_STATUSES],
  ['entries.kind', entry.shape.kind.options],
  ['entries.state', entry.shape.state.options],
  ['system_events.state', systemEvent.shape.state.options],
  ['deliveries.status', DELIVERY_STATUSES],
  ['subagent_runs.status', RUN_STATUSES],
  ['cron_fires.status', cronFire.shape.status.options],
  ['dead_letters.state', deadLetter.shape.state.options],
  ['heartbeats.status', heartbeat.shape.status.options],
  ['heartbeats.result', heartbeat.shape.result.unwrap().options],
  ['compactions.status', compaction.shape.status.options],
  ['compactions.reason', compaction.shape.reason.options],
  ['sessions.stop_kind', STOP_KINDS],
];

let rig: StoreRig;
shareAmongTests(async (onEnd) => {
  const made = await createStoreRig();
  rig = made;
  onEnd(() => made.drop());
});

/** The values that the CHECK of one column permits; null: there is no such list. */
async function permitted(table: string, column: string): Promise<string[] | null> {
  const rows = await rig.rows(
    `select pg_get_constraintdef(c.oid) as text from pg_constraint c
     join pg_attribute a on a.attrelid = c.conrelid and c.conkey = array[a.attnum]
     where c.contype = 'c' and c.conrelid = ('holdfast.' || $1)::regclass and a.attname = $2`,
    [table, column],
  );
  const list = rows.map(({ text }) => String(text)).find((text) => text.includes('ANY (ARRAY['));
  return list === undefined ? null : [...list.matchAll(/'([^']+)'::text/g)].map(([, value = '']) => value);
}

test.each(lists)('%s permits the values of the code, and no others', async (name, known) => {
  const [table = '', column = ''] = name.split('.');
  expect((await permitted(table, column))?.toSorted()).toEqual([...known].toSorted());
});
