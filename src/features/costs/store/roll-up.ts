// The consumer of the event log: adds events to the roll-ups, and moves its cursor past them in the
// same statement, so each event counts exactly once. Any number of processes may do it: one holds
// the cursor's row, and the others skip it. No event above the horizon is read, because a
// transaction that still runs may write one below it.
//
// Rows that are older than the roll-ups are counted once, by `countExisting`, in one snapshot that
// also sets the cursor.
import type { Database } from '../../../database/database.ts';
import { EVENT_HORIZON_SQL } from '../../../database/event-ids.ts';
import { idOfTimeSql } from '../../../database/page.ts';
import { transaction } from '../../../database/transaction.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { literal } from '../../../database/statement.ts';
import { waitingCountSql } from '../../../kernel/views/why-sql.ts';
import {
  countChangesSql,
  eventsSql,
  marksOfEventsSql,
  SUMMED_SQL,
  UNPRICED_CALLS,
  USAGE_KEYS,
  usageOfJournalSql,
  USAGE_SUMS,
  usageOfEventsSql,
  WAITING_MAX,
} from './usage-rows.ts';

/** Events that one statement adds. */
const EVENTS_MAX = 5_000;

/**
 * Sessions that one statement counts, and how old the id of a session must be: ids of clocks that
 * differ by less are in order.
 */
const SESSIONS_MAX = 50_000;
const SESSION_AGE = '10 minutes';

const KEYS = USAGE_KEYS.join(', ');
const SUMS = USAGE_SUMS.join(', ');

const addToBucketsSql = (source: string, sizes: string): string => `insert into holdfast.usage_buckets as bucket
    (size, starts_at, ${KEYS}, ${SUMS}, is_simulated)
  select size, date_trunc(size, at, 'UTC') as starts_at, ${KEYS}, ${SUMMED_SQL}, bool_or(is_simulated)
  from ${source} cross join unnest(array[${sizes}]) as size
  group by size, date_trunc(size, at, 'UTC'), ${KEYS}
  on conflict (size, starts_at, ${KEYS}) do update set
    ${USAGE_SUMS.map((name) => `${name} = bucket.${name} + excluded.${name}`).join(', ')},
    is_simulated = bucket.is_simulated or excluded.is_simulated`;

const addToCountsSql = (source: string): string => `insert into holdfast.row_counts as counted (subject, status, count)
  select subject, status, sum(change) from ${source} group by subject, status
  on conflict (subject, status) do update set count = counted.count + excluded.count`;

/** Resolves with whether there may be more. */
export const rollUp = literalQuery({
  name: 'roll-up',
  purpose:
    'Add the next events of the log to the roll-ups, and move the cursor past them. Answers how many events were read.',
  locking: 'The row of the cursor; a statement that finds it locked reads nothing.',
  text: `with held_cursor as materialized (
  select after_id from holdfast.roll_up_cursor where singleton and counted_at is not null for update skip locked
),
events_read as materialized (
  select max(id) as last_id, count(*)::int as count from (
    select e.id from holdfast.events e where e.id > (select after_id from held_cursor) and e.id < ${EVENT_HORIZON_SQL}
    order by e.id limit ${EVENTS_MAX}
  ) as next_events
),
new_events as materialized (
  select * from ${eventsSql('e.id > (select after_id from held_cursor) and e.id <= (select last_id from events_read)')} as events
),
happened as materialized (
  ${usageOfEventsSql('new_events')}
),
added_usage as (
  ${addToBucketsSql('happened', "'minute', 'hour'")}
),
added_counts as (
  ${addToCountsSql(`(${countChangesSql('new_events')}) as changes`)}
),
added_marks as (
  insert into holdfast.minute_marks as mark (starts_at, arrivals, longest_wait_ms)
  ${marksOfEventsSql('new_events')}
  on conflict (starts_at) do update set arrivals = mark.arrivals + excluded.arrivals,
    longest_wait_ms = greatest(mark.longest_wait_ms, excluded.longest_wait_ms)
),
moved_cursor as (
  update holdfast.roll_up_cursor c set after_id = events_read.last_id from events_read where c.singleton and events_read.last_id is not null
)
select count from events_read`,
  answer: ([row]: { count: number }[]) => row?.count === EVENTS_MAX,
});

/** SQL of whether there are events to add, or rows that are older than the roll-ups. */
export const HAS_NEW_EVENTS_SQL = `exists (select from holdfast.roll_up_cursor c where c.singleton and (c.counted_at is null
  or exists (select from holdfast.events e where e.id > c.after_id and e.id < ${EVENT_HORIZON_SQL})))`;

/** Resolves with whether there may be more. */
export const countSessions = literalQuery({
  name: 'count-sessions',
  purpose: 'Count the next sessions, in the order of their ids. Answers how many.',
  locking: 'The row of the cursor; a statement that finds it locked counts nothing.',
  text: `with held_cursor as materialized (
  select sessions_to from holdfast.roll_up_cursor where singleton for update skip locked
),
counted as materialized (
  select id from holdfast.sessions s
  where exists (select from held_cursor)
    and s.id > coalesce((select sessions_to from held_cursor), '00000000-0000-0000-0000-000000000000')
    and s.id < ${idOfTimeSql(`clock_timestamp() - interval '${SESSION_AGE}'`)}
  order by s.id limit ${SESSIONS_MAX}
),
moved_cursor as (
  update holdfast.roll_up_cursor c
  set sessions = c.sessions + (select count(*) from counted), sessions_to = (select id from counted order by id desc limit 1)
  where c.singleton and exists (select from counted)
)
select count(*)::int as count from counted`,
  answer: ([row]: { count: number }[]) => row?.count === SESSIONS_MAX,
});

