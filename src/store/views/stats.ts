// Counts of sessions, messages, turns and deliveries, in one snapshot. Counts rows instead of keeping counters that could be
// wrong, so it is for people and scrapes, not for loops.
import { sql } from '../drizzle.ts';
import type { ViewDatabase } from './page.ts';

export interface StatsView {
  sessions: number;
  /** How many messages are in each status; a status that none has is absent. */
  messages: Record<string, number>;
  turns: Record<string, number>;
  deliveries: Record<string, number>;
  /** Age of the message that waits longest, in milliseconds; null when none waits. */
  oldestWaitMs: number | null;
  /** Sessions that a worker holds now. */
  liveLocks: number;
  /** Sessions per lane that have work and that no worker holds, without those whose turn is parked and not due. */
  queueDepth: Record<string, number>;
  systemEventsWaiting: number;
  deadLetters: number;
}

/** Counts everything; a lane without work has depth 0. */
export async function viewStats(db: ViewDatabase): Promise<StatsView> {
  const result = await db.execute<{ stats: StatsView }>(STATS);
  // A select without a table in `from` has one row.
  return result.rows[0]!.stats;
}

/** The database answers, and takes no writes: it is a standby, or was made read-only. */
class ReadOnlyDatabaseError extends Error {
  readonly code = 'read_only';
  constructor() {
    super('The database is read-only.');
    this.name = 'ReadOnlyDatabaseError';
  }
}

/** Resolves when the database answers and takes writes; throws `ReadOnlyDatabaseError` when it only answers. */
export async function pingDatabase(db: ViewDatabase): Promise<void> {
  const { rows } = await db.execute<{ is_read_only: boolean }>(
    sql`select current_setting('transaction_read_only')::boolean as is_read_only`,
  );
  if (rows[0]?.is_read_only === true) throw new ReadOnlyDatabaseError();
}

const counted = (table: string) =>
  sql.raw(`(select coalesce(json_object_agg(status, n), '{}') from
    (select status, count(*) as n from holdfast.${table} group by status) as counted)`);

const STATS = sql`select json_build_object(
  'sessions', (select count(*) from holdfast.sessions),
  'messages', ${counted('inbox')},
  'turns', ${counted('turns')},
  'deliveries', ${counted('deliveries')},
  'oldestWaitMs', (select round(greatest(extract(epoch from clock_timestamp() - received_at), 0) * 1000)
    from holdfast.inbox where status = 'waiting' order by received_at limit 1),
  'liveLocks', (select count(*) from holdfast.sessions where lease_expires_at > clock_timestamp() and owner is not null),
  'queueDepth', (select json_object_agg(lane, depth) from (
    select lane, count(waiting.session_id) as depth
    from unnest(array['main', 'subagent', 'cron', 'batch']) as lane
    left join (
      select d.session_id, d.lane as waiting_lane from holdfast.doorbells d join holdfast.sessions s on s.id = d.session_id
      left join holdfast.turns t on t.id = s.turn_id
      where (s.owner is null or s.lease_expires_at is null or s.lease_expires_at <= clock_timestamp())
        and (t.status is distinct from 'parked' or d.due_at <= clock_timestamp())
    ) as waiting on waiting_lane = lane
    group by lane) as depths),
  'systemEventsWaiting', (select count(*) from holdfast.system_events where state = 'queued'),
  'deadLetters', (select count(*) from holdfast.dead_letters where state = 'open')
) as stats`;

/** How many messages wait in all sessions together: read from the sessions that have work, so it costs what those are. */
export async function countWaiting(db: ViewDatabase): Promise<number> {
  const result = await db.execute<{ count: number }>(sql`
    select coalesce(sum(s.waiting), 0)::int as count
    from holdfast.doorbells d join holdfast.sessions s on s.id = d.session_id`);
  return result.rows[0]?.count ?? 0;
}
