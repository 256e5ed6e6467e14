// Evaluations as the API shows them. Reads only. While it runs, what it has come to is counted from
// the rows of its runs; its results are stored with it at its end.
import { toDollars } from '../../../core/prices.ts';
import { listOf } from '../../../database/list-of.ts';
import { viewQuery } from '../../../database/literal-query.ts';
import { isoSql } from '../../../kernel/sessions/session-facts.ts';
import type { CandidateSummary, EvaluationView } from '../contract.ts';
import type { EvaluationSpec } from '../rules/runs.ts';

interface EvaluationFilter {
  status?: EvaluationView['status'] | undefined;
  datasetId?: string | undefined;
  datasetName?: string | undefined;
}

/** `b`: the batch of its phase, if that is paused. */
const STATUS_SQL = `case when b.id is not null then 'paused' else e.status end`;

/** SQL of what some of its runs cost; null: of one that asked a model it is not known. */
const costSql = (runs: string): string =>
  `case when bool_or(r.cost_micros is null and r.turn_id is not null) filter (where ${runs}) is not true
      then coalesce(sum(r.cost_micros) filter (where ${runs}), 0) end`;

export const evaluations = listOf<EvaluationFilter, EvaluationRow, EvaluationView>({
  name: 'list-evaluations',
  purpose: 'Read evaluations, newest first.',
  text: `select e.id, e.name, e.dataset_id as "datasetId", d.name as "datasetName", e.dataset_version as version, ${STATUS_SQL} as status,
  e.outcome, case when b.id is null then e.detail else coalesce(b.pause_detail, 'A person has paused it.') end as detail,
  e.spec, e.item_count as items, e.excluded, e.run_count as runs, e.judgement_count as judgements,
  coalesce((select carrier.max_cost_micros from holdfast.batches carrier where carrier.id = e.batch_id), e.max_cost_micros)::float8 as "maxCostMicros", e.results, e.batch_id as "batchId", e.judging_batch_id as "judgingBatchId",
  e.created_by as "createdBy", ${isoSql('e.created_at')} as "createdAt", ${isoSql('e.ended_at')} as "endedAt", (
    select json_build_object('ended', count(*) filter (where r.part = 0), 'judged', count(*) filter (where r.part > 0),
      'runMicros', ${costSql('r.part = 0')}, 'judgingMicros', ${costSql('r.part > 0')})
    from holdfast.evaluation_runs r where r.evaluation_id = e.id
  ) as made, (
    select count(*)::int from holdfast.dataset_items i where i.dataset_id = e.dataset_id and i.state = 'erased'
      and exists (select from holdfast.evaluation_runs r where r.evaluation_id = e.id and r.n = i.n)
  ) as erased
from holdfast.evaluations e join holdfast.datasets d on d.id = e.dataset_id
left join holdfast.batches b on b.status = 'paused'
  and b.id = case e.status when 'running' then e.batch_id when 'judging' then e.judging_batch_id end`,
  filters: {
    status: `${STATUS_SQL} = $status`,
    datasetId: 'e.dataset_id = $datasetId',
    datasetName: 'e.dataset_id = (select named.id from holdfast.datasets named where named.name = $datasetName)',
  },
  order: 'e.id desc',
  show: toEvaluation,
});

type EvaluationRow = Pick<
  EvaluationView,
  'id' | 'name' | 'status' | 'outcome' | 'detail' | 'createdBy' | 'createdAt' | 'endedAt'
> &
  Pick<EvaluationView['counts'], 'items' | 'excluded' | 'erased' | 'runs' | 'judgements'> & {
    datasetId: string;
    datasetName: string;
    version: number;
    spec: EvaluationSpec;
    maxCostMicros: number | null;
    /** Null: it has not ended. */
    results: CandidateSummary[] | null;
    batchId: string;
    judgingBatchId: string;
    made: { ended: number; judged: number; runMicros: number | null; judgingMicros: number | null };
  };

function toEvaluation(row: EvaluationRow): EvaluationView {
  const { spec, made, items, excluded, erased, runs, judgements, datasetId } = row;
  const { split, candidates, graders, primary, repeats, effect } = spec;
  const { ended, judged, runMicros, judgingMicros } = made;
  const isKnown = runMicros !== null && judgingMicros !== null;
  return {
    id: row.id,
    name: row.name,
    dataset: { id: datasetId, name: row.datasetName, version: row.version },
    split,
    status: row.status,
    outcome: row.outcome,
    detail: row.detail,
    candidates,
    graders,
    primary,
    repeats,
    effect,
    costCapUsd: toDollars(row.maxCostMicros),
    counts: { items, excluded, erased, runs, ended, judgements, judged },
    costUsd: isKnown ? toDollars(runMicros + judgingMicros) : null,
    judgingCostUsd: toDollars(judgingMicros),
    results: row.results ?? [],
    batchId: runs > 0 ? row.batchId : null,
    judgingBatchId: judgements > 0 ? row.judgingBatchId : null,
    createdBy: row.createdBy,
    createdAt: row.createdAt,
    endedAt: row.endedAt,
  };
}

/** What the results of an evaluation are shown by. */
export interface ComparedEvaluation {
  id: string;
  datasetId: string;
  spec: EvaluationSpec;
}

/** Null: there is none. */
export const readCompared = viewQuery({
  name: 'read-compared-evaluation',
  purpose: 'Read what an evaluation compares, for the list of its results.',
  text: `select id, dataset_id as "datasetId", spec from holdfast.evaluations where id = $1`,
  values: (id: string) => [id],
  answer: ([found]: ComparedEvaluation[]) => found ?? null,
});
