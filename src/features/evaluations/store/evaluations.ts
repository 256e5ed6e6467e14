// Evaluations as rows: one is stored with its request, goes from phase to phase, and ends with its
// results. A change of phase is one statement that does nothing when another process was first.
import type { BatchOutcome, BatchStatus } from '../../batches/rules/batch.ts';
import { isUuid } from '../../../core/ids.ts';
import { keyedSql, type KeyedRequest } from '../../../database/idempotency.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import type { CandidateSummary } from '../contract.ts';
import type { EvaluationSpec } from '../rules/runs.ts';

/** The items of a data set that an evaluation asks. */
export interface Part {
  datasetId: string;
  version: number;
  split: EvaluationSpec['split'];
  tags?: Record<string, string>;
}

/** SQL of whether the item `i` is of a part, whose values are named by `partValues`. */
export const IN_PART_SQL = `i.dataset_id = $datasetId::uuid and i.version <= $version::int
  and ($split::text = 'all' or i.split = $split::text) and ($tags::jsonb is null or i.tags @> $tags::jsonb)`;

export function partValues({ datasetId, version, split, tags }: Part): object {
  return { datasetId, version, split, tags: tags === undefined ? null : JSON.stringify(tags) };
}

/** Null: there is no such data set. */
export const findDataset = literalQuery({
  name: 'find-evaluated-dataset',
  purpose: 'Read a data set by its name or its id.',
  pool: 'views',
  text: `select d.id, d.name, d.version from holdfast.datasets d where d.name = $name or d.id = $id::uuid`,
  values: (nameOrId: string) => ({ name: nameOrId, id: isUuid(nameOrId) ? nameOrId : null }),
  answer: ([found]: { id: string; name: string; version: number }[]) => found ?? null,
});

/** The items of a part that are asked of one agent. */
export interface PartOfAgent {
  agentId: string;
  ready: number;
  copying: number;
  excluded: number;
  /** Whether a ready item has recorded calls of tools. */
  hasCalls: boolean;
}

export const countPart = literalQuery({
  name: 'count-evaluated-items',
  purpose: 'Count the items of a part of a data set by their agents and states.',
  pool: 'views',
  text: `select i.agent_id as "agentId", count(*) filter (where i.state = 'ready')::int as ready,
  count(*) filter (where i.state = 'copying')::int as copying, count(*) filter (where i.state = 'excluded')::int as excluded,
  coalesce(bool_or(i.call_count > 0) filter (where i.state = 'ready'), false) as "hasCalls"
from holdfast.dataset_items i where ${IN_PART_SQL} group by i.agent_id order by i.agent_id`,
  values: partValues,
  answer: (rows: PartOfAgent[]) => rows,
});

export interface NewEvaluation {
  id: string;
  name: string | null;
  datasetId: string;
  version: number;
  spec: EvaluationSpec;
  maxCostMicros: number | null;
  batchId: string;
  judgingBatchId: string;
  createdBy: string;
}

/**
 * Stores it; false: its data set was deleted. Rejects with a violated primary key when another
 * request has stored the key; see `isKeyTaken`.
 */
export const createEvaluation = literalQuery({
  name: 'create-evaluation',
  purpose: 'Store an evaluation that is to be prepared. Answers a row when its data set is there.',
  locking: 'The data set, shared, so that it is not deleted meanwhile.',
  pool: 'views',
  text: `with of as materialized (select d.id from holdfast.datasets d where d.id = $datasetId::uuid for share),
made as (
  insert into holdfast.evaluations (id, name, dataset_id, dataset_version, spec, max_cost_micros, batch_id, judging_batch_id, created_by)
  select $id::uuid, $name::text, of.id, $version::int, $spec::json, $maxCostMicros::bigint, $batchId::uuid, $judgingBatchId::uuid, $createdBy::text
  from of
  on conflict (id) do nothing
  returning id
),
${keyedSql(`select json_build_object('id', id) from made`)}
select id from of`,
  values: (evaluation: NewEvaluation, idempotency: KeyedRequest | null) => ({
    ...evaluation,
    spec: JSON.stringify(evaluation.spec),
    ...idempotency,
  }),
  answer: (rows) => rows.length > 0,
});

/** An evaluation that has not ended, with the batch of its phase. */
export interface OpenEvaluation {
  id: string;
  name: string | null;
  status: 'preparing' | 'running' | 'judging';
  spec: EvaluationSpec;
  datasetId: string;
  version: number;
  /** The agent of its data set. */
  agentId: string;
  maxCostMicros: number | null;
  batchId: string;
  judgingBatchId: string;
  runCount: number;
  judgementCount: number;
  createdBy: string;
  /** Null: there is no batch. */
  batchStatus: BatchStatus | null;
  batchOutcome: BatchOutcome | null;
  /** How many items of it have ended. */
  batchEnded: number | null;
}

