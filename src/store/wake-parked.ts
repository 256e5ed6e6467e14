// Wakes the turns that wait for a provider, when it answers again: they become due one after the other, those that have waited longest
// first, so that what has waited together does not come back together. Never before the time that the provider asked for.
import type { Database } from './database.ts';
import { LASTING_RETRY_MS } from './retry-passing-faults.ts';
import { sendQuery } from './send-query.ts';
import { literal } from './statement.ts';

/** Between two of them, in milliseconds. */
const SPACING_MS = 25;

/** The largest number of turns that are woken together; the others wait until they are due. */
const WOKEN_MAX = 5_000;

export const WAKE_PARKED = literal({
  name: 'wake-parked',
  purpose: 'Make the turns due that wait for a provider, one after the other, those that have waited longest first.',
  locking:
    'The doorbells, in the order of their wait. Other statements lock some of them in other orders: after a deadlock it is sent again.',
  text: `with woken as materialized (
  select t.session_id, t.park_not_before, row_number() over (order by t.park_since, t.id) as place
  from holdfast.turns t where t.ended_at is null and t.status = 'parked' and t.park_code = $1 and t.park_by = $2
  order by t.park_since, t.id limit ${WOKEN_MAX}
)
update holdfast.doorbells d
set woken_at = clock_timestamp(), due_at = least(d.due_at, greatest(woken.park_not_before, clock_timestamp() + woken.place * ${SPACING_MS} * interval '1 millisecond'))
from woken where d.session_id = woken.session_id and d.due_at > clock_timestamp() and d.woken_at is null`,
});

/** Makes the turns due that wait for `by` with this code. The reconciler rings for each when its time has come. */
export async function wakeParked(database: Database, { code, by }: { code: string; by: string }): Promise<void> {
  await sendQuery(database.hot, WAKE_PARKED.prepared([code, by]), LASTING_RETRY_MS);
}
