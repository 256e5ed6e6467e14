// The runs of an evaluation as its end reads them: page by page, with what judging models have said of
// them.
import { literalQuery } from '../../../database/literal-query.ts';
import { toRecords, type SqlColumns } from '../../../database/statement.ts';
import type { Grade } from '../contract.ts';
import type { RunPlace } from '../rules/runs.ts';
import { givenRunsSql } from './settle-runs.ts';

/** Where a page begins: after this run. */
export type RunKey = Pick<RunPlace, 'n' | 'candidate' | 'repeat'>;

export const BEFORE_ALL: RunKey = { n: 0, candidate: 0, repeat: 0 };

/** A run with what is needed to ask for its judgements, or to read them. */
export interface JudgedRun extends RunKey {
  agentId: string;
  /** What its item asks; null: it is erased. */
  input: string | null;
  /** What the line says that was expected; null: nothing, or it was copied from a turn. */
  expected: unknown;
  /** The reply of the turn that it was copied from; null: none. */
  recorded: string | null;
  status: RunStatus;
  reply: string | null;
  /** Of the run of the baseline; null: there is none, or it is of the baseline. */
  baselineStatus: RunStatus | null;
  baselineReply: string | null;
  grades: Grade[];
  /** What its judgements have said, by their parts. */
  outputs: Record<string, unknown>;
}

type RunStatus = 'answered' | 'diverged' | 'failed';

/** SQL of a page of runs as `r` with their items as `i`. It is read by the primary key alone, and then joined. */
const pageSql = (limit: number): string => `(
      select * from holdfast.evaluation_runs where evaluation_id = $id and part = 0 and (n, candidate, repeat) > ($n, $candidate, $repeat)
      order by n, candidate, repeat limit ${limit}
    ) as r join holdfast.evaluations e on e.id = $id join holdfast.dataset_items i on i.dataset_id = e.dataset_id and i.n = r.n`;

/** Runs of one page, and the most characters of their texts; one run has more at times. */
const PAGE_RUNS = 200;
const PAGE_CHARS = 8_000_000;

// What is expected of an item that was copied from a turn is what the turn replied, whether that was
// good or not.
export const readJudgedRuns = literalQuery({
  name: 'judged-evaluation-runs',
  purpose: 'Read runs of an evaluation in their order, each with its item, that of the baseline and its judgements.',
  pool: 'views',
  text: `select n, candidate, repeat, "agentId", input, expected, recorded, status, reply, "baselineStatus", "baselineReply", grades, coalesce((
    select json_object_agg(j.part, j.output) filter (where j.part > 0) from holdfast.evaluation_runs j
    where j.evaluation_id = $id and j.n = sized.n and j.candidate = sized.candidate and j.repeat = sized.repeat
  ), '{}') as outputs
from (
  select page.*, sum(chars) over (order by n, candidate, repeat) - chars as before
  from (
    select r.n, r.candidate, r.repeat, i.agent_id as "agentId", case when i.state <> 'erased' then i.input end as input,
      case when i.turn_id is null then i.expected end as expected, case when i.turn_id is not null then i.reply end as recorded,
      r.status, r.reply, b.status as "baselineStatus", b.reply as "baselineReply", r.grades,
      length(concat(i.input, i.expected::text, i.reply, r.reply, b.reply)) as chars
    from ${pageSql(PAGE_RUNS)}
    left join holdfast.evaluation_runs b
      on r.candidate > 0 and b.evaluation_id = $id and b.n = r.n and b.candidate = 0 and b.repeat = r.repeat and b.part = 0
  ) as page
) as sized
where before < ${PAGE_CHARS} order by n, candidate, repeat`,
  values: (id: string, after: RunKey) => ({ ...after, id }),
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
  text: `with ${givenRunsSql(COLUMNS)}
update holdfast.evaluation_runs r set grades = given.grades, pass = given.pass, score = given.score
from given join kept on kept.n = given.n
where r.evaluation_id = $evaluationId and r.n = given.n and r.candidate = given.candidate and r.repeat = given.repeat and r.part = 0`,
  values: (evaluationId: string, rows: readonly FilledRun[]) => ({ evaluationId, rows: toRecords(rows, COLUMNS) }),
});

/** A run as statistics count it. */
export interface CountedRun extends RunKey {
  group: string;
  /** Of its item. */
  isErased: boolean;
  status: RunStatus;
  grades: Grade[];
  costMicros: number | null;
  ms: number | null;
}

const COUNTED_RUNS = 1_000;

export const readCountedRuns = literalQuery({
  name: 'counted-evaluation-runs',
  purpose: 'Read runs of an evaluation in their order with their grades.',
  pool: 'views',
  text: `select r.n, r.candidate, r.repeat, i.group_key as "group", i.state = 'erased' as "isErased", r.status, r.grades, r.cost_micros::float8 as "costMicros", r.ms
from ${pageSql(COUNTED_RUNS)} order by r.n, r.candidate, r.repeat`,
  values: (id: string, after: RunKey) => ({ ...after, id }),
  answer: (rows: CountedRun[]) => rows,
});

/** What the runs have cost, and the cap of their batch, which a person may have changed, in micro-dollars. */
export const readRunsCost = literalQuery({
  name: 'cost-of-evaluation-runs',
  purpose: 'Read what the runs of an evaluation have cost, as far as it is known, and their cap as it is now.',
  pool: 'views',
  text: `select b.max_cost_micros::float8 as "maxCostMicros", coalesce((
  select sum(r.cost_micros) from holdfast.evaluation_runs r where r.evaluation_id = $1 and r.part = 0), 0)::float8 as micros
from holdfast.batches b where b.id = $2`,
  values: (id: string, batchId: string) => [id, batchId],
  answer: ([row]: { maxCostMicros: number | null; micros: number }[]) => row ?? { maxCostMicros: null, micros: 0 },
});
