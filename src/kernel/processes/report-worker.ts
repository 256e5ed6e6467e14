// The row of a process in the table of workers: written every few seconds while it runs, deleted
// when it has drained. A process that is killed leaves its row, and counts as lost when its reports
// have been missing for a while. A person asks a process to drain by a mark in its row.
import { WORKER_LOST_MS } from '../rules/why.ts';
import { insertEventsSql } from '../events/events.ts';
import { literalQuery } from '../../database/literal-query.ts';
import { isoSql } from '../sessions/session-facts.ts';
import { keyedSql, type KeyedRequest } from '../../database/idempotency.ts';

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
  /** What a file call works on that does not end; null: there is none. */
  hangingPath?: string | null;
  /** Its resident memory, and the 99th percentile of the delay of its event loop. */
  memoryBytes?: number;
  loopDelayMs?: number;
  /** What its commands run in; null: it runs none, or does not know yet. */
  sandbox?: object | null;
}

/** SQL of an event about each row of `rows`, which has the columns of a process. */
const eventSql = (type: string, rows: string, more = ''): string =>
  `select null::uuid as session_id, null::uuid as turn_id, '${type}' as type,
    json_build_object('workerId', id, 'name', name, 'host', host, 'pid', pid, 'roles', roles, 'version', version${more}) as data,
    row_number() over (order by id) as n
    from ${rows}`;

export const reportWorker = literalQuery({
  name: 'report-worker',
  purpose:
    'Write the row of this process, and mark those that are lost, unless this one was silent too. Answers whether it is to drain, and the names of those whose loss it has noticed first.',
  locking: 'The row of the process, then those of lost ones, skipping those that are locked.',
  retryMs: 0,
  text: `with before as materialized (
  select w.lost_at, w.seen_at > clock_timestamp() - ${WORKER_LOST_MS} * interval '1 millisecond' as is_fresh
  from holdfast.workers w where w.id = $id for no key update
),
reported as (
  insert into holdfast.workers as w (id, name, host, pid, roles, version, lanes, queue_away_since, draining_at, clock_ahead_ms,
    reconciler_stalled_since, memory_bytes, loop_delay_ms, sandbox, files_hang_since, hanging_path)
  -- Selected from the row as it was, so that it is read and locked before it is written.
  select $id, $name, $host, $pid, $roles, $version, $lanes, case when $isQueueAway then clock_timestamp() end, case when $isDraining then clock_timestamp() end,
    $nowMs::bigint - (extract(epoch from clock_timestamp()) * 1000)::bigint, case when $isReconcilerStalled then clock_timestamp() end,
    $memoryBytes::bigint, $loopDelayMs::real, $sandbox::jsonb, case when $hangingPath::text is not null then clock_timestamp() end, $hangingPath
  from (select count(*) from before) as counted
  on conflict (id) do update set seen_at = clock_timestamp(), lost_at = null, lanes = excluded.lanes,
    memory_bytes = excluded.memory_bytes, loop_delay_ms = excluded.loop_delay_ms, sandbox = excluded.sandbox,
    queue_away_since = case when $isQueueAway then coalesce(w.queue_away_since, clock_timestamp()) end,
    draining_at = coalesce(w.draining_at, excluded.draining_at), clock_ahead_ms = excluded.clock_ahead_ms,
    reconciler_stalled_since = case when $isReconcilerStalled then coalesce(w.reconciler_stalled_since, clock_timestamp()) end,
    files_hang_since = case when excluded.hanging_path is not null then coalesce(w.files_hang_since, clock_timestamp()) end,
    hanging_path = excluded.hanging_path
  returning id, name, host, pid, roles, version, draining_at
),
started as (
  select r.*, b.lost_at is not null as is_back from reported r left join before b on true
  where b.is_fresh is null or b.lost_at is not null
),
-- After an outage of the database all have been silent: each reports once before it looks at others.
silent as materialized (
  select w.id from before b join holdfast.workers w on b.is_fresh
  where w.lost_at is null and w.id <> $id and w.seen_at < clock_timestamp() - ${WORKER_LOST_MS} * interval '1 millisecond'
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
  values: (process: WorkerIdentity, report: WorkerReport) => ({
    ...process,
    ...report,
    roles: [...process.roles],
    lanes: JSON.stringify(report.lanes),
    memoryBytes: report.memoryBytes ?? null,
    loopDelayMs: report.loopDelayMs ?? null,
    // PostgreSQL stores no half characters.
    hangingPath: report.hangingPath?.toWellFormed() ?? null,
    sandbox: report.sandbox == null ? null : JSON.stringify(report.sandbox),
    nowMs: Date.now(),
  }),
  answer: ([row]: { isDraining: boolean; lost: string[] }[]) => row ?? { isDraining: false, lost: [] },
});

export const removeWorker = literalQuery({
  name: 'remove-worker',
  purpose: 'Delete the row of a process that has drained.',
  locking: 'The row of the process.',
  retryMs: 0,
  text: `with removed as (
  delete from holdfast.workers w where w.id = $1 returning w.id, w.name, w.host, w.pid, w.roles, w.version
)
${insertEventsSql(eventSql('worker.drained', 'removed'))}`,
  values: (id: string) => [id],
});

export const trimWorkers = literalQuery({
  name: 'trim-workers',
  purpose: 'Delete the rows of processes that were lost longer ago than the retention, in milliseconds.',
  locking: 'The rows.',
  text: `delete from holdfast.workers w
where w.lost_at is not null and w.seen_at < clock_timestamp() - greatest($1, ${WORKER_LOST_MS}) * interval '1 millisecond'`,
  values: (retentionMs: number) => [retentionMs],
});

// A person asks a process to drain. It notices at its next report.

/** `asked`: also when it drains already. `lost`: it has not reported since then. */
export type WorkerDrain = { kind: 'asked' } | { kind: 'unknown' } | { kind: 'lost'; seenAt: Date };

export const drainWorker = literalQuery({
  name: 'drain-worker',
  purpose:
    'Ask a process to drain, unless it is lost. Answers since when it is lost, if it is. Rejects with a violated primary key when another request has stored the key.',
  locking: 'The row of the process.',
  pool: 'views',
  text: `with found as materialized (
  select w.id, w.seen_at, w.seen_at < clock_timestamp() - ${WORKER_LOST_MS} * interval '1 millisecond' as is_lost
  from holdfast.workers w where w.id = $id for no key update
),
asked as (
  update holdfast.workers w set draining_at = coalesce(w.draining_at, clock_timestamp())
  from found where w.id = found.id and not found.is_lost
  returning w.id
),
${keyedSql(`select json_build_object('id', id) from asked`)}
select case when is_lost then seen_at end as "lostAt" from found`,
  values: ({ id, idempotency }: { id: string; idempotency: KeyedRequest | null }) => ({ id, ...idempotency }),
  answer([row]: { lostAt: Date | null }[]): WorkerDrain {
    if (row === undefined) return { kind: 'unknown' };
    return row.lostAt === null ? { kind: 'asked' } : { kind: 'lost', seenAt: row.lostAt };
  },
});
