// What came of runs and judgements: read from the ended items of their batch, and written once.
import type { BatchStatus } from '../../batches/rules/batch.ts';
import type { ContentBlock } from '../../../core/content.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { fillOutput, type TurnSummary } from '../../../kernel/views/turns.ts';
import { selectRecordsSql, toRecords, type SqlColumns } from '../../../database/statement.ts';
import type { Divergence, Grade } from '../contract.ts';
import type { RecordedStep } from '../rules/cases.ts';
import type { RunPlace } from '../rules/carried.ts';

/** Runs of one portion. */
export const SETTLED_MAX = 200;

/** A run whose item of the batch has ended, with what its turn has done. */
export interface EndedRun extends Pick<TurnSummary, 'reply' | 'output'> {
  /** The number of its item in the batch, and its name. */
  item: number;
  name: string;
  sessionKey: string;
  /** Of the item. */
  status: 'answered' | 'silent' | 'failed' | 'cancelled' | 'expired';
  turnId: string | null;
  error: object | null;
  costMicros: number | null;
  ms: number | null;
  /** The contents of its answers. */
  answers: ContentBlock[][];
}

export interface EndedRuns {
  runs: EndedRun[];
  /** All items up to this one have ended. */
  endedTo: number;
  batchStatus: BatchStatus;
}

// An item that was cancelled with its batch was not run, and is no run that failed. One without a
// name was emptied by an erasure.
export const readEndedRuns = literalQuery({
  name: 'ended-evaluation-runs',
  purpose:
    'Read runs whose items after a number have ended and of which nothing is written yet, and up to which item all have ended.',
  pool: 'views',
  text: `select b.status as "batchStatus", coalesce(least(
    (select min(i.n) from holdfast.batch_items i where i.batch_id = b.id and i.status = 'pending' and i.is_ready),
    (select min(i.n) from holdfast.batch_items i where i.batch_id = b.id and i.status = 'fed')) - 1, b.item_count) as "endedTo",
  coalesce((
    select json_agg(ended) from (
      select i.n as item, i.custom_id as name, i.session_key as "sessionKey", i.status, i.turn_id as "turnId", i.error, i.cost_micros::float8 as "costMicros",
        (extract(epoch from greatest(t.ended_at - t.started_at, interval '0')) * 1000)::float8 as ms, t.reply, t.view ->> 'formatSha256' as output,
        coalesce((
          select json_agg(e.content order by e.seq) from holdfast.entries e
          where e.session_id = t.session_id and e.seq >= t.prompt_seq and e.turn_id = t.id and e.kind = 'answer'), '[]') as answers
      from holdfast.batch_items i
      cross join lateral (select string_to_array(i.custom_id, '-')::int[] as at) as place
      left join holdfast.turns t on t.id = i.turn_id
      where i.batch_id = b.id and i.n > $afterN and i.status not in ('pending', 'fed') and i.custom_id is not null
        and (i.status <> 'cancelled' or b.status <> 'cancelling' and b.outcome is distinct from 'cancelled')
        and not exists (
          select from holdfast.evaluation_runs r
          where r.evaluation_id = $evaluationId and r.n = at[1] and r.candidate = at[2] and r.repeat = at[3] and r.part = at[4])
      order by i.n limit ${SETTLED_MAX}
    ) as ended
  ), '[]') as runs
from holdfast.batches b where b.id = $batchId`,
  values: (wanted: { evaluationId: string; batchId: string; afterN: number }) => wanted,
  answer([row]: EndedRuns[]) {
    for (const run of row?.runs ?? []) fillOutput(run);
    return row ?? null;
  },
});

/** An item of a data set as its runs are graded by it. */
export interface ComparedCase {
  n: number;
  isErased: boolean;
  input: string;
  /** Null: nothing. */
  expected: unknown;
  steps: RecordedStep[];
  reply: string | null;
}

export const readComparedCases = literalQuery({
  name: 'compared-evaluation-cases',
  purpose: 'Read items of a data set, to grade runs of them.',
  pool: 'views',
  text: `select i.n, i.state = 'erased' as "isErased", coalesce(i.input, '') as input, i.expected, i.steps, i.reply
from holdfast.dataset_items i where i.dataset_id = $1 and i.n = any ($2::int[])`,
  values: (datasetId: string, ns: readonly number[]) => [datasetId, ns],
  answer: (rows: ComparedCase[]) => new Map(rows.map((row) => [row.n, row])),
});

/** What came of a run, or of a judgement. */
export interface EndedRow extends RunPlace {
  status: 'answered' | 'diverged' | 'failed';
  turnId: string | null;
  sessionKey: string;
  reply: string | null;
  output: unknown;
  calls: { name: string; input: unknown }[];
  divergence: Divergence | null;
  error: object | null;
  costMicros: number | null;
  ms: number | null;
  grades: Grade[];
  /** Of the primary grader. */
  pass: boolean | null;
  score: number | null;
}

const json = (value: unknown): string | null => (value === null || value === undefined ? null : JSON.stringify(value));

const COLUMNS: SqlColumns<EndedRow> = {
  n: ['int', (row) => row.n],
  candidate: ['int', (row) => row.candidate],
  repeat: ['int', (row) => row.repeat],
  part: ['int', (row) => row.part],
  status: ['text', (row) => row.status],
  turn_id: ['uuid', (row) => row.turnId],
  session_key: ['text', (row) => row.sessionKey],
  reply: ['text', (row) => row.reply],
  output: ['json', (row) => json(row.output)],
  calls: ['json', (row) => json(row.calls)],
  divergence: ['json', (row) => json(row.divergence)],
  error: ['json', (row) => json(row.error)],
  cost_micros: ['bigint', (row) => row.costMicros],
  ms: ['float8', (row) => row.ms],
  grades: ['json', (row) => json(row.grades)],
  pass: ['boolean', (row) => row.pass],
  score: ['float8', (row) => row.score],
};

const NAMES = Object.keys(COLUMNS).join(', ');

// An erasure that comes between the reading and the writing empties the item, and finds no row.
export const storeRuns = literalQuery({
  name: 'store-evaluation-runs',
  purpose: 'Write what came of runs; a run of which something is written stays. Words of an erased item are left out.',
  locking: 'The items of the data set, shared, so that none is erased meanwhile.',
  text: `with given as materialized (${selectRecordsSql('$rows', COLUMNS)}),
of as materialized (
  select i.n from holdfast.evaluations e join holdfast.dataset_items i on i.dataset_id = e.dataset_id
  where e.id = $evaluationId and i.n in (select n from given) and i.state <> 'erased'
  order by i.n for share of i
)
insert into holdfast.evaluation_runs (evaluation_id, ${NAMES})
select $evaluationId, given.n, candidate, repeat, part, status, turn_id, session_key, case when is_kept then reply end, case when is_kept then output end,
  case when is_kept then calls else '[]' end, case when is_kept then divergence end, case when is_kept then error end, cost_micros, ms,
  case when is_kept then grades else '[]' end, pass, score
from given cross join lateral (select given.n in (select n from of) as is_kept) as marks
on conflict do nothing`,
  values: (evaluationId: string, rows: readonly EndedRow[]) => ({ evaluationId, rows: toRecords(rows, COLUMNS) }),
});
