// Which model a turn asks when the one that it asks does not answer: the next of its chain whose calls are let through. When there is
// none, the turn waits (await-model.ts), and begins with the first model again. What its requests are made of from then on is stored with
// each of its calls, so that they stay derivable, and the entries that it writes can be distinguished from those of the model before:
// thinking is signed by its model.
import { modelRefOf, type AgentSettings, type ThinkingLevel } from '../../config.ts';
import { withModel } from '../../core/history/past.ts';
import {
  modelChain,
  modelsAfter,
  modelName,
  modelOfRef,
  providerOf,
  refOfModel,
  type NamedModel,
} from '../../core/model-ref.ts';
import { reasoningOf } from '../../core/reasoning-tags.ts';
import { thinkingRequest } from '../../core/thinking-request.ts';
import type { CallView, ModelSpan } from '../../core/view.ts';
import type { NewEvent } from '../../store/events.ts';
import { enterGate, isOpen, tryGate, type CallPass } from './enter-gate.ts';
import type { TurnContext } from '../context.ts';
import { familyView, viewWith } from '../open/open-view.ts';
import { RequestView } from '../request-view.ts';
import { logIdsOf, type OpenedTurn } from '../opened-turn.ts';
import { given } from '../../core/given.ts';

/** The right to make the next call, of the next model where the one that is asked cannot be called. Throws as `enterGate` does. */
export async function enterFirstOpenGate(context: TurnContext, turn: OpenedTurn): Promise<CallPass> {
  const { request } = turn.journal.attempt;
  const entry = isOpen(context, request) ? await tryGate(context, turn, request) : null;
  if (entry?.kind === 'pass') return entry;
  const ref = openFallback(context, turn);
  if (ref !== undefined) askFrom(context, turn, ref, beginSpan(turn, ref));
  return await enterGate(context, turn);
}

function openFallback(context: TurnContext, turn: OpenedTurn): string | undefined {
  return fallbacksLeft(turn).find((ref) => isOpen(context, modelOfRef(ref)));
}

/**
 * Steps down after a failed call; returns the event of it, to be committed with the call. Null: there is no model left that could be asked
 * now. `isRefused`: the model that was asked will not answer later either, so the turn steps down to one that is away, and waits for it.
 */
export function stepDown(
  context: TurnContext,
  turn: OpenedTurn,
  { code, text, isRefused }: { code: string; text: string; isRefused: boolean },
): NewEvent | null {
  const { request } = turn.journal.attempt;
  const ref = openFallback(context, turn) ?? (isRefused ? fallbacksLeft(turn)[0] : undefined);
  if (ref === undefined) return null;
  context.logger.warn({ ...logIdsOf(context, turn), code, fallback: ref }, 'Turn falls back to another model');
  stepTo(context, turn, ref);
  const data = { model: refOfModel(request), provider: providerOf(request), code, text, fallback: ref };
  return { type: 'model.blocked', data };
}

/** Before a turn is parked: it begins with its first model again when it is resumed. */
export function stepBack(context: TurnContext, turn: OpenedTurn): void {
  const [first] = turn.chain;
  if (turn.journal.attempt.fallback !== null && first !== undefined) stepTo(context, turn, first);
}

/** After a failed call: its row says which model is asked next, so that a worker that resumes the turn asks the same. */
function stepTo(context: TurnContext, turn: OpenedTurn, ref: string): void {
  const { journal } = turn;
  askFrom(context, turn, ref, beginSpan(turn, ref));
  const { unstoredCall } = journal.attempt;
  if (unstoredCall === null) return;
  journal.note({ unstoredCall: { ...unstoredCall, error: { ...unstoredCall.error, fallback: ref } } });
}

/** The models that a turn may ask, in order. */
export function chainOf(context: TurnContext, agent: AgentSettings, opened: NamedModel) {
  const fallbacks = agent.fallbacks.map((name) => modelRefOf(agent, name));
  return modelChain(opened, { fallbacks, providers: context.model.providers });
}

/** The next models of a turn. */
export function fallbacksLeft(turn: OpenedTurn): readonly string[] {
  return modelsAfter(turn.chain, turn.journal.attempt.request);
}

/** Continues with the model that an earlier attempt has stepped down to; null: it has asked none but the one that it was opened with. */
export function resumeFallback(context: TurnContext, turn: OpenedTurn, ref: string | null): void {
  if (ref !== null) askFrom(context, turn, ref, modelsBefore(turn));
}

/** The facts of its request that a call stores. */
export function callViewOf(turn: OpenedTurn, view: CallView | null): CallView | null {
  const { fallback } = turn.journal.attempt;
  return fallback === null ? view : { ...view, fallback };
}

/** Which model wrote which entries, as far as the session knows; before the first change all were the turn's own. */
function modelsBefore({ journal, chain }: OpenedTurn): readonly ModelSpan[] {
  const { sessionView, request } = journal.attempt;
  return sessionView.models ?? [{ seq: 1, model: modelName(modelOfRef(chain[0] ?? refOfModel(request))) }];
}

/** The same, now that this model writes the next entries. The next write of the turn stores it for the session. */
function beginSpan(turn: OpenedTurn, ref: string): readonly ModelSpan[] {
  const { at, attempt } = turn.journal;
  const models = withModel(modelsBefore(turn), at.baseSeq + 1, modelName(modelOfRef(ref)));
  turn.journal.note({ sessionView: { ...attempt.sessionView, models: [...models] } });
  return models;
}

/** Lets a turn ask a model from its next call on. */
function askFrom(context: TurnContext, turn: OpenedTurn, ref: string, models: readonly ModelSpan[]): void {
  const { journal, session, thinking, transcript } = turn;
  const { request, requests } = journal.attempt;
  const { system, tools, sampling } = request;
  const named = modelOfRef(ref);
  const isShown = reasoningOf(session.reasoning) !== 'off';
  // Turns are opened with levels of the configuration.
  const limits = thinkingRequest({ ...named, level: thinking as ThinkingLevel, isShown });
  const fallback = { model: ref, ...familyView(context, named), models: [...models], ...limits };
  const { rules } = requests;
  journal.note({
    fallback,
    request: { ...named, ...limits, system, tools, ...given({ sampling }) },
    requests: new RequestView(transcript, { ...rules, view: viewWith(rules.view, fallback), model: modelName(named) }),
  });
}