const ENDED_SQL = 'b.answered + b.silent + b.failed + b.cancelled + b.expired';

const WITH_BATCH_SQL = `holdfast.evaluations e
left join holdfast.batches b on b.id = case e.status when 'judging' then e.judging_batch_id else e.batch_id end`;

/**
 * SQL of whether a round may change an evaluation. One that is paused changes only when something
 * of it has ended that is not settled.
 */
export const HAS_OPEN_SQL = `exists (select from ${WITH_BATCH_SQL}
  where e.status <> 'ended' and (b.id is null or b.status <> 'paused'
    or b.in_flight > 0 or ${ENDED_SQL} > (
      select count(*) from holdfast.evaluation_runs r where r.evaluation_id = e.id and (r.part > 0) = (e.status = 'judging'))))`;

export const readOpenEvaluations = literalQuery({
  name: 'open-evaluations',
  purpose: 'Read the evaluations that have not ended, with the batch of their phase.',
  text: `select e.id, e.name, e.status, e.spec, e.dataset_id as "datasetId", e.dataset_version as version, coalesce(d.agent_id, 'main') as "agentId",
  e.max_cost_micros::float8 as "maxCostMicros", e.batch_id as "batchId", e.judging_batch_id as "judgingBatchId", e.run_count as "runCount",
  e.judgement_count as "judgementCount", e.created_by as "createdBy", b.status as "batchStatus", b.outcome as "batchOutcome",
  ${ENDED_SQL} as "batchEnded"
from ${WITH_BATCH_SQL} left join holdfast.datasets d on d.id = e.dataset_id
where e.status <> 'ended' order by e.id`,
  answer: (rows: OpenEvaluation[]) => rows,
});

/** False: its items are not all there, as when the upload was deleted meanwhile, or it is in another phase. */
export const beginRunning = literalQuery({
  name: 'begin-evaluation-runs',
  purpose: 'Let an evaluation run whose batch has an item for each of its runs. Answers a row when it did.',
  locking: 'The evaluation.',
  text: `update holdfast.evaluations e
set status = 'running', item_count = $itemCount, excluded = $excluded, run_count = uploaded.items
from (select count(*)::int as items, max(i.n) as last from holdfast.batch_items i where i.batch_id = $batchId) as uploaded
where e.id = $id and e.status = 'preparing' and uploaded.items = uploaded.last
returning e.id`,
  values: ({ id, batchId }: OpenEvaluation, counts: { itemCount: number; excluded: number }) => ({
    id,
    batchId,
    ...counts,
  }),
  answer: (rows) => rows.length > 0,
});

/** Resolves with how many there are; null: its items are not all there, or it is in another phase. */
export const beginJudging = literalQuery({
  name: 'begin-evaluation-judgements',
  purpose:
    'Let the judgements of an evaluation begin whose batch has an item for each, if there are any. Answers how many.',
  locking: 'The evaluation.',
  text: `update holdfast.evaluations e
set status = case when uploaded.items = 0 then e.status else 'judging' end, judgement_count = uploaded.items
from (select count(*)::int as items, coalesce(max(i.n), 0) as last from holdfast.batch_items i where i.batch_id = $judgingBatchId) as uploaded
where e.id = $id and e.status = 'running' and uploaded.items = uploaded.last
returning e.judgement_count as judgements`,
  values: ({ id, judgingBatchId }: OpenEvaluation) => ({ id, judgingBatchId }),
  answer: ([row]: { judgements: number }[]) => row?.judgements ?? null,
});

export interface EvaluationEnd {
  outcome: 'completed' | 'cancelled' | 'failed';
  detail: string | null;
  results: CandidateSummary[] | null;
}

/** Ends it, unless it is in another phase by now. */
export const endEvaluation = literalQuery({
  name: 'end-evaluation',
  purpose: 'End an evaluation with its results. Answers a row when it was in the phase that was judged.',
  locking: 'The evaluation.',
  text: `update holdfast.evaluations e set status = 'ended', outcome = $outcome, detail = $detail, results = $results::json, ended_at = clock_timestamp()
where e.id = $id and e.status = $status returning e.id`,
  values: ({ id, status }: OpenEvaluation, { outcome, detail, results }: EvaluationEnd) => ({
    id,
    status,
    outcome,
    detail,
    results: results === null ? null : JSON.stringify(results),
  }),
  answer: (rows) => rows.length > 0,
});
