// A person asks a process to drain. It notices at its next report.
import { WORKER_LOST_MS } from '../rules/worker-state.ts';
import { keyedSql, type KeyedRequest } from '../../database/idempotency.ts';
import { literalQuery } from '../../database/literal-query.ts';

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