const NOT_COUNTED = `select from holdfast.roll_up_cursor where singleton and counted_at is null`;
// Rows of the snapshot that belong to events above the horizon are already counted, and the log
// will be read again.
const READ_LATER = eventsSql(`e.id >= (select id from horizon)`);

export const COUNT_EXISTING = literal({
  name: 'count-existing',
  purpose: 'Count what is older than the roll-ups, once, and set the cursor to the horizon. Reads whole tables.',
  locking: 'The row of the cursor; a statement that finds it locked does nothing.',
  text: `with held_cursor as materialized (
  ${NOT_COUNTED} for update skip locked
),
horizon as materialized (
  select ${EVENT_HORIZON_SQL} as id
),
happened as materialized (
  select used.* from (${usageOfJournalSql('true')}
  union all ${usageOfEventsSql(READ_LATER, -1)}) as used where exists (select from held_cursor)
),
changes as materialized (
  select ended.* from (
    select 'messages' as subject, status, count(*)::int as change from holdfast.inbox where status not in ('delayed', 'waiting', 'claimed') group by status
    union all select 'turns', status, count(*)::int from holdfast.turns where ended_at is not null group by status
    union all select 'deliveries', status, count(*)::int from holdfast.deliveries where status = 'sent' group by status
    union all select '${UNPRICED_CALLS}', coalesce(c.model, 'anthropic/' || t.model), count(*)::int from holdfast.model_calls c
      join holdfast.turns t on t.id = c.turn_id where c.cost_micros is null group by 2
    union all select subject, status, -change from (${countChangesSql(READ_LATER)}) as later
  ) as ended where exists (select from held_cursor)
),
added_usage as (
  ${addToBucketsSql('happened', "'hour'")}
),
added_counts as (
  ${addToCountsSql('changes')}
)
update holdfast.roll_up_cursor c set counted_at = clock_timestamp(), after_id = horizon.id - 1
from horizon where c.singleton and exists (select from held_cursor)
returning c.counted_at`,
});

/**
 * Counts what is older than the roll-ups, unless that is done; it takes as long as the tables are
 * large. Resolves with whether it was done now.
 */
export async function countExisting(database: Database): Promise<boolean> {
  if (!(await isNotCounted(database))) return false;
  // The deadline of all other statements would end it. Not sent again after a fault; the next round
  // tries again.
  const counted = await transaction(
    database.views,
    (tx) => {
      tx.write({ name: 'take-long', text: `set local statement_timeout = ${COUNT_MS_MAX}`, values: [] });
      const query = Object.assign(COUNT_EXISTING.prepared([]), { query_timeout: COUNT_MS_MAX });
      return tx.query(query);
    },
    { retryMs: 0 },
  );
  return counted.length === 1;
}

export const isNotCounted = literalQuery({
  name: 'is-not-counted',
  purpose: 'Read whether rows that are older than the roll-ups wait to be counted.',
  text: `select 1 as waits from holdfast.roll_up_cursor where singleton and counted_at is null`,
  answer: (rows: object[]) => rows.length > 0,
});

/** The maximum time for counting the rows from before the roll-ups, in milliseconds. */
const COUNT_MS_MAX = 3_600_000;

export const sampleMinute = literalQuery({
  name: 'sample-minute',
  purpose:
    'Store how many messages wait and how many turns run, if they are more than those seen in this minute before.',
  locking: 'The row of the minute.',
  text: `insert into holdfast.minute_samples as sample (starts_at, waiting, running)
select date_trunc('minute', clock_timestamp(), 'UTC'),
  ${waitingCountSql(WAITING_MAX + 1)},
  (select count(*) from holdfast.turns where ended_at is null and status = 'running')
on conflict (starts_at) do update set waiting = greatest(sample.waiting, excluded.waiting), running = greatest(sample.running, excluded.running)`,
});

/** Minutes older than this are deleted. */
const MINUTES_KEPT = '48 hours';
const TRIMMED_MAX = 10_000;

export const TRIM_USAGE = literal({
  name: 'trim-usage',
  purpose: 'Delete the usage of minutes that are long past, a bounded number at a time. The hours have it, too.',
  locking: 'The buckets.',
  text: `with trimmed_marks as (
  delete from holdfast.minute_marks where starts_at < clock_timestamp() - interval '${MINUTES_KEPT}'
),
trimmed_samples as (
  delete from holdfast.minute_samples where starts_at < clock_timestamp() - interval '${MINUTES_KEPT}'
)
delete from holdfast.usage_buckets where ctid = any (array(
  select ctid from holdfast.usage_buckets where size = 'minute' and starts_at < clock_timestamp() - interval '${MINUTES_KEPT}' limit ${TRIMMED_MAX}
))`,
});

/** Deletes minutes that are long past; returns whether there may be more. */
export async function trimUsage(database: Database): Promise<boolean> {
  return (await database.hot.query(TRIM_USAGE.prepared([]))).rowCount === TRIMMED_MAX;
}
