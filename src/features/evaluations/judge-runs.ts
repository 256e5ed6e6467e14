// The judgements of an evaluation: an item of a second batch for each question to a judging model, and
// the grades that follow from its answers.
import type { Service } from '../../kernel/use-cases/service.ts';
import type { Grade, ModelGrader } from './contract.ts';
import { buildJudgements, gradeUnasked, readJudgement, type JudgedReply, type JudgedStatuses } from './rules/judge.ts';
import { inputOfJudgement, listJudging, type RunPlace } from './rules/runs.ts';
import { gradeOfPrimary } from './settle-runs.ts';
import type { OpenEvaluation } from './store/evaluations.ts';
import { BEFORE_ALL, fillGrades, readJudgedRuns, type JudgedRun } from './store/judgements.ts';
import { readPages } from './store/read-pages.ts';
import type { CarriedItem } from './store/upload-items.ts';

type Parts = Pick<Service, 'database'>;

/**
 * The questions about all runs, in their order. Each run has a number for every question that it
 * might have, so that no number depends on what is erased meanwhile.
 */
export async function* listJudgements(
  { database }: Parts,
  evaluation: OpenEvaluation,
  signal: AbortSignal,
): AsyncGenerator<CarriedItem> {
  const judging = listJudging(evaluation.spec.graders);
  let n = 0;
  for await (const runs of readJudgedPages({ database }, evaluation, signal)) {
    for (const run of runs) {
      for (const { grader, parts } of judging) {
        const requests = isAsked(run, grader) ? buildJudgements(grader, toJudged(run, grader)) : [];
        for (const [order, part] of parts.entries()) {
          n += 1;
          const request = requests[order];
          if (request === undefined) continue;
          const place: RunPlace = { n: run.n, candidate: run.candidate, repeat: run.repeat, part };
          const body = inputOfJudgement(request, grader.model, { id: evaluation.id, ...place });
          yield { n, place, agentId: run.agentId, body };
        }
      }
    }
  }
}

function readJudgedPages(
  { database }: Parts,
  { id }: OpenEvaluation,
  signal?: AbortSignal,
): AsyncGenerator<JudgedRun[]> {
  return readPages(BEFORE_ALL, (after) => readJudgedRuns(database, id, after), signal);
}

function isAsked(run: JudgedRun, grader: ModelGrader): boolean {
  return run.input !== null && gradeUnasked(grader, statusesOf(run)) === null;
}

function toJudged({ input, expected, recorded, reply, baselineReply }: JudgedRun, { mode }: ModelGrader): JudgedReply {
  // A pair is compared with the reply of the baseline, and with no other.
  const shown = mode === 'pair' ? null : recorded;
  return { input: input ?? '', expected, recorded: shown, reply, baseline: baselineReply };
}

function statusesOf({ candidate, status, baselineStatus }: JudgedRun): JudgedStatuses {
  return { run: status, baseline: candidate === 0 ? 'itself' : baselineStatus };
}

/** Writes the grades that judging models have given to all runs; done twice, it writes the same. */
export async function fillJudgedGrades({ database }: Parts, evaluation: OpenEvaluation): Promise<void> {
  const { id, spec } = evaluation;
  const judging = listJudging(spec.graders);
  if (judging.length === 0) return;
  for await (const runs of readJudgedPages({ database }, evaluation)) {
    const filled = runs.map((run) => {
      const grades = run.grades.map((grade, index): Grade => {
        const asked = judging.find((one) => one.index === index);
        if (asked === undefined) return grade;
        const outputs = asked.parts.map((part) => run.outputs[part]);
        return gradeUnasked(asked.grader, statusesOf(run)) ?? readJudgement(asked.grader, outputs);
      });
      return { ...run, grades, ...gradeOfPrimary(spec, grades) };
    });
    if (filled.length > 0) await fillGrades(database, id, filled);
  }
}
