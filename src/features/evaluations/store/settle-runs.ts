// What came of runs and judgements: read from the ended items of their batch, and written once.
import type { ContentBlock } from '../../../core/content.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { fillOutput, type TurnSummary } from '../../../kernel/views/turns.ts';
import { selectRecordsSql, toRecords, type SqlColumns } from '../../../database/statement.ts';
import type { Divergence, Grade } from '../contract.ts';
import type { RecordedStep } from '../rules/cases.ts';
import type { RunPlace } from '../rules/runs.ts';
import { ENDED_SQL, type OpenEvaluation, type SettledMarks } from './evaluations.ts';

/** Runs of one portion, and the most bytes of what they said; one run has more at times. */
const PORTION_RUNS = 200;
const PORTION_BYTES = 8_000_000;

/** A run whose item of the batch has ended, with what its turn has done. */
export interface EndedRun extends Pick<TurnSummary, 'reply' | 'output'> {
  name: string;
  sessionKey: string;
  /** Of the item. */
  status: 'answered' | 'silent' | 'failed' | 'cancelled' | 'expired';
  turnId: string | null;
  error: object | null;
  costMicros: number | null;
  ms: number | null;
  /** Whether its turn was opened with a request that was given to it. */
  isGiven: boolean;
  /** The contents of its answers. */
  answers: ContentBlock[][];
}

export interface EndedRuns extends SettledMarks {
  /** In the order of their items. */
  runs: EndedRun[];
}

// An item that was cancelled with its batch was not run, and is no run that failed. One without a
// name was emptied by an erasure. Items are fed in their order, so none after the first one that
// waits is read; and before the marks, only those that had not ended then. The answers are read
// whole, because a single field of JSON cannot be read if another one has a NUL.
export const readEndedRuns = literalQuery({
  name: 'ended-evaluation-runs',
  purpose:
    'Read runs whose items have ended since the last marks and of which nothing is written yet, with the marks once they are written.',
  pool: 'views',
  text: `select ${ENDED_SQL} as settled, at.fed as "settledTo", array(
    select i.n from holdfast.batch_items i where i.batch_id = b.id and i.status = 'fed') as "settlesLater", coalesce((
    select json_agg(shown order by n) from (
      select n, name, "sessionKey", status, "turnId", error, "costMicros", ms, reply, output, "isGiven", coalesce((
        select json_agg(e.content order by e.seq) from holdfast.entries e
        where e.session_id = sized.session_id and e.seq >= sized.prompt_seq and e.turn_id = sized."turnId" and e.kind = 'answer'), '[]') as answers
      from (
        select found.*, sum(bytes) over (order by n) - bytes as before
        from (
          select i.n, i.custom_id as name, i.session_key as "sessionKey", i.status, i.turn_id as "turnId", i.error, i.cost_micros::float8 as "costMicros",
            case b.via when 'live' then (extract(epoch from greatest(t.ended_at - t.started_at, interval '0')) * 1000)::float8 end as ms,
            t.reply, t.view ->> 'formatSha256' as output, t.view -> 'given' is not null as "isGiven", t.session_id, t.prompt_seq,
            coalesce(octet_length(t.reply), 0) + coalesce((
              select sum(octet_length(e.content::text)) from holdfast.entries e
              where e.session_id = t.session_id and e.seq >= t.prompt_seq and e.turn_id = t.id and e.kind = 'answer'), 0) as bytes
          from (
            select since.n from holdfast.batch_items since where since.batch_id = b.id and since.n > $settledTo and since.n <= at.fed
            union select unnest($settlesLater::int[])
          ) as since join holdfast.batch_items i on i.batch_id = b.id and i.n = since.n
          cross join lateral (select string_to_array(i.custom_id, '-')::int[] as place) as named
          left join holdfast.turns t on t.id = i.turn_id
          where i.status not in ('pending', 'fed') and i.custom_id is not null
            and (i.status <> 'cancelled' or b.status <> 'cancelling' and b.outcome is distinct from 'cancelled')
            and not exists (
              select from holdfast.evaluation_runs r where r.evaluation_id = $evaluationId
                and r.n = place[1] and r.candidate = place[2] and r.repeat = place[3] and r.part = place[4])
          order by i.n limit ${PORTION_RUNS}
        ) as found
      ) as sized
      where before < $bytesMax::int
    ) as shown
  ), '[]') as runs
from holdfast.batches b cross join lateral (
  select coalesce(
    (select min(i.n) - 1 from holdfast.batch_items i where i.batch_id = b.id and i.status = 'pending' and i.is_ready),
    (select max(i.n) from holdfast.batch_items i where i.batch_id = b.id), 0) as fed
) as at
where b.id = $batchId`,
  values: (
    { id, settledTo, settlesLater }: Pick<OpenEvaluation, 'id' | 'settledTo' | 'settlesLater'>,
    batchId: string,
    bytesMax: number | undefined,
  ) => ({ evaluationId: id, batchId, settledTo, settlesLater, bytesMax: bytesMax ?? PORTION_BYTES }),
  answer([row]: EndedRuns[]) {
    for (const run of row?.runs ?? []) fillOutput(run);
    return row ?? null;
  },
});

/** An item of a data set as its runs are graded by it. */
export interface ComparedCase {
  isErased: boolean;
  /** Whether it has a stored request, which its runs send. */
  hasRequest: boolean;
  /** Null: nothing. */
  expected: unknown;
  /** With the results of calls, which are large at times. */
  steps: RecordedStep[];
}

/** Null: there is none. */
export const readComparedCase = literalQuery({
  name: 'compared-evaluation-case',
  purpose: 'Read an item of a data set, to grade runs of it.',
  pool: 'views',
  text: `select i.state = 'erased' as "isErased", i.request is not null as "hasRequest", i.expected, i.steps
from holdfast.dataset_items i where i.dataset_id = $1 and i.n = $2`,
  values: (datasetId: string, n: number) => [datasetId, n],
  answer: ([found]: ComparedCase[]) => found ?? null,
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

/**
 * SQL of the rows of `$rows` as `given`, and the numbers of those of their items that are not erased
 * as `kept`: an erasure between the reading and the writing finds no words to erase.
 */
export const givenRunsSql = (
  columns: SqlColumns<never>,
): string => `given as materialized (${selectRecordsSql('$rows', columns)}),
kept as materialized (
  select i.n from holdfast.evaluations e join holdfast.dataset_items i on i.dataset_id = e.dataset_id
  where e.id = $evaluationId and i.n in (select n from given) and i.state <> 'erased'
  order by i.n for share of i
)`;

export const storeRuns = literalQuery({
  name: 'store-evaluation-runs',
  purpose: 'Write what came of runs; a run of which something is written stays. Words of an erased item are left out.',
  locking: 'The items of the data set, shared, so that none is erased meanwhile.',
  text: `with ${givenRunsSql(COLUMNS)}
insert into holdfast.evaluation_runs (evaluation_id, ${NAMES})
select $evaluationId, given.n, candidate, repeat, part, status, turn_id, session_key, case when is_kept then reply end, case when is_kept then output end,
  case when is_kept then calls else '[]' end, case when is_kept then divergence end, case when is_kept then error end, cost_micros, ms,
  case when is_kept then grades else '[]' end, pass, score
from given cross join lateral (select given.n in (select n from kept) as is_kept) as marks
on conflict do nothing`,
  values: (evaluationId: string, rows: readonly EndedRow[]) => ({ evaluationId, rows: toRecords(rows, COLUMNS) }),
});
