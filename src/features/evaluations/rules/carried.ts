// What the batches of an evaluation carry: an item for each run, and one for each judgement of a run.
// Their order and their names follow from the evaluation alone, so that what a crash leaves out is
// continued as it was begun.
import type { EvaluationRef, InboundMessage } from '../../../core/inbound.ts';
import { given } from '../../../core/json.ts';
import type { Grader, ModelGrader } from '../contract.ts';
import type { JudgementRequest } from './judge.ts';
import { EVALUATION_TAG, type EvaluationSpec } from './runs.ts';

/** A run of an evaluation, or a judgement of it. */
export type RunPlace = Omit<EvaluationRef, 'id'>;

/** The name of its item in the batch. */
export function nameOfPlace({ n, candidate, repeat, part }: RunPlace): string {
  return [n, candidate, repeat, part].join('-');
}

/** Reads the name of an item. */
export function placeOfName(name: string): RunPlace {
  const [n = 0, candidate = 0, repeat = 0, part = 0] = name.split('-').map(Number);
  return { n, candidate, repeat, part };
}

/** The runs of an item: the candidates alternate, so that what changes with time meets all of them. */
export function listRuns(
  n: number,
  { repeats, candidates }: Pick<EvaluationSpec, 'repeats' | 'candidates'>,
): RunPlace[] {
  return Array.from({ length: repeats }, (_, index) => index + 1).flatMap((repeat) =>
    candidates.map((_, candidate) => ({ n, candidate, repeat, part: 0 })),
  );
}

/** Whether a run of the same item stands before another one, or is it. */
export function isUpTo(run: RunPlace, other: RunPlace): boolean {
  return run.repeat < other.repeat || (run.repeat === other.repeat && run.candidate <= other.candidate);
}

/** A grader that asks a model. */
export interface JudgingGrader {
  /** Its index among all graders. */
  index: number;
  grader: ModelGrader;
  /** The parts of a run that are its judgements: one, or with `pair` one for each order. */
  parts: number[];
}

export function listJudging(graders: readonly Grader[]): JudgingGrader[] {
  return graders
    .flatMap((grader, index) => (grader.type === 'model' ? [{ grader, index }] : []))
    .map(({ grader, index }, at) => ({
      index,
      grader,
      parts: grader.mode === 'pair' ? [1 + 2 * at, 2 + 2 * at] : [1 + 2 * at],
    }));
}

/** The input of a judgement: the judging model reads these texts and nothing else. */
export function inputOfJudgement(
  { system, text, responseFormat }: JudgementRequest,
  model: string | undefined,
  evaluation: EvaluationRef,
): InboundMessage {
  return {
    text,
    deliver: null,
    evaluation,
    tryOf: null,
    systemPrompt: system,
    ...given({ model }),
    options: { responseFormat, tools: { deny: ['*'] }, tags: { [EVALUATION_TAG]: evaluation.id } },
  };
}
