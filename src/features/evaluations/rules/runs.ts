// A run of an evaluation: an item of its data set, asked with one of its candidates, for the nth
// time. Its session and its input follow from these numbers, so a run that is made again is the same.
import { given } from '../../../core/json.ts';
import type { EvaluationRef, InboundMessage } from '../../../core/inbound.ts';
import type { SessionKey } from '../../../core/ids.ts';
import type { ModelFacts, NamedModel, ThinkingLevel } from '../../../core/models.ts';
import { thinkingRequest } from '../../../core/thinking-request.ts';
import type { GivenRequest } from '../../../core/given-request.ts';
import type { Candidate, EvaluationRequest } from '../contract.ts';
import type { StoredRequest } from './cases.ts';

/** A request for an evaluation with everything that it left out. */
export type EvaluationSpec = Omit<EvaluationRequest, 'name' | 'dataset' | 'version' | 'costCap'> &
  Required<
    Pick<EvaluationRequest, 'split' | 'primary' | 'repeats' | 'effect' | 'unknownCalls' | 'via' | 'concurrency'>
  >;

/** The tag by which the turns of an evaluation are found. */
export const EVALUATION_TAG = 'evaluation';

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
