// Counts of sessions, messages, turns and deliveries, in one snapshot. They are exact, and cost the
// same however many rows there are.
import type { StatsView } from '../contract.ts';
import { viewQuery } from '../../../database/literal-query.ts';
import { countChangesSql, UNREAD_EVENTS } from '../../costs/store/usage-rows.ts';
import { PARKED_MESSAGES_SQL } from '../../../kernel/views/why-sql.ts';
import type { ViewDatabase } from '../../../database/page.ts';

/** Counts everything; a lane without work has depth 0. */
export async function viewStats(db: ViewDatabase): Promise<StatsView> {
  return (await readRolledUpStats(db)) ?? readStatsByRows(db);
}

// Rows that have come to an end are in the roll-ups, and the latest in the events after their
// cursor: in one snapshot, both together are exact at any time. Rows that have not ended are found
// by partial indexes. Each look-up in a scalar query is one by an index; a join could read a whole
// table into a hash table.
const ENDED_SQL = `select subject, status, sum(count)::bigint as count from (
    select subject, status, count from holdfast.row_counts
    union all select subject, status, change from (${countChangesSql(UNREAD_EVENTS)}) as changes
  ) as ended group by subject, status having sum(count) <> 0`;

const byStatusSql = (counts: string): string =>
  `(select coalesce(json_object_agg(status, count), '{}') from (${counts}) as counts where count > 0)`;

/** What both ways of counting have in common. */
const LIVE_FIELDS = `'oldestWaitMs', (select round(greatest(extract(epoch from clock_timestamp() - min(received_at)), 0) * 1000)
    from (select received_at from holdfast.inbox where status = 'waiting' union all select i.received_at from ${PARKED_MESSAGES_SQL}) as waiting),
  'liveLocks', (select count(*) from doors where is_held),
  'queueDepth', (select json_object_agg(lane, (select count(*) from doors where doors.lane = lanes.lane and not is_held and is_parked is not true))
    from unnest(array['main', 'subagent', 'cron', 'batch']) as lanes (lane)),
  'systemEventsWaiting', (select count(*) from holdfast.system_events where state = 'queued'),
  'deadLetters', (select count(*) from holdfast.dead_letters where state = 'open'),
  'approvals', (select count(*) from holdfast.approvals where status = 'open' and expires_at > clock_timestamp())`;

/**
 * The CTE of the sessions that are held or have work, with more columns of a doorbell `d`. Every
 * such session has a row of doorbells, unless its turn is parked until something happens.
 */
export const doorsSql = (columns = ''): string => `doors as materialized (
  select d.lane, (
    select s.owner is not null and coalesce(s.lease_expires_at > clock_timestamp(), false) from holdfast.sessions s where s.id = d.session_id
  ) as is_held, d.due_at > clock_timestamp() and (
    select t.status = 'parked' from holdfast.sessions s join holdfast.turns t on t.id = s.turn_id where s.id = d.session_id
  ) as is_parked${columns} from holdfast.doorbells d
)`;

export const readRolledUpStats = viewQuery({
  name: 'stats',
  purpose:
    'Count sessions, messages, turns, deliveries and what waits, without reading a table that grows. No row before `count-existing`.',
  text: `with ${doorsSql()},
ended as materialized (
  ${ENDED_SQL}
),
open_turns as materialized (
  select t.status, (select count(*) from holdfast.inbox i where i.turn_id = t.id and i.status = 'claimed') as claimed
  from holdfast.turns t where t.ended_at is null
)
select json_build_object(
  'sessions', cursor.sessions + (
    select count(*) from holdfast.sessions s where s.id > coalesce(cursor.sessions_to, '00000000-0000-0000-0000-000000000000')),
  'messages', ${byStatusSql(`select status, count from ended where subject = 'messages'
    union all select 'waiting', (select count(*) from holdfast.inbox where status = 'waiting')
      + (select coalesce(sum(claimed), 0)::bigint from open_turns where status = 'parked')
    union all select 'claimed', sum(claimed)::bigint from open_turns where status <> 'parked'`)},
  'turns', ${byStatusSql(`select status, count from ended where subject = 'turns'
    union all select status, count(*) from open_turns group by status`)},
  'deliveries', ${byStatusSql(`select status, count from ended where subject = 'deliveries'
    union all select status, count(*) from holdfast.deliveries
      where status in ('pending', 'sending', 'unknown', 'failed', 'expired', 'discarded') group by status`)},
  ${LIVE_FIELDS}
) as stats
from holdfast.roll_up_cursor cursor where cursor.singleton and cursor.counted_at is not null`,
  answer: ([row]: { stats: StatsView }[]) => row?.stats,
});

const countedSql = (table: string): string =>
  byStatusSql(`select status, count(*) as count from holdfast.${table} group by status`);

export const readStatsByRows = viewQuery({
  name: 'stats-by-rows',
  purpose: 'The same from the tables themselves, for the time between an upgrade and `count-existing`.',
  text: `with ${doorsSql()}
select json_build_object('sessions', (select count(*) from holdfast.sessions), 'messages', ${byStatusSql(`select status, count(*) as count from (
    select case when i.status = 'claimed' and (select t.status from holdfast.turns t where t.id = i.turn_id) = 'parked' then 'waiting' else i.status end as status
    from holdfast.inbox i) as shown group by status`)},
  'turns', ${countedSql('turns')}, 'deliveries', ${countedSql('deliveries')},
  ${LIVE_FIELDS}
) as stats`,
  // A select without a table in `from` has one row.
  answer: ([row]: { stats: StatsView }[]) => row!.stats,
});
