// What people do to an evaluation beside starting it: cancel it before it runs, and delete it. While
// it runs, the batch of its phase is controlled in its place (see `control-evaluation.ts`).
import { keyedSql, type KeyedRequest } from '../../../database/idempotency.ts';
import { literalQuery } from '../../../database/literal-query.ts';

/** What an evaluation does, as its row says, and the batch that carries it then. */
export interface Phase {
  status: 'preparing' | 'running' | 'judging' | 'ended';
  outcome: string | null;
  batchId: string;
}

export const readPhase = literalQuery({
  name: 'read-evaluation-phase',
  purpose: 'Read the status of an evaluation, and the batch that carries its present phase.',
  pool: 'views',
  text: `select status, outcome, case status when 'judging' then judging_batch_id else batch_id end as "batchId"
from holdfast.evaluations where id = $1`,
  values: (id: string) => [id],
  answer: ([found]: Phase[]) => found ?? null,
});

/** True if it did; false: the evaluation is no longer preparing. */
export const cancelPreparing = literalQuery({
  name: 'cancel-preparing-evaluation',
  purpose: 'End an evaluation that has not begun to run. Answers a row when it did.',
  locking: 'The evaluation.',
  text: `with ended as (
  update holdfast.evaluations set status = 'ended', outcome = 'cancelled', ended_at = clock_timestamp()
  where id = $id and status = 'preparing'
  returning id
),
${keyedSql(`select json_build_object('id', id) from ended`)}
select id from ended`,
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
