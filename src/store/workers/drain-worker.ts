// A person asks a process to drain. It notices at its next report.
import { WORKER_LOST_MS } from '../../core/waiting/worker-state.ts';
import type { Database } from '../database.ts';
import { keyedPart, keyValues, type KeyedRequest } from '../idempotency.ts';
import { sendQuery } from '../send-query.ts';
import { literal } from '../statement.ts';

export const DRAIN_WORKER = literal({
  name: 'drain-worker',
  purpose: 'Ask a process to drain, unless it is lost. Answers since when it is lost, if it is.',
  locking: 'The row of the process.',
  text: `with found as materialized (
  select w.id, w.seen_at, w.seen_at < clock_timestamp() - ${WORKER_LOST_MS} * interval '1 millisecond' as is_lost
  from holdfast.workers w where w.id = $1 for no key update
),
asked as (
  update holdfast.workers w set draining_at = coalesce(w.draining_at, clock_timestamp())
  from found where w.id = found.id and not found.is_lost
  returning w.id
),
${keyedPart(2, `select json_build_object('id', id) from asked`)}
select case when is_lost then seen_at end as "lostAt" from found`,
});

/** `asked`: also when it drains already. `lost`: it has not reported since then. */
export type WorkerDrain = { kind: 'asked' } | { kind: 'unknown' } | { kind: 'lost'; seenAt: Date };

/** Asks it. Rejects with a violated primary key when another request has stored the key. */
export async function drainWorker(
  database: Database,
  { id, idempotency }: { id: string; idempotency: KeyedRequest | null },
): Promise<WorkerDrain> {
  const query = DRAIN_WORKER.prepared([id, ...keyValues(idempotency)]);
  const [row] = await sendQuery<{ lostAt: Date | null }>(database.views, query);
  if (row === undefined) return { kind: 'unknown' };
  return row.lostAt === null ? { kind: 'asked' } : { kind: 'lost', seenAt: row.lostAt };
}
