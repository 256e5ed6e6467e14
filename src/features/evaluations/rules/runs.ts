// A run of an evaluation: an item of its data set, asked with one of its candidates, for the nth
// time; and the judgements of a run. Their sessions, their inputs and their places in the batches
// that carry them follow from these numbers alone, so one that is made again is the same.
import { given } from '../../../core/json.ts';
import type { EvaluationRef, InboundMessage } from '../../../core/inbound.ts';
import type { SessionKey } from '../../../core/ids.ts';
import type { ModelFacts, NamedModel, ThinkingLevel } from '../../../core/models.ts';
import { thinkingRequest } from '../../../core/thinking-request.ts';
import type { GivenRequest } from '../../../core/given-request.ts';
import type { Candidate, EvaluationRequest, Grader, ModelGrader } from '../contract.ts';
import type { StoredRequest } from './cases.ts';
import type { JudgementRequest } from './judge.ts';

/** A request for an evaluation with everything that it left out. */
export type EvaluationSpec = Omit<EvaluationRequest, 'name' | 'dataset' | 'version' | 'costCap'> &
  Required<
    Pick<EvaluationRequest, 'split' | 'primary' | 'repeats' | 'effect' | 'unknownCalls' | 'via' | 'concurrency'>
  >;

/** The tag by which the turns of an evaluation are found. */
const EVALUATION_TAG = 'evaluation';

/** A run of an evaluation, or with a part from 1 on a judgement of it. */
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

/**
 * The runs of an item. The candidates alternate, so that what changes with time meets all of them,
 * and each of them is the first as often as the others, because the first one fills the cache.
 */
export function listRuns(
  n: number,
  { repeats, candidates }: Pick<EvaluationSpec, 'repeats' | 'candidates'>,
): RunPlace[] {
  return Array.from({ length: repeats }, (_, index) => index + 1).flatMap((repeat) =>
    candidates.map((_, at) => ({ n, candidate: (at + n + repeat) % candidates.length, repeat, part: 0 })),
  );
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

/** Its session is a try: nothing leaves it. */
export function sessionKeyOf(agentId: string, { id, n, candidate, repeat, part }: EvaluationRef): SessionKey {
  return `agent:${agentId}:try:${id}-${n}-${candidate}-${repeat}${part === 0 ? '' : `-${part}`}` as SessionKey;
}

/**
 * The input of a run. With a stored request, that is what the model is asked; without one, the turn
 * is assembled as any other of the agent, with what the candidate changes.
 */
export function inputOfRun(
  { input, turnId, hasRequest }: { input: string; turnId: string | null; hasRequest: boolean },
  { model, thinking, systemPrompt, temperature }: Candidate,
  evaluation: EvaluationRef,
): InboundMessage {
  const changes = hasRequest
    ? {}
    : given({
        model,
        thinking,
        systemPrompt,
        caller: temperature === undefined ? undefined : { sampling: { temperature } },
      });
  return {
    text: input,
    deliver: null,
    evaluation,
    tryOf: turnId,
    ...changes,
    // An item of a batch without a list of tools would have those that read alone.
    options: {
      tools: { allow: ['*'] },
      tags: { [EVALUATION_TAG]: evaluation.id, ...given({ try: turnId ?? undefined }) },
    },
  };
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

export interface AskedModel {
  model: NamedModel;
  /** What is known of it; null: nothing. */
  facts: ModelFacts | null;
}

/** A stored request with what a candidate changes. */
export function changeRequest(
  { level, ...request }: StoredRequest,
  { thinking, temperature, systemPrompt }: Candidate,
  { model, facts }: AskedModel,
): GivenRequest {
  const isSameModel = model.model === request.model && model.provider === request.provider;
  const isAsked = isSameModel && (thinking === undefined || thinking === level);
  const {
    maxTokens,
    thinking: asked,
    effort,
    traits,
    provider: _provider,
    key: _key,
    model: _model,
    ...rest
  } = request;
  const chosen: ThinkingLevel = thinking ?? level ?? 'off';
  const limits = isAsked
    ? { maxTokens, ...given({ thinking: asked, effort }) }
    : thinkingRequest({ ...model, level: chosen, facts });
  const sampling = temperature === undefined ? request.sampling : { ...request.sampling, temperature };
  return {
    request: {
      ...rest,
      ...model,
      ...limits,
      // How a server takes requests is known of that server alone.
      ...given({ sampling, traits: isSameModel ? traits : undefined }),
      ...(systemPrompt === undefined
        ? {}
        : { system: systemPrompt === '' ? [] : [{ type: 'text', text: systemPrompt }] }),
    },
    thinking: chosen,
    isSameModel,
  };
}

/** The request of a judgement: its input is all that the model reads. */
export function requestOfJudgement(
  { text, systemPrompt = '', options }: InboundMessage,
  { model, facts }: AskedModel,
): GivenRequest {
  return {
    request: {
      ...model,
      ...thinkingRequest({ ...model, level: 'off', facts }),
      system: [{ type: 'text', text: systemPrompt }],
      tools: [],
      messages: [{ role: 'user', content: [{ type: 'text', text }] }],
      ...given({ responseFormat: options?.responseFormat }),
    },
    thinking: 'off',
    isSameModel: false,
  };
}
