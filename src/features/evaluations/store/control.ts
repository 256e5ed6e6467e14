// What people do to an evaluation beside starting it: cancel it before it runs, and delete it. While
// it runs, the batch of its phase is controlled in its place (see `control-evaluation.ts`).
import { keyedSql, type KeyedRequest } from '../../../database/idempotency.ts';
import { literalQuery } from '../../../database/literal-query.ts';

/** What an evaluation does, as its row says, and the batch that carries it then. */
export interface PresentPhase {
  status: 'preparing' | 'running' | 'judging' | 'ended';
  batchId: string;
}

export const readPhase = literalQuery({
  name: 'read-evaluation-phase',
  purpose: 'Read the status of an evaluation, and the batch that carries its present phase.',
  pool: 'views',
  text: `select status, case status when 'judging' then judging_batch_id else batch_id end as "batchId"
from holdfast.evaluations where id = $1`,
  values: (id: string) => [id],
  answer: ([found]: PresentPhase[]) => found ?? null,
});

/** True if it is cancelled now; false: it runs, or has ended otherwise. */
export const cancelPreparing = literalQuery({
  name: 'cancel-preparing-evaluation',
  purpose: 'End an evaluation that has not begun to run. Answers a row if it is cancelled, also by an earlier request.',
  locking: 'The evaluation.',
  text: `with held as materialized (
  select id, status from holdfast.evaluations
  where id = $id and (status = 'preparing' or status = 'ended' and outcome = 'cancelled') for no key update
),
changed as (
  update holdfast.evaluations e set status = 'ended', outcome = 'cancelled', ended_at = clock_timestamp()
  from held where e.id = held.id and held.status = 'preparing'
),
${keyedSql(`select json_build_object('id', id) from held`)}
select id from held`,
  pool: 'views',
  values: (id: string, idempotency: KeyedRequest | null) => ({ id, ...idempotency }),
  answer: (rows) => rows.length > 0,
});

/** False: it has not ended. Null: there is none. */
export const deleteEvaluation = literalQuery({
  name: 'delete-evaluation',
  purpose:
    'Delete an ended evaluation with what came of its runs; its batches and sessions stay. Answers whether it had ended.',
  locking: 'The evaluation, then the rows of its runs.',
  text: `with found as materialized (select id, status from holdfast.evaluations where id = $1 for update),
deleted as (delete from holdfast.evaluations e using found where e.id = found.id and found.status = 'ended' returning e.id),
deleted_runs as (delete from holdfast.evaluation_runs r using deleted where r.evaluation_id = deleted.id)
select status = 'ended' as "hasEnded" from found`,
  pool: 'views',
  values: (id: string) => [id],
  answer: ([found]: { hasEnded: boolean }[]) => found?.hasEnded ?? null,
});
