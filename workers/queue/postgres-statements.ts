// The statements of the queue in PostgreSQL, on BullMQ's tables as its migration 11 left them. Where several rows are locked,
// they are locked in one order or skipped when they are locked, so that none of these waits for another in a circle.

const JOB_COLUMNS = `job.queue, job.id, job.seq, job.name, job.data::text as data, job.added_at_ms, job.attempts_started,
  job.stalled_count, job.lock_token as token`;

const NOW_MS = '(extract(epoch from clock_timestamp()) * 1000)::bigint';

const FINISH_CTE = `delete from bullmq.job using unnest($1::text[], $2::text[], $3::text[]) as finished (queue, id, token)
  where job.queue = finished.queue and job.id = finished.id and job.lock_token = finished.token`;

// Purpose: delete finished jobs, and add new ones.
// Input: queue, id and token of each finished job; then a queue, and ids, names and payloads of its new jobs; how many of them are stored
// as taken, and by which token; the length of the lock. A job that already exists, in any state, stays as it is. NOTIFY serialises the
// commits that send one; a statement with many jobs sends one, and none when nothing waits.
// Locking: by id, because another statement that adds the same id waits; their positions in the queue follow the order of the input.
export const ADD_SQL = `/* queue: add */
with finished as (${FINISH_CTE}),
input as materialized (
  select id, name, data, n <= $8 as is_taken, nextval('bullmq.job_seq') as seq
  from unnest($5::text[], $6::text[], $7::text[]) with ordinality as input (id, name, data, n)
),
added as (
  insert into bullmq.job as job (queue, id, seq, name, state, data, added_at_ms, lock_token, locked_until_ms, attempts_started)
  select $4, id, seq, name, case when is_taken then 'active' else 'waiting' end::bullmq.job_state, data::jsonb, ${NOW_MS},
    case when is_taken then $9 end, case when is_taken then ${NOW_MS} + $10::bigint end, is_taken::int
  from input order by id
  on conflict (queue, id) do nothing
  returning job.state
)
select pg_notify('bullmq_jobs', $4) from added where state = 'waiting' limit 1`;

// Purpose: delete finished jobs.
// Input: queue, id and token of each. A job that another worker holds by now stays.
export const FINISH_SQL = `/* queue: finish */ ${FINISH_CTE}`;

// Purpose: delete finished jobs, and take waiting ones in their order.
// Input: as above; then queue, number and token of each taker; the lock's length.
// Output: a row per job taken.
// Locking: skips jobs that others are taking.
export const EXCHANGE_SQL = `/* queue: exchange */
with finished as (${FINISH_CTE}),
picked as materialized (
  select taker.token, one.queue, one.id
  from unnest($4::text[], $5::int[], $6::text[]) as taker (queue, n, token)
  cross join lateral (
    select queue, id from bullmq.job where queue = taker.queue and state = 'waiting'
    order by priority, seq limit taker.n for update skip locked
  ) as one
)
update bullmq.job set state = 'active', lock_token = picked.token, locked_until_ms = ${NOW_MS} + $7::bigint,
  processed_at_ms = ${NOW_MS}, attempts_started = attempts_started + 1
from picked where job.queue = picked.queue and job.id = picked.id
returning ${JOB_COLUMNS}`;

// Purpose: give taken jobs back; they keep their place.
// Input: queue, token, ids.
export const GIVE_BACK_SQL = `/* queue: give back */
with given as (
  update bullmq.job set state = 'waiting', lock_token = null, locked_until_ms = null
  where queue = $1 and lock_token = $2 and id = any ($3::text[])
  returning 1
)
select pg_notify('bullmq_jobs', $1) from given limit 1`;

// Purpose: renew locks.
// Input: queue, token, ids, the lock's length.
// Locking: skips jobs that are just being deleted.
export const EXTEND_SQL = `/* queue: extend */
update bullmq.job set locked_until_ms = ${NOW_MS} + $4::bigint
where queue = $1 and id in (
  select id from bullmq.job where queue = $1 and lock_token = $2 and id = any ($3::text[]) for update skip locked
)`;

// Purpose: return the jobs of silent workers to the queue, by the database's clock.
// Input: queue.
// Output: their ids.
export const RECLAIM_SQL = `/* queue: reclaim */
with silent as materialized (
  select id from bullmq.job where queue = $1 and state = 'active' and locked_until_ms < ${NOW_MS} for update skip locked
),
given as (
  update bullmq.job set state = 'waiting', lock_token = null, locked_until_ms = null, stalled_count = stalled_count + 1
  from silent where job.queue = $1 and job.id = silent.id
  returning job.id
)
select id, pg_notify('bullmq_jobs', $1) from given`;
