// Settles the runs and judgements of an evaluation whose items of the batch have ended: reads what
// their turns have done, grades the runs, and writes each once.
import { setImmediate } from 'node:timers/promises';
import { listToolUses } from '../../core/content.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { workOff } from '../../work-off.ts';
import { matchCalls } from '../tries/rules.ts';
import type { Grade, Grader } from './contract.ts';
import { gradeRun } from './grade-run.ts';
import { placeOfName } from './rules/carried.ts';
import { nameGrader, type GradedCase, type RunFacts } from './rules/graders.ts';
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
 * What this process has settled of a batch: everything up to an item, and when so many had ended. It
 * only saves reading: without it, all items are read.
 */
export type SettledMarks = Map<string, { endedTo: number; ended: number }>;

/** Settles all that has ended; resolves with how many. Null: there is no batch. */
export async function settleEnded(
  { database }: Pick<Service, 'database'>,
  { id, datasetId, spec, batchEnded }: OpenEvaluation,
  { batchId, marks, signal }: { batchId: string; marks: SettledMarks; signal: AbortSignal },
): Promise<number | null> {
  const mark = marks.get(batchId);
  if (batchEnded !== null && mark?.ended === batchEnded) return 0;
  let afterN = mark?.endedTo ?? 0;
  let settled: number | null = 0;
  let endedTo: number | undefined;
  await workOff(
    async () => {
      const read = await readEndedRuns(database, { evaluationId: id, batchId, afterN });
      if (read === null) {
        settled = null;
        return false;
      }
      const { runs } = read;
      // What ends below a later portion stands after this, and is read again.
      endedTo ??= read.endedTo;
      const cases = await readComparedCases(database, datasetId, listNumbers(runs));
      const rows: EndedRow[] = [];
      for (const run of runs) {
        rows.push(await settleRun(run, spec, cases));
        // Grading takes the thread of the process, which others need in between.
        await setImmediate();
      }
      await storeRuns(database, id, rows);
      settled = (settled ?? 0) + runs.length;
      afterN = runs.at(-1)?.item ?? afterN;
      if (runs.length >= SETTLED_MAX) return true;
      marks.set(batchId, { endedTo, ended: batchEnded ?? 0 });
      return false;
    },
    { signal },
  );
  return settled;
}

function listNumbers(runs: readonly EndedRun[]): number[] {
  return [...new Set(runs.map(({ name }) => placeOfName(name).n))];
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
  const run: RunFacts = { status, reply, output, calls, costMicros, ms };
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
async function gradeAll(graders: readonly Grader[], run: RunFacts, of: GradedCase): Promise<Grade[]> {
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
