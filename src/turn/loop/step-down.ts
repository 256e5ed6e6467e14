// Which model a turn asks when the one that it asks does not answer: the next of its chain whose provider lets calls through. When there is
// none, the turn waits (await-model.ts), and begins with the first model again. What its requests are made of from then on is stored with
// each of its calls, so that they stay derivable, and the entries that it writes can be distinguished from those of the model before:
// thinking is signed by its model.
import { modelRefOf, type AgentSettings, type ThinkingLevel } from '../../config.ts';
import { withModel } from '../../core/history/model-spans.ts';
import { modelChain, modelsAfter } from '../../core/model-fallback.ts';
import { modelName, modelOfRef, refOfModel } from '../../core/model-ref.ts';
import { reasoningOf } from '../../core/reasoning.ts';
import { thinkingRequest } from '../../core/thinking-request.ts';
import type { CallView, FallbackView, ModelSpan } from '../../core/view.ts';
import type { NewEvent } from '../../store/events.ts';
import type { ModelCallRow } from '../../store/journal.ts';
import { enterGate, providerOf } from './await-model.ts';
import type { RequestBase, TurnContext } from '../context.ts';
import { familyView, viewWith } from '../open/open-view.ts';
import { RequestView } from '../request-view.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import type { Pass } from './provider-gate.ts';

/** The right to make the next call, of the next model where the provider of the one that is asked is away. Throws as `enterGate` does. */
export function enterFirstOpenGate(context: TurnContext, turn: OpenedTurn): Pass {
  const fallbacks = fallbacksLeft(turn);
  if (fallbacks.length === 0 || context.gate.isOpen(providerOf(turn.journal.attempt.request)))
    return enterGate(context, turn);
  for (const ref of fallbacks) {
    if (!context.gate.isOpen(providerOf(modelOfRef(ref)))) continue;
    stepTo(context, turn, ref);
    break;
  }
  return enterGate(context, turn);
}

/** A step down to another model, to be committed with the call that has failed. */
interface StepDown {
  row: ModelCallRow;
  event: NewEvent;
}

/**
 * Steps down after a failed call; null: there is no model left that could be asked now. `isRefused`: the model that was asked will not answer
 * later either, so the turn steps down to one that is away, and waits for it.
 */
export function stepDown(
  context: TurnContext,
  turn: OpenedTurn,
  { row, code, text, isRefused }: { row: ModelCallRow; code: string; text: string; isRefused: boolean },
): StepDown | null {
  const left = fallbacksLeft(turn);
  const ref = left.find((one) => context.gate.isOpen(providerOf(modelOfRef(one)))) ?? (isRefused ? left[0] : undefined);
  if (ref === undefined) return null;
  const event = modelBlocked(turn, { code, text }, ref);
  context.logger.warn(
    { turnId: turn.id, sessionKey: turn.session.key, code, fallback: ref },
    'Turn falls back to another model',
  );
  stepTo(context, turn, ref);
  return { row: withFallback(row, ref), event };
}

/** Before a turn is parked: it begins with its first model again when it is resumed. */
export function stepBack(context: TurnContext, turn: OpenedTurn): void {
  const [first] = turn.chain;
  const { fallback, unstoredCall } = turn.journal.attempt;
  if (fallback === null || first === undefined) return;
  stepTo(context, turn, first);
  if (unstoredCall !== null) turn.journal.note({ unstoredCall: withFallback(unstoredCall, first) });
}

/** The row says which model is asked next, so that a worker that resumes the turn asks the same. */
function withFallback(row: ModelCallRow, fallback: string): ModelCallRow {
  return { ...row, error: { ...row.error, fallback } };
}

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
function stepTo(context: TurnContext, turn: OpenedTurn, ref: string): void {
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
function modelBlocked({ journal }: OpenedTurn, fault: { code: string; text: string }, fallback: string): NewEvent {
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
