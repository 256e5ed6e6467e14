// The judgements of an evaluation: an item of a second batch for each question to a judging model, and
// the grades that follow from its answers.
import type { Service } from '../../kernel/use-cases/service.ts';
import type { Grade } from './contract.ts';
import { inputOfJudgement, listJudging, type RunPlace } from './rules/carried.ts';
import { buildJudgements, gradeUnasked, readJudgement } from './rules/judge.ts';
import { gradeOfPrimary } from './settle-runs.ts';
import type { OpenEvaluation } from './store/evaluations.ts';
import { BEFORE_ALL, fillGrades, readJudgedRuns, type JudgedRun, type RunKey } from './store/judgements.ts';
import { readComparedCases, type ComparedCase } from './store/settle-runs.ts';
import { addPortion, type CarriedItem, type UploadStep } from './store/upload-items.ts';

/** Runs of one page. */
const PAGE_RUNS = 200;
/** At most so many questions belong to a run: two for each of 20 graders. */
const PAGE_ASKED = 12;

/** Stores the next items of the batch of judgements. */
export function addJudgements(
  { database }: Pick<Service, 'database'>,
  evaluation: OpenEvaluation,
): Promise<UploadStep> {
  return addPortion(database, evaluation, evaluation.judgingBatchId, async (last) => {
    let after: RunKey = last ?? BEFORE_ALL;
    // Runs that are not judged make no item, so a page may have none.
    for (;;) {
      const runs = await readJudgedRuns(database, { of: evaluation, after, limit: PAGE_ASKED });
      const next = runs.at(-1);
      if (next === undefined) return [];
      const cases = await readCases({ database }, evaluation, runs);
      const items = runs.flatMap((run) => listJudgements(run, cases.get(run.n), evaluation));
      if (items.length > 0) return items;
      after = next;
    }
  });
}

/** The questions about a run. */
function listJudgements(run: JudgedRun, of: ComparedCase | undefined, { id, spec }: OpenEvaluation): CarriedItem[] {
  if (of === undefined || run.isErased) return [];
  const { n, candidate, repeat, agentId } = run;
  const judged = {
    input: of.input,
    expected: of.expected,
    recorded: of.reply,
    reply: run.reply,
    baseline: run.baseline?.reply ?? null,
  };
  return listJudging(spec.graders)
    .filter(({ grader }) => gradeUnasked(grader, statusesOf(run)) === null)
    .flatMap(({ grader, parts }) =>
      buildJudgements(grader, judged).map((request, order) => {
        // There is a part for each question.
        const place: RunPlace = { n, candidate, repeat, part: parts[order]! };
        return { place, agentId, body: inputOfJudgement(request, grader.model, { id, ...place }) };
      }),
    );
}

function statusesOf({ status, baseline }: JudgedRun) {
  return { run: status, baseline: baseline?.status ?? null };
}

function readCases({ database }: Pick<Service, 'database'>, { datasetId }: OpenEvaluation, runs: readonly JudgedRun[]) {
  return readComparedCases(database, datasetId, [...new Set(runs.map(({ n }) => n))]);
}

/** Writes the grades that judging models have given to all runs; done twice, it writes the same. */
export async function fillJudgedGrades(
  { database }: Pick<Service, 'database'>,
  evaluation: OpenEvaluation,
): Promise<void> {
  const { id, spec } = evaluation;
  const judging = listJudging(spec.graders);
  if (judging.length === 0) return;
  let after: RunKey | undefined = BEFORE_ALL;
  while (after !== undefined) {
    const runs: JudgedRun[] = await readJudgedRuns(database, { of: evaluation, after, limit: PAGE_RUNS });
    const filled = runs
      .filter(({ isErased }) => !isErased)
      .map((run) => {
        const grades = run.grades.map((grade, index): Grade => {
          const asked = judging.find((one) => one.index === index);
          if (asked === undefined) return grade;
          const outputs = asked.parts.map((part) => run.outputs[part]);
          return gradeUnasked(asked.grader, statusesOf(run)) ?? readJudgement(asked.grader, outputs);
        });
        return { ...run, grades, ...gradeOfPrimary(spec, grades) };
      });
    if (filled.length > 0) await fillGrades(database, id, filled);
    after = runs.at(-1);
  }
}
