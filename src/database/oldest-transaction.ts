// The transaction that holds back live events. Readers of the event log stop below the oldest transaction that has written something and still
// runs, in any database of the server, because it may write an event with a lower id than those that are there.
import { EVENT_HORIZON_SQL } from './event-ids.ts';

export interface OldestTransaction {
  /** Of the server process; null: the transaction is prepared, or the session of another role that may not be seen. */
  pid: number | null;
  database: string;
  /** As the session names itself, or its kind; `prepared <name>` for a prepared transaction. */
  application: string;
  /** Since it began; null: this role may not see it. */
  ageMs: number | null;
}

/** SQL of when the oldest event was written that readers do not see yet; null: they see all. */
export const HELD_SINCE_SQL = `(select e.created_at from holdfast.events e where e.id >= (${EVENT_HORIZON_SQL}) order by e.id limit 1)`;

/** SQL of the transaction with the lowest id, as a row of `pid, database, application, began_at`; no row: none has written anything. */
export const OLDEST_TRANSACTION_SQL = `select pid, database, application, began_at from (
    select age(a.backend_xid) as age, a.pid, a.datname::text as database, coalesce(nullif(a.application_name, ''), a.backend_type, 'unnamed') as application,
      a.xact_start as began_at
    from pg_stat_activity a where a.backend_xid is not null and a.pid <> pg_backend_pid()
    union all select age(p.transaction), null, p.database::text, 'prepared ' || p.gid, p.prepared from pg_prepared_xacts p
  ) as writing order by age desc limit 1`;
