// Events are for watching, not for keeping: those that are older than the retention go, oldest first, a bounded number at a time. So do
// notes of lost workers, which matter only until their turns are claimed.
import type { Database } from './database.ts';
import { literal } from './statement.ts';

/** Events deleted in one statement at most. */
const TRIMMED_MAX = 5_000;

export const TRIM_EVENTS = literal({
  name: 'trim-events',
  purpose:
    'Delete events that are older than the retention and in the roll-ups, a bounded number at a time, and old notes of lost workers.',
  locking: 'The events.',
  text: `with oldest as materialized (select e.id, e.created_at from holdfast.events e order by e.id limit ${TRIMMED_MAX}),
old_workers as (delete from holdfast.lost_workers w where w.noticed_at < clock_timestamp() - interval '1 day')
delete from holdfast.events e using oldest
where e.id = oldest.id and oldest.id <= (select c.after_id from holdfast.roll_up_cursor c where c.singleton)
  and oldest.created_at < clock_timestamp() - $1 * interval '1 millisecond'`,
});

/** Deletes events older than `retentionMs`; returns whether there may be more. Ids grow with time, so only the oldest are read. */
export async function trimEvents(database: Database, retentionMs: number): Promise<boolean> {
  const result = await database.hot.query(TRIM_EVENTS.prepared([retentionMs]));
  return result.rowCount === TRIMMED_MAX;
}
