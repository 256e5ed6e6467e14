// Settles the runs and judgements of an evaluation whose items of the batch have ended: reads what
// their turns have done, grades the runs, and writes each once.
import { listToolUses } from '../../core/content.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { matchCalls } from '../tries/rules.ts';
import type { Grade, Grader } from './contract.ts';
import { gradeRun } from './grade-run.ts';
import { placeOfName } from './rules/carried.ts';
import { nameGrader, type GradedCase, type GradedRun } from './rules/graders.ts';
import { findDivergence } from './rules/match-calls.ts';
import type { EvaluationSpec } from './rules/runs.ts';
import type { OpenEvaluation } from './store/evaluations.ts';
import {
  readComparedCases,
  readEndedRuns,
  SETTLED_MAX,
  storeRuns,
  type ComparedCase,
  type EndedRow,
  type EndedRun,
} from './store/settle-runs.ts';

/**
 * Up to which item of a batch everything is settled, by batches, as far as this process knows: items
 * up to it are not read again. It only saves reading: without it, all items are read.
 */
export type SettledMarks = Map<string, number>;

/** Settles a portion. `settled`: how many; `hasMore`: more have ended. Null: there is no batch. */
export async function settlePortion(
  { database }: Pick<Service, 'database'>,
  { id, datasetId, spec }: OpenEvaluation,
  { batchId, marks }: { batchId: string; marks: SettledMarks },
): Promise<{ settled: number; hasMore: boolean } | null> {
  const read = await readEndedRuns(database, { evaluationId: id, batchId, afterN: marks.get(batchId) ?? 0 });
  if (read === null) return null;
  const { runs, endedTo } = read;
  const hasMore = runs.length >= SETTLED_MAX;
  if (runs.length > 0) {
    const ns = [...new Set(runs.map(({ name }) => placeOfName(name).n))];
    const cases = await readComparedCases(database, datasetId, ns);
    const rows = await Promise.all(runs.map((run) => settleRun(run, spec, cases)));
    await storeRuns(database, id, rows);
  }
  if (!hasMore) marks.set(batchId, endedTo);
  return { settled: runs.length, hasMore };
}

async function settleRun(
  ended: EndedRun,
  spec: EvaluationSpec,
  cases: ReadonlyMap<number, ComparedCase>,
): Promise<EndedRow> {
  const { name, sessionKey, turnId, error, costMicros, ms, reply, output } = ended;
  const place = placeOfName(name);
  const of = cases.get(place.n);
  const done = ended.answers.map((content) => ({
    calls: listToolUses(content).map(({ name: tool, input }) => ({ name: tool, input })),
  }));
  const steps = done.filter(({ calls }) => calls.length > 0);
  const calls = steps.flatMap((step) => step.calls);
  const row = { ...place, turnId, sessionKey, reply, output, calls, costMicros, ms };
  const hasAnswered = ended.status === 'answered' || ended.status === 'silent';
  const isRecorded = of !== undefined && !of.isErased && place.part === 0;
  if (!isRecorded) {
    const status = hasAnswered ? 'answered' : 'failed';
    return { ...row, status, error, divergence: null, grades: [], pass: null, score: null };
  }
  const status = hasAnswered ? statusOf(of, calls, spec) : 'failed';
  const divergence = findDivergence(of.steps, steps, status === 'answered');
  const run: GradedRun = { status, reply, output, calls, costMicros, ms };
  const grades = await gradeAll(spec.graders, run, toGradedCase(of));
  return { ...row, status, error, divergence, grades, ...gradeOfPrimary(spec, grades) };
}

/** A run has diverged when a call had no recorded result, and the evaluation has no text for it. */
function statusOf(
  of: ComparedCase,
  calls: EndedRow['calls'],
  { unknownCalls }: EvaluationSpec,
): 'answered' | 'diverged' {
  const results = matchCalls(
    of.steps.flatMap((step) => step.calls),
    [],
    calls,
  );
  return unknownCalls === 'diverge' && results.includes(null) ? 'diverged' : 'answered';
}

function toGradedCase({ expected, steps }: ComparedCase): GradedCase {
  return { expected, calls: steps.flatMap(({ calls }) => calls) };
}

/** Those of models are filled in when they have judged. */
async function gradeAll(graders: readonly Grader[], run: GradedRun, of: GradedCase): Promise<Grade[]> {
  return Promise.all(
    graders.map(async (grader) =>
      grader.type === 'model'
        ? { name: nameGrader(grader), pass: null, score: null, reason: 'The model has not judged yet.' }
        : gradeRun(grader, run, of),
    ),
  );
}

/** The columns of a run by which results are ordered. */
export function gradeOfPrimary({ primary }: EvaluationSpec, grades: readonly Grade[]): Pick<Grade, 'pass' | 'score'> {
  const { pass, score } = grades.find(({ name }) => name === primary) ?? { pass: null, score: null };
  return { pass, score };
}
