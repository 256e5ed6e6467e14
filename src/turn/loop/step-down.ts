// Steps down to another model in the middle of a turn. What its requests are made of from then on is stored with each of its calls, so that
// they stay derivable, and the entries that it writes can be distinguished from those of the model before: thinking is signed by its model.
import { modelRefOf, type AgentSettings, type ThinkingLevel } from '../../config.ts';
import { withModel } from '../../core/history/model-spans.ts';
import { modelChain, modelsAfter } from '../../core/model-fallback.ts';
import { modelName, modelOfRef, refOfModel } from '../../core/model-ref.ts';
import { reasoningOf } from '../../core/reasoning.ts';
import { thinkingRequest } from '../../core/thinking-request.ts';
import type { CallView, FallbackView, ModelSpan } from '../../core/view.ts';
import type { NewEvent } from '../../store/events.ts';
import { providerOf } from './await-model.ts';
import type { RequestBase, TurnContext } from '../context.ts';
import { familyView, viewWith } from '../open/open-view.ts';
import { RequestView } from '../request-view.ts';
import type { OpenedTurn } from '../opened-turn.ts';

/** The models that a turn may ask, in order. */
export function chainOf(context: TurnContext, agent: AgentSettings, opened: Pick<RequestBase, 'provider' | 'model'>) {
  const fallbacks = agent.fallbacks.map((name) => modelRefOf(agent, name));
  return modelChain(opened, { fallbacks, providers: context.model.providers });
}

/** The next models of a turn. */
export function fallbacksLeft(turn: OpenedTurn): readonly string[] {
  return modelsAfter(turn.chain, turn.journal.attempt.request);
}

/** Lets a turn ask another model from its next call on. The next write of the turn stores what follows from it for the session. */
export function stepTo(context: TurnContext, turn: OpenedTurn, ref: string): void {
  const { journal } = turn;
  const models = withModel(modelsBefore(turn), journal.at.baseSeq + 1, modelName(modelOfRef(ref)));
  journal.note({ sessionView: { ...journal.attempt.sessionView, models: [...models] } });
  askFrom(turn, fallbackOf(context, turn, { ref, models }));
}

/** Continues with the model that an earlier attempt has stepped down to; null: it has asked none but the one that it was opened with. */
export function resumeFallback(context: TurnContext, turn: OpenedTurn, ref: string | null): void {
  if (ref !== null) askFrom(turn, fallbackOf(context, turn, { ref, models: modelsBefore(turn) }));
}

/** What a call stores of its request. */
export function callViewOf(turn: OpenedTurn, view: CallView | null): CallView | null {
  const { fallback } = turn.journal.attempt;
  return fallback === null ? view : { ...view, fallback };
}

/** A model does not answer a turn, and another one is asked. */
export function modelBlocked(
  { journal }: OpenedTurn,
  fault: { code: string; text: string },
  fallback: string,
): NewEvent {
  const { request } = journal.attempt;
  return {
    type: 'model.blocked',
    data: { model: refOfModel(request), provider: providerOf(request), ...fault, fallback },
  };
}

/** Which model wrote which entries, as far as the session knows; before the first change all were the turn's own. */
function modelsBefore({ journal, chain }: OpenedTurn): readonly ModelSpan[] {
  const { sessionView, request } = journal.attempt;
  return sessionView.models ?? [{ seq: 1, model: modelName(modelOfRef(chain[0] ?? refOfModel(request))) }];
}

function fallbackOf(
  context: TurnContext,
  { session, thinking }: OpenedTurn,
  { ref, models }: { ref: string; models: readonly ModelSpan[] },
): FallbackView {
  const named = modelOfRef(ref);
  // Turns are opened with levels of the configuration.
  const level = thinking as ThinkingLevel;
  const isShown = reasoningOf(session.reasoning) !== 'off';
  return {
    model: ref,
    ...familyView(context, named),
    models: [...models],
    ...thinkingRequest({ ...named, level, isShown }),
  };
}

function askFrom({ journal, transcript }: OpenedTurn, fallback: FallbackView): void {
  const { model, family: _family, models: _models, ...limits } = fallback;
  const { request, requests } = journal.attempt;
  const named = modelOfRef(model);
  const { rules } = requests;
  journal.note({
    fallback,
    request: { ...named, ...limits, system: request.system, tools: request.tools },
    requests: new RequestView(transcript, { ...rules, view: viewWith(rules.view, fallback), model: modelName(named) }),
  });
}
