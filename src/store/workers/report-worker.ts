// The row of a process in the table of workers: written every few seconds while it runs, deleted when it has drained. A process that is
// killed leaves its row, and counts as lost when its reports have been missing for a while.
import { WORKER_LOST_MS } from '../../core/waiting/worker-state.ts';
import type { Database } from '../database.ts';
import { insertEventsSql } from '../events.ts';
import { isoSql } from '../session-facts.ts';
import { literal } from '../statement.ts';

/** How many turns a lane of a process runs at the same time, and how many it runs now. */
export interface LaneUse {
  slots: number;
  inUse: number;
}

/** What never changes while a process runs. */
export interface WorkerIdentity {
  id: string;
  /** The owner of its locks. */
  name: string;
  host: string;
  pid: number;
  roles: readonly string[];
  version: string;
}

/** The fields that a report adds. */
export interface WorkerReport {
  lanes: Record<string, LaneUse>;
  isQueueAway: boolean;
  isDraining: boolean;
  isReconcilerStalled: boolean;
}

/** SQL of an event about each row of `rows`, which has the columns of a process. */
const eventSql = (type: string, rows: string, more = ''): string =>
  `select null::uuid as session_id, null::uuid as turn_id, '${type}' as type,
    json_build_object('workerId', id, 'name', name, 'host', host, 'pid', pid, 'roles', roles, 'version', version${more}) as data,
    row_number() over (order by id) as n
    from ${rows}`;

export const REPORT_WORKER = literal({
  name: 'report-worker',
  purpose:
    'Write the row of this process, and mark those that are lost, unless this one was silent too. Answers whether it is to drain, and who was lost.',
  locking: 'The row of the process, then those of lost ones, skipping those that are locked.',
  text: `with before as materialized (
  select w.lost_at, w.seen_at > clock_timestamp() - ${WORKER_LOST_MS} * interval '1 millisecond' as is_fresh
  from holdfast.workers w where w.id = $1 for no key update
),
reported as (
  insert into holdfast.workers as w (id, name, host, pid, roles, version, lanes, queue_away_since, draining_at, clock_ahead_ms,
    reconciler_stalled_since)
  -- Selected from the row as it was, so that it is read and locked before it is written.
  select $1, $2, $3, $4, $5, $6, $7, case when $8 then clock_timestamp() end, case when $9 then clock_timestamp() end,
    $10::bigint - (extract(epoch from clock_timestamp()) * 1000)::bigint, case when $11 then clock_timestamp() end
  from (select count(*) from before) as looked
  on conflict (id) do update set seen_at = clock_timestamp(), lost_at = null, lanes = excluded.lanes,
    queue_away_since = case when $8 then coalesce(w.queue_away_since, clock_timestamp()) end,
    draining_at = coalesce(w.draining_at, excluded.draining_at), clock_ahead_ms = excluded.clock_ahead_ms,
    reconciler_stalled_since = case when $11 then coalesce(w.reconciler_stalled_since, clock_timestamp()) end
  returning id, name, host, pid, roles, version, draining_at
),
started as (
  select r.*, b.lost_at is not null as is_back from reported r left join before b on true
  where b.is_fresh is null or b.lost_at is not null
),
-- After an outage of the database all have been silent: each reports once before it looks at others.
silent as materialized (
  select w.id from before b join holdfast.workers w on b.is_fresh
  where w.lost_at is null and w.id <> $1 and w.seen_at < clock_timestamp() - ${WORKER_LOST_MS} * interval '1 millisecond'
  order by w.id for no key update of w skip locked
),
lost as (
  update holdfast.workers w set lost_at = clock_timestamp() from silent where w.id = silent.id
  returning w.id, w.name, w.host, w.pid, w.roles, w.version, w.seen_at
),
inserted_events as (
  ${insertEventsSql(
    eventSql('worker.started', 'started', `, 'isBack', is_back`),
    eventSql('worker.lost', 'lost', `, 'seenAt', ${isoSql('seen_at')}`),
  )}
)
select draining_at is not null as "isDraining", array(select name from lost) as lost from reported`,
});

/** Writes it. `lost`: the names of the processes whose loss it has noticed first. */
export async function reportWorker(
  database: Database,
  { id, name, host, pid, roles, version }: WorkerIdentity,
  { lanes, isQueueAway, isDraining, isReconcilerStalled }: WorkerReport,
): Promise<{ isDraining: boolean; lost: string[] }> {
  const process = [id, name, host, pid, [...roles], version];
  const values = [...process, JSON.stringify(lanes), isQueueAway, isDraining, Date.now(), isReconcilerStalled];
  const result = await database.hot.query<{ isDraining: boolean; lost: string[] }>(REPORT_WORKER.prepared(values));
  return result.rows[0] ?? { isDraining: false, lost: [] };
}

export const REMOVE_WORKER = literal({
  name: 'remove-worker',
  purpose: 'Delete the row of a process that has drained.',
  locking: 'The row of the process.',
  text: `with removed as (
  delete from holdfast.workers w where w.id = $1 returning w.id, w.name, w.host, w.pid, w.roles, w.version
)
${insertEventsSql(eventSql('worker.drained', 'removed'))}`,
});

/** Deletes the row of a process that ends. */
export async function removeWorker(database: Database, id: string): Promise<void> {
  await database.hot.query(REMOVE_WORKER.prepared([id]));
}

export const TRIM_WORKERS = literal({
  name: 'trim-workers',
  purpose: 'Delete the rows of processes that were lost longer ago than the retention.',
  locking: 'The rows.',
  text: `delete from holdfast.workers w
where w.lost_at is not null and w.seen_at < clock_timestamp() - greatest($1, ${WORKER_LOST_MS}) * interval '1 millisecond'`,
});

/** Deletes old rows. */
export async function trimWorkers(database: Database, retentionMs: number): Promise<void> {
  await database.hot.query(TRIM_WORKERS.prepared([retentionMs]));
}
