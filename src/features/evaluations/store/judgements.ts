// The runs of an evaluation as its end reads them: page by page, with what judging models have said of
// them.
import { literalQuery } from '../../../database/literal-query.ts';
import { selectRecordsSql, toRecords, type SqlColumns } from '../../../database/statement.ts';
import type { Grade } from '../contract.ts';
import type { RunPlace } from '../rules/carried.ts';
import type { OpenEvaluation } from './evaluations.ts';

/** Where a page begins: after this run. */
export type RunKey = Pick<RunPlace, 'n' | 'candidate' | 'repeat'>;

export const BEFORE_ALL: RunKey = { n: 0, candidate: 0, repeat: 0 };

/** An evaluation, and the page of its runs that is wanted. */
export interface RunPage {
  of: Pick<OpenEvaluation, 'id' | 'datasetId'>;
  after: RunKey;
  limit: number;
}

const pageValues = ({ of, after, limit }: RunPage): object => ({
  id: of.id,
  datasetId: of.datasetId,
  n: after.n,
  candidate: after.candidate,
  repeat: after.repeat,
  limit,
});

/** SQL of a page of runs `r`, each with its item `i`. The page first: it is small, and the items are many. */
const withPageSql = (columns: string): string => `with page as materialized (
  select r.* from holdfast.evaluation_runs r
  where r.evaluation_id = $id and r.part = 0 and (r.n, r.candidate, r.repeat) > ($n, $candidate, $repeat)
  order by r.n, r.candidate, r.repeat limit $limit
)
select r.n, r.candidate, r.repeat, r.status, r.grades, coalesce(i.state, 'erased') = 'erased' as "isErased", ${columns}
from page r left join holdfast.dataset_items i on i.dataset_id = $datasetId and i.n = r.n
order by r.n, r.candidate, r.repeat`;

/** A run of a page. */
interface PagedRun extends RunKey {
  status: 'answered' | 'diverged' | 'failed';
  grades: Grade[];
  /** Its item was erased: it is not judged, and counts for nothing. */
  isErased: boolean;
}

/** A run with what is needed to ask for its judgements, or to read them. */
export interface JudgedRun extends PagedRun {
  agentId: string;
  reply: string | null;
  /** Null: it is of the baseline. */
  baseline: { status: 'answered' | 'diverged' | 'failed'; reply: string | null } | null;
  /** What its judgements have said, by their parts. */
  outputs: Record<string, unknown>;
}

export const readJudgedRuns = literalQuery({
  name: 'judged-evaluation-runs',
  purpose: 'Read runs of an evaluation in their order, each with that of the baseline and with its judgements.',
  pool: 'views',
  text: withPageSql(`i.agent_id as "agentId", r.reply,
  case when r.candidate > 0 then (
    select json_build_object('status', b.status, 'reply', b.reply) from holdfast.evaluation_runs b
    where b.evaluation_id = r.evaluation_id and b.n = r.n and b.candidate = 0 and b.repeat = r.repeat and b.part = 0) end as baseline,
  coalesce((
    select json_object_agg(j.part, j.output) from holdfast.evaluation_runs j
    where j.evaluation_id = r.evaluation_id and j.n = r.n and j.candidate = r.candidate and j.repeat = r.repeat and j.part > 0
  ), '{}') as outputs`),
  values: pageValues,
  answer: (rows: JudgedRun[]) => rows,
});

/** The grades of a run with those of judging models. */
export interface FilledRun extends RunKey {
  grades: Grade[];
  /** Of the primary grader. */
  pass: boolean | null;
  score: number | null;
}

const COLUMNS: SqlColumns<FilledRun> = {
  n: ['int', (row) => row.n],
  candidate: ['int', (row) => row.candidate],
  repeat: ['int', (row) => row.repeat],
  grades: ['json', (row) => JSON.stringify(row.grades)],
  pass: ['boolean', (row) => row.pass],
  score: ['float8', (row) => row.score],
};

export const fillGrades = literalQuery({
  name: 'fill-evaluation-grades',
  purpose: 'Write the grades of judging models to their runs; an erased item stays without.',
  locking: 'The items of the data set, shared, so that none is erased meanwhile, then the runs.',
  text: `with given as materialized (${selectRecordsSql('$rows', COLUMNS)}),
of as materialized (
  select i.n from holdfast.evaluations e join holdfast.dataset_items i on i.dataset_id = e.dataset_id
  where e.id = $id and i.n in (select n from given) and i.state <> 'erased'
  order by i.n for share of i
)
update holdfast.evaluation_runs r set grades = given.grades, pass = given.pass, score = given.score
from given join of on of.n = given.n
where r.evaluation_id = $id and r.n = given.n and r.candidate = given.candidate and r.repeat = given.repeat and r.part = 0`,
  values: (id: string, rows: readonly FilledRun[]) => ({ id, rows: toRecords(rows, COLUMNS) }),
});

/** A run as statistics count it. */
export interface CountedRun extends PagedRun {
  group: string;
  costMicros: number | null;
  ms: number | null;
}

export const readCountedRuns = literalQuery({
  name: 'counted-evaluation-runs',
  purpose: 'Read runs of an evaluation in their order with their grades.',
  pool: 'views',
  text: withPageSql(`i.group_key as "group", r.cost_micros::float8 as "costMicros", r.ms`),
  values: pageValues,
  answer: (rows: CountedRun[]) => rows,
});

/** What the runs have cost, in micro-dollars. */
export const readRunsCost = literalQuery({
  name: 'cost-of-evaluation-runs',
  purpose: 'Read what the runs of an evaluation have cost, as far as it is known.',
  pool: 'views',
  text: `select coalesce(sum(r.cost_micros), 0)::float8 as micros from holdfast.evaluation_runs r where r.evaluation_id = $1 and r.part = 0`,
  values: (id: string) => [id],
  answer: ([row]: { micros: number }[]) => row?.micros ?? 0,
});
