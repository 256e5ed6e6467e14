// The row of a process in the table of workers: written every few seconds while it runs, deleted when it has drained. A process that is
// killed leaves its row, and counts as lost when its reports have been missing for a while.
import { WORKER_LOST_MS } from '../../core/waiting/worker-state.ts';
import type { Database } from '../database.ts';
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

/** What a report adds. */
export interface WorkerReport {
  lanes: Record<string, LaneUse>;
  isQueueAway: boolean;
  isDraining: boolean;
}

export const REPORT_WORKER = literal({
  name: 'report-worker',
  purpose: 'Write the row of this process. Answers whether it is to drain.',
  locking: 'The row of the process.',
  text: `insert into holdfast.workers as w (id, name, host, pid, roles, version, lanes, queue_away_since, draining_at)
values ($1, $2, $3, $4, $5, $6, $7, case when $8 then clock_timestamp() end, case when $9 then clock_timestamp() end)
on conflict (id) do update set seen_at = clock_timestamp(), lanes = excluded.lanes,
  queue_away_since = case when $8 then coalesce(w.queue_away_since, clock_timestamp()) end,
  draining_at = coalesce(w.draining_at, excluded.draining_at)
returning draining_at is not null as "isDraining"`,
});

/** Writes it; true when the process is to drain. */
export async function reportWorker(
  database: Database,
  { id, name, host, pid, roles, version }: WorkerIdentity,
  { lanes, isQueueAway, isDraining }: WorkerReport,
): Promise<boolean> {
  const values = [id, name, host, pid, [...roles], version, JSON.stringify(lanes), isQueueAway, isDraining];
  const result = await database.hot.query<{ isDraining: boolean }>(REPORT_WORKER.prepared(values));
  return result.rows[0]?.isDraining === true;
}

export const REMOVE_WORKER = literal({
  name: 'remove-worker',
  purpose: 'Delete the row of a process that has drained.',
  locking: 'The row of the process.',
  text: 'delete from holdfast.workers w where w.id = $1',
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
where w.seen_at < clock_timestamp() - greatest($1, ${WORKER_LOST_MS}) * interval '1 millisecond'`,
});

/** Deletes old rows. */
export async function trimWorkers(database: Database, retentionMs: number): Promise<void> {
  await database.hot.query(TRIM_WORKERS.prepared([retentionMs]));
}
