// Settles the runs and judgements of an evaluation whose items of the batch have ended: reads what
// their turns have done, grades the runs, and writes each once.
import { setImmediate } from 'node:timers/promises';
import { listToolUses } from '../../core/content.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { matchCalls } from '../tries/rules.ts';
import type { Grade, Grader } from './contract.ts';
import { gradeRun } from './grade-run.ts';
import { nameGrader, type GradedCase, type RunToGrade } from './rules/graders.ts';
import { findDivergence } from './rules/match-calls.ts';
import { placeOfName, type EvaluationSpec } from './rules/runs.ts';
import { markSettled, type OpenEvaluation } from './store/evaluations.ts';
import {
  readComparedCase,
  readEndedRuns,
  storeRuns,
  type ComparedCase,
  type EndedRow,
  type EndedRun,
} from './store/settle-runs.ts';

/** What a turn is said to have failed with that was not opened with the request of its run. */
const RUN_BY_OLDER = {
  code: 'older_worker',
  message:
    'A worker of an older version has run it, which does not send stored requests. Upgrade all workers, then start the evaluation again.',
};

interface Settling {
  batchId: string;
  /** The most bytes of a portion; absent: the usual ones. */
  bytesMax?: number;
}

/** Settles a portion. Resolves with how many; 0: all that have ended are settled. Null: there is no batch. */
export async function settlePortion(
  { database }: Pick<Service, 'database'>,
  evaluation: OpenEvaluation,
  { batchId, bytesMax }: Settling,
): Promise<number | null> {
  const { id, datasetId, status } = evaluation;
  const read = await readEndedRuns(database, evaluation, batchId, bytesMax);
  if (read === null) return null;
  const { runs, ...marks } = read;
  if (runs.length === 0) {
    await markSettled(database, evaluation, marks);
    return 0;
  }
  const rows: EndedRow[] = [];
  // One item is in memory at a time, because the results of its calls are large at times.
  for (const [n, own] of Map.groupBy(runs, ({ name }) => placeOfName(name).n)) {
    const of = status === 'judging' ? null : await readComparedCase(database, datasetId, n);
    for (const run of own) {
      rows.push(await settleRun(run, evaluation, of));
      // Grading takes the thread of the process, which others need in between.
      await setImmediate();
    }
  }
  await storeRuns(database, id, rows);
  return runs.length;
}

/** `of`: null for a judgement, and if there is no such item. */
async function settleRun(
  { name, ...ended }: EndedRun,
  { spec }: OpenEvaluation,
  of: ComparedCase | null,
): Promise<EndedRow> {
  const place = placeOfName(name);
  const { turnId, sessionKey, error, costMicros, ms } = ended;
  const done = ended.answers.map((content) => ({
    calls: listToolUses(content).map(({ name: tool, input }) => ({ name: tool, input })),
  }));
  const steps = done.filter(({ calls }) => calls.length > 0);
  const calls = steps.flatMap((step) => step.calls);
  const hasAnswered = ended.status === 'answered' || ended.status === 'silent';
  const isByOlder = hasAnswered && !ended.isGiven && (place.part > 0 || of?.hasRequest === true);
  const hasResult = hasAnswered && !isByOlder;
  const row = {
    ...place,
    turnId,
    sessionKey,
    reply: isByOlder ? null : ended.reply,
    output: isByOlder ? null : ended.output,
    calls,
    error: isByOlder ? RUN_BY_OLDER : error,
    costMicros,
    ms,
  };
  if (of === null || of.isErased) {
    const status = hasResult ? 'answered' : 'failed';
    return { ...row, status, divergence: null, grades: [], pass: null, score: null };
  }
  const status = hasResult ? statusOf(of, done, spec) : 'failed';
  const divergence = findDivergence(of.steps, steps, status === 'answered');
  const grades = await gradeAll(spec.graders, { ...row, status }, toGradedCase(of));
  return { ...row, status, divergence, grades, ...gradeOfPrimary(spec, grades) };
}

/**
 * A run has diverged when it ended with a call that has no recorded result, and the evaluation has no
 * text for it. An earlier such call was not made, since its arguments were malformed.
 */
function statusOf(
  of: ComparedCase,
  done: readonly Pick<EndedRow, 'calls'>[],
  { unknownCalls }: EvaluationSpec,
): 'answered' | 'diverged' {
  const recorded = of.steps.flatMap(({ calls }) => calls);
  const earlier = done.slice(0, -1).flatMap(({ calls }) => calls);
  const found = matchCalls(recorded, earlier, done.at(-1)?.calls ?? []);
  return unknownCalls === 'diverge' && found.includes(null) ? 'diverged' : 'answered';
}

function toGradedCase({ expected, steps }: ComparedCase): GradedCase {
  return { expected, calls: steps.flatMap(({ calls }) => calls) };
}

/** Those of models are filled in when they have judged. */
async function gradeAll(graders: readonly Grader[], run: RunToGrade, of: GradedCase): Promise<Grade[]> {
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
