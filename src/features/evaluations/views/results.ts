// What came of each item of an evaluation, the worst first. The place of an item follows from the
// grades of all its runs, so a page ranks all items by their grades alone, and reads what its own
// items and runs say after that.
import { toDollars } from '../../../core/prices.ts';
import { cutHead } from '../../../core/text.ts';
import { listOf } from '../../../database/list-of.ts';
import { viewQuery } from '../../../database/literal-query.ts';
import type { Page, PageRequest, ViewDatabase } from '../../../database/page.ts';
import type { Tags } from '../../../core/input-options.ts';
import type { EvaluationResultView, EvaluationRunView } from '../contract.ts';
import { lowerIsBetter, nameGrader, unitOf } from '../rules/graders.ts';
import { callText, type CallFacts } from '../rules/match-calls.ts';
import type { EvaluationSpec } from '../rules/runs.ts';
import { meanOf, mostPassed } from '../rules/summarize.ts';
import type { ComparedEvaluation } from './evaluations.ts';

const INPUT_CHARS_MAX = 2_000;
const REPLY_CHARS_MAX = 20_000;
const CALL_CHARS_MAX = 300;
/** The runs of a page. */
const RUNS_MAX = 1_000;

/** `sign` of a change for the better, for the worse, and of none. */
const SIGNS = { better: 1, worse: -1, same: 0 } as const;

interface ResultFilter {
  /** The index of the candidate whose items are ranked. */
  candidate: number;
  tags?: Tags | undefined;
  change?: keyof typeof SIGNS | undefined;
}

/** A page of results. It has fewer items than asked for if these have many runs. */
export async function listResults(
  views: ViewDatabase,
  { id, datasetId, spec }: ComparedEvaluation,
  { candidate, tags, change }: ResultFilter,
  { after, limit }: PageRequest,
): Promise<Page<EvaluationResultView>> {
  const { candidates, repeats } = spec;
  const itemsMax = Math.max(1, Math.floor(RUNS_MAX / (candidates.length * repeats)));
  const filter = {
    evaluationId: id,
    datasetId,
    candidate,
    ...measureOf(spec),
    tags: tags === undefined ? undefined : JSON.stringify(tags),
    sign: change === undefined ? undefined : SIGNS[change],
  };
  const { items: places, next } = await rankedItems.list(views, filter, { after, limit: Math.min(limit, itemsMax) });
  const ns = places.map(({ n }) => n);
  const items = new Map((await readItems(views, datasetId, ns)).map((item) => [item.n, item]));
  const runs = Map.groupBy(await readRuns(views, id, ns), ({ n }) => n);
  return {
    items: places.flatMap((place) => {
      const item = items.get(place.n);
      return item === undefined ? [] : { ...item, ...place, candidates: toCandidates(spec, runs.get(place.n) ?? []) };
    }),
    next,
  };
}

/** By what the primary grader compares runs, as the statistics do. */
function measureOf({ graders, primary }: EvaluationSpec): { isShare: boolean; direction: 1 | -1 } {
  const grader = graders.find((one) => nameGrader(one) === primary);
  if (grader === undefined) throw new Error(`expected a grader with the name "${primary}" of the evaluation`);
  return { isShare: unitOf(grader) === 'share', direction: lowerIsBetter(grader) ? -1 : 1 };
}

interface RankedFilter {
  evaluationId: string;
  datasetId: string;
  candidate: number;
  isShare: boolean;
  direction: 1 | -1;
  /** JSON text. */
  tags?: string | undefined;
  sign?: number | undefined;
}

type Place = Pick<EvaluationResultView, 'n' | 'rank' | 'change'>;

// Means of equal items may differ in their last digits, by the order in which runs are read.
export const rankedItems = listOf<RankedFilter, Place>({
  name: 'list-evaluation-results',
  purpose:
    'Read the places of the items of an evaluation, the worst first: by the mean of a candidate minus that of the baseline, or by the mean of the baseline itself.',
  text: `select r.rank, r.n, r.change
from (
  select n, change::float8 as change, (row_number() over (order by change, n))::int as rank from (
    select n, coalesce(round(($direction::int * (avg(value) filter (where candidate = $candidate::int)
      - case when $candidate::int = 0 then 0 else avg(value) filter (where candidate = 0) end))::numeric, 9), 0) as change
    from (
      select n, candidate, case when $isShare::boolean then pass::int::float8 else score end as value
      from holdfast.evaluation_runs where evaluation_id = $evaluationId and part = 0 and candidate in (0, $candidate::int)
    ) as graded
    group by n
  ) as changed
) as r`,
  filters: {
    tags: `exists (select from holdfast.dataset_items i where i.dataset_id = $datasetId and i.n = r.n and i.tags @> $tags::jsonb)`,
    sign: 'sign(r.change) = $sign::int',
  },
  order: 'r.rank asc',
  key: 'rank',
});

type ItemWords = Omit<EvaluationResultView, keyof Place | 'candidates'>;

export const readItems = viewQuery({
  name: 'read-evaluated-items',
  purpose: 'Read what some items of a data set ask, and what was recorded.',
  text: `select n, left(input, ${INPUT_CHARS_MAX}) as input, expected, left(reply, ${REPLY_CHARS_MAX}) as recorded, turn_id as "turnId", tags
from holdfast.dataset_items where dataset_id = $1 and n = any ($2::int[])`,
  values: (datasetId: string, ns: readonly number[]) => [datasetId, ns],
  answer: (items: (ItemWords & { n: number })[]) =>
    items.map((item) => ({ ...item, expected: cutText(item.expected, REPLY_CHARS_MAX) })),
});

/** A text that is not too long; any other value as it is. */
function cutText(value: unknown, charsMax: number): unknown {
  return typeof value === 'string' ? cutHead(value, charsMax) : value;
}

type RunRow = Omit<EvaluationRunView, 'calls' | 'costUsd' | 'seconds'> & {
  n: number;
  candidate: number;
  calls: CallFacts[];
  costMicros: number | null;
  ms: number | null;
  pass: boolean | null;
  score: number | null;
};

export const readRuns = viewQuery({
  name: 'read-evaluation-runs',
  purpose: 'Read the runs of some items of an evaluation, in their order.',
  text: `select n, candidate, repeat, status, turn_id as "turnId", session_key as "sessionKey", left(reply, ${REPLY_CHARS_MAX}) as reply,
  divergence, calls, error, cost_micros::float8 as "costMicros", ms, grades, pass, score
from holdfast.evaluation_runs where evaluation_id = $1 and n = any ($2::int[]) and part = 0 order by n, candidate, repeat`,
  values: (evaluationId: string, ns: readonly number[]) => [evaluationId, ns],
  answer: (runs: RunRow[]) => runs,
});

function toCandidates({ candidates }: EvaluationSpec, runs: readonly RunRow[]): EvaluationResultView['candidates'] {
  return candidates.map(({ name }, index) => {
    const own = runs.filter(({ candidate }) => candidate === index);
    return {
      name,
      passed: mostPassed(own.map(({ pass }) => pass)),
      score: meanOf(own.map(({ score }) => score)),
      runs: own.map(toRun),
    };
  });
}

function toRun({
  calls,
  costMicros,
  ms,
  n: _n,
  candidate: _candidate,
  pass: _pass,
  score: _score,
  ...run
}: RunRow): EvaluationRunView {
  return {
    ...run,
    calls: calls.map((call) => cutHead(callText(call), CALL_CHARS_MAX)),
    costUsd: toDollars(costMicros),
    seconds: ms === null ? null : ms / 1000,
  };
}
