// Keeps the ids of events growing, on any server. An id holds the number of a transaction, and
// those of another server (after a restore, a move or a fail-over) may be lower than what the
// database already holds. So a stored offset is added to them, and each new connection checks,
// before its first statement, that it fits the server that it has reached.
//
// When it does not, the offset is raised above all ids in the database, and by a margin: between
// the backup and its restore the old server wrote events that are lost, and clients that have read
// them resume by ids that the new server must not use again.
import type { ClientBase } from 'pg';
import { literal } from './statement.ts';

/** SQL: the number that the events of this statement carry, before their position in it. */
export const EVENT_XID_SQL = `(pg_current_xact_id()::text::bigint + (select o.xid_offset from holdfast.event_ids o where o.singleton))`;

/**
 * SQL: the ids below it are final, because every transaction that could write one of them has
 * ended.
 */
export const EVENT_HORIZON_SQL = `(pg_snapshot_xmin(pg_current_snapshot())::text::bigint + (select o.xid_offset from holdfast.event_ids o where o.singleton)) << 16`;

/**
 * The type of the row that is left in place of the newest event that was deleted; see
 * src/features/retention/rounds.ts. It is no event: readers leave it out.
 */
export const TRIM_MARK = 'log.trimmed';

/**
 * Transactions that the old server may have made after the backup. 128 restores fit below 2^53, the
 * largest number that every client reads exactly.
 */
const MARGIN = 2 ** 30;

const NEWEST_SQL = `coalesce((select max(e.id) >> 16 from holdfast.events e), 0)`;

/** Transaction ids that were given out end below it, also while an older transaction still runs. */
const NEXT_XID_SQL = `pg_snapshot_xmax(pg_current_snapshot())::text::bigint`;
const OLDEST_XID_SQL = `pg_snapshot_xmin(pg_current_snapshot())::text::bigint`;

/** Used for a server whose identity cannot be read. */
const UNKNOWN = 'unknown';

// Users of one database may have different rights: a user without the right to read the server
// identity must not look like another server.
const isElsewhereSql = (server: string): string =>
  `o.server is not null and o.server <> ${server} and ${server} <> '${UNKNOWN}'`;
const IS_LAGGING_SQL = `${NEWEST_SQL} >= ${NEXT_XID_SQL} + o.xid_offset`;

export const EVENT_IDS = literal({
  name: 'event-ids',
  purpose: 'Read whether the ids of events fit the server of this connection.',
  text: `select o.server is not distinct from $1 or $1 = '${UNKNOWN}' as is_known,
      (${isElsewhereSql('$1')}) or ${IS_LAGGING_SQL} as is_wrong from holdfast.event_ids o where o.singleton`,
});

/**
 * Checks the server that this connection has reached; true when the offset had to be raised. Call
 * it before the first statement.
 */
export async function checkEventIds(client: ClientBase): Promise<boolean> {
  const server = await readServer(client);
  const { rows } = await client.query<{ is_known: boolean; is_wrong: boolean }>(EVENT_IDS.prepared([server]));
  const { is_known: isKnown = true, is_wrong: isWrong = false } = rows[0] ?? {};
  if (isKnown && !isWrong) return false;
  return await raiseOffset(client, server);
}

export const EVENT_IDS_RAISE = literal({
  name: 'event-ids-raise',
  purpose: 'Name the server, and raise the offset of event ids if it still has to be.',
  locking: 'The statements that write events are locked out before it.',
  text: `with judged as materialized (
  select (${isElsewhereSql('$1')}) or ${IS_LAGGING_SQL} as is_wrong from holdfast.event_ids o where o.singleton
)
update holdfast.event_ids o set server = case when o.server is null or $1 <> '${UNKNOWN}' then $1 else o.server end,
  xid_offset = case when judged.is_wrong then greatest(o.xid_offset, ${NEWEST_SQL} - ${OLDEST_XID_SQL}) + ${MARGIN} else o.xid_offset end
from judged where o.singleton
returning judged.is_wrong as is_raised`,
});

/**
 * Purpose: names the server, and raises the offset if it still has to be. Locking: waits for the
 * statements that write events and lets none begin, so that no event with the old offset becomes
 * visible below a horizon with the new one. Of several connections at the same time, one raises it.
 */
async function raiseOffset(client: ClientBase, server: string): Promise<boolean> {
  await client.query('begin');
  try {
    await client.query('lock table holdfast.events in share row exclusive mode');
    const { rows } = await client.query<{ is_raised: boolean }>(EVENT_IDS_RAISE.prepared([server]));
    await client.query('commit');
    return rows[0]?.is_raised === true;
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}

export const EVENT_IDS_SERVER = literal({
  name: 'event-ids-server',
  purpose: 'Read the identity and the history of the server.',
  text: `select format('%s/%s', s.system_identifier, c.timeline_id) as server
       from pg_control_system() s, pg_control_checkpoint() c`,
});

/**
 * The server's identity and history. A server that does not permit the function is known by its
 * transaction ids alone.
 */
async function readServer(client: ClientBase): Promise<string> {
  try {
    const { rows } = await client.query<{ server: string }>(EVENT_IDS_SERVER.prepared([]));
    return rows[0]?.server ?? UNKNOWN;
  } catch (error) {
    if ((error as { code?: unknown }).code === INSUFFICIENT_PRIVILEGE) return UNKNOWN;
    throw error;
  }
}

const INSUFFICIENT_PRIVILEGE = '42501';

// The transaction that holds back live events. Readers of the event log stop below the oldest
// transaction that has written something and still runs, in any database of the server, because it
// may write an event with a lower id than those that are there.

export interface OldestTransaction {
  /**
   * Of the server process; null: the transaction is prepared, or the session of another role that
   * may not be seen.
   */
  pid: number | null;
  database: string;
  /** The session's own name or kind; `prepared <name>` for a prepared transaction. */
  application: string;
  /** Since it began; null: this role may not see it. */
  ageMs: number | null;
}

/** SQL of when the oldest event was written that readers do not see yet; null: they see all. */
export const HELD_SINCE_SQL = `(select e.created_at from holdfast.events e where e.id >= (${EVENT_HORIZON_SQL}) order by e.id limit 1)`;

/**
 * SQL of the transaction with the lowest id, as a row of `pid, database, application, began_at`; no
 * row: none has written anything.
 */
export const OLDEST_TRANSACTION_SQL = `select pid, database, application, began_at from (
    select age(a.backend_xid) as age, a.pid, a.datname::text as database, coalesce(nullif(a.application_name, ''), a.backend_type, 'unnamed') as application,
      a.xact_start as began_at
    from pg_stat_activity a where a.backend_xid is not null and a.pid <> pg_backend_pid()
    union all select age(p.transaction), null, p.database::text, 'prepared ' || p.gid, p.prepared from pg_prepared_xacts p
  ) as writing order by age desc limit 1`;
