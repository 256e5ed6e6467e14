// The statuses in the code are those that the database permits: each list is written in a constant of src/store/views and in a
// CHECK of a migration, and the two must not differ.
import { expect, test } from 'vitest';
import { STOP_KINDS } from '../../src/core/session-stop.ts';
import { COMPACTION_REASONS, COMPACTION_STATUSES } from '../../src/store/views/compactions.ts';
import { FIRE_STATUSES } from '../../src/store/views/crons.ts';
import { DEAD_LETTER_STATES } from '../../src/store/views/dead-letters.ts';
import { DELIVERY_STATUSES } from '../../src/store/views/deliveries.ts';
import { HEARTBEAT_RESULTS, HEARTBEAT_STATUSES } from '../../src/store/views/heartbeats.ts';
import { MESSAGE_STATUSES } from '../../src/store/views/message-filter.ts';
import { RUN_STATUSES } from '../../src/store/views/subagents.ts';
import { SYSTEM_EVENT_STATES } from '../../src/store/views/system-events.ts';
import { ENTRY_KINDS, ENTRY_STATES } from '../../src/store/views/transcript.ts';
import { TURN_STATUSES } from '../../src/store/views/turns.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { createStoreRig, type StoreRig } from './store-rig.ts';

const lists: [column: string, known: readonly string[]][] = [
  // The API shows a message with `deliverAt` as waiting.
  ['inbox.status', ['delayed', ...MESSAGE_STATUSES]],
  ['turns.status', TURN_STATUSES],
  ['entries.kind', ENTRY_KINDS],
  ['entries.state', ENTRY_STATES],
  ['system_events.state', SYSTEM_EVENT_STATES],
  ['deliveries.status', DELIVERY_STATUSES],
  ['subagent_runs.status', RUN_STATUSES],
  ['cron_fires.status', FIRE_STATUSES],
  ['dead_letters.state', DEAD_LETTER_STATES],
  ['heartbeats.status', HEARTBEAT_STATUSES],
  ['heartbeats.result', HEARTBEAT_RESULTS],
  ['compactions.status', COMPACTION_STATUSES],
  ['compactions.reason', COMPACTION_REASONS],
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
