// Evaluations as rows: one is stored with its request, goes from phase to phase, and ends with its
// results. A change of phase is one statement that does nothing when another process was first.
import type { BatchOutcome, BatchStatus } from '../../batches/rules/batch.ts';
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

/** What of the batch of a phase is settled. */
export interface SettledMarks {
  /** How many items. */
  settled: number;
  /** All items up to this one have been fed. */
  settledTo: number;
  /** The items that have been fed and have not ended. */
  settlesLater: number[];
}

/** An evaluation that has not ended, with the batch of its phase. */
export interface OpenEvaluation extends Omit<SettledMarks, 'settled'> {
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
  createdBy: string;
  /** Null: there is no batch. */
  batchStatus: BatchStatus | null;
  batchOutcome: BatchOutcome | null;
}

/** SQL of how many items of the batch `b` have ended. */
export const ENDED_SQL = '(b.answered + b.silent + b.failed + b.cancelled + b.expired)';

const WITH_BATCH_SQL = `holdfast.evaluations e
left join holdfast.batches b on b.id = case e.status when 'judging' then e.judging_batch_id else e.batch_id end`;

/**
 * SQL of whether a round may change the evaluation `e` with its batch `b`: it is being prepared, an
 * item of its batch has ended that is not settled, or all of them have.
 */
const MAY_CHANGE_SQL = `e.status <> 'ended' and (b.id is null or b.status in ('uploading', 'ended') or ${ENDED_SQL} <> e.settled)`;

export const HAS_OPEN_SQL = `exists (select from ${WITH_BATCH_SQL} where ${MAY_CHANGE_SQL})`;

export const readOpenEvaluations = literalQuery({
  name: 'open-evaluations',
  purpose: 'Read the evaluations that a round may change, with the batch of their phase.',
  text: `select e.id, e.name, e.status, e.spec, e.dataset_id as "datasetId", e.dataset_version as version, coalesce(d.agent_id, 'main') as "agentId",
  e.max_cost_micros::float8 as "maxCostMicros", e.batch_id as "batchId", e.judging_batch_id as "judgingBatchId",
  e.created_by as "createdBy", e.settled_to as "settledTo", e.settles_later as "settlesLater", b.status as "batchStatus", b.outcome as "batchOutcome"
from ${WITH_BATCH_SQL} left join holdfast.datasets d on d.id = e.dataset_id
where ${MAY_CHANGE_SQL} order by e.id`,
  answer: (rows: OpenEvaluation[]) => rows,
});

/** A phase that carries items, and what is counted for people when it begins. */
export type Phase = { status: 'running'; itemCount: number; excluded: number } | { status: 'judging' };

/** False: it is in another phase. */
export const enterPhase = literalQuery({
  name: 'enter-evaluation-phase',
  purpose: 'Begin the next phase of an evaluation. Answers a row when it did.',
  locking: 'The evaluation.',
  text: `update holdfast.evaluations e set status = $to, settled = 0, settled_to = 0, settles_later = '{}',
  item_count = coalesce($itemCount, e.item_count), excluded = coalesce($excluded, e.excluded),
  run_count = coalesce($runCount, e.run_count), judgement_count = coalesce($judgementCount, e.judgement_count)
where e.id = $id and e.status = $from returning e.id`,
  values: ({ id, status }: OpenEvaluation, phase: Phase, carried: number) => ({
    id,
    from: status,
    to: phase.status,
    ...(phase.status === 'running' ? { ...phase, runCount: carried } : { judgementCount: carried }),
  }),
  answer: (rows) => rows.length > 0,
});

/** Notes what is settled; see `readEndedRuns`. */
export const markSettled = literalQuery({
  name: 'mark-settled-evaluation',
  purpose: 'Note which items of the batch of a phase are settled.',
  locking: 'The evaluation.',
  text: `update holdfast.evaluations e set settled = $settled, settled_to = $settledTo, settles_later = $settlesLater
where e.id = $id and e.status = $status and e.settled <> $settled`,
  values: ({ id, status }: OpenEvaluation, marks: SettledMarks) => ({ ...marks, id, status }),
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
