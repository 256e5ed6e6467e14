// Which model a turn asks: the one that it was opened with, or one of the fallbacks of its agent.
// What its requests are made of from a fallback on is stored with each of its calls, so that they
// stay derivable, and the entries that it writes can be distinguished from those of the model
// before: thinking is signed by its model.
import { factsOfModel, modelRefOf, type AgentSettings, type ThinkingLevel } from '../../../config.ts';
import { withModel } from '../../../history/past.ts';
import {
  modelChain,
  modelsAfter,
  modelName,
  modelOfRef,
  namedModel,
  providerOf,
  refOfModel,
  type NamedModel,
  type ModelTraits,
  DEFAULT_PROVIDER,
} from '../../../core/models.ts';
import type { ModelMessage, RequestBase } from '../../../core/model-request.ts';
import { toReasoning } from '../../../core/reply.ts';
import { thinkingRequest } from '../../../core/thinking-request.ts';
import type { CallView, ModelSpan, TurnRequestSettings } from '../../../core/view.ts';
import type { TurnContext } from '../context.ts';
import type { ComingCall } from '../gate-check.ts';
import { withKey } from '../gate/gate.ts';
import { keepTraits } from '../../queue/model-blocks.ts';
import { familyView, scopeView, viewWith } from './open-view.ts';
import { RequestView } from '../request-view.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import { given } from '../../../core/json.ts';
import { BUILT_IN_HARNESS, selectHarness } from '../../../core/harness-selection.ts';
import { hasEffects } from '../../../core/session-key.ts';
import { TurnFailed } from '../turn-stop.ts';

/**
 * A model as `provider/model`, and why a turn continues with it; null: it is the first again, or
 * that is not known.
 */
export interface NextModel {
  model: string;
  reason: string | null;
  /** The key by which it is asked; absent: the first, until one is chosen. */
  key?: string;
}

/** The models that a turn may ask, in order. */
export function listChain(context: TurnContext, agent: AgentSettings, opened: NamedModel) {
  const fallbacks = agent.fallbacks.map((name) => modelRefOf(agent, name));
  return modelChain(opened, { fallbacks, providers: context.models.client.providers });
}

/** The next models of a turn. */
export function fallbacksLeft(turn: OpenedTurn): readonly string[] {
  return modelsAfter(turn.chain, turn.journal.attempt.request);
}

/**
 * Continues with the model that an earlier attempt has stepped down to; null: it has asked none but
 * the one that it was opened with. Without the provider of that model, which is not configured any
 * more, it begins with the first again.
 */
export function resumeFallback(context: TurnContext, turn: OpenedTurn, next: NextModel | null): void {
  if (next === null) return;
  const isServed = context.models.client.providers.includes(providerOf(modelOfRef(next.model)));
  const [first = next.model] = turn.chain;
  if (isServed) askFrom(context, turn, next, modelsBefore(turn));
  else askInstead(context, turn, { model: first, reason: null });
}

/** The facts of its request that a call stores. */
export function toCallView(turn: OpenedTurn, view: CallView | null): CallView | null {
  const { fallback, requests } = turn.journal.attempt;
  const { originsAfterSeq, imagesAfterSeq } = requests.rules.view;
  const facts = given({ fallback: fallback ?? undefined, originsAfterSeq, imagesAfterSeq });
  return Object.keys(facts).length === 0 ? view : { ...view, ...facts };
}

/**
 * Which model wrote which entries, as far as the session knows; before the first change all were
 * the turn's own.
 */
function modelsBefore({ journal, chain }: OpenedTurn): readonly ModelSpan[] {
  const { sessionView, request, requests } = journal.attempt;
  const { scope } = requests.rules.view;
  return (
    sessionView.models ?? [
      { seq: 1, model: modelName(modelOfRef(chain[0] ?? refOfModel(request))), ...given({ scope }) },
    ]
  );
}

/**
 * Lets a turn ask another model from its next call on. The next write of the turn stores for the
 * session which entries that model writes.
 */
export function askInstead(context: TurnContext, turn: OpenedTurn, next: NextModel): void {
  const { at, attempt } = turn.journal;
  const named = namedOf(next);
  const author = { model: modelName(named), ...scopeView(context, named) };
  const models = withModel(modelsBefore(turn), at.baseSeq + 1, author);
  turn.journal.note({ sessionView: { ...attempt.sessionView, models: [...models] } });
  askFrom(context, turn, next, models);
}

/**
 * Chooses the key of the next call: the session's first one that is let through. What keys of other
 * scopes have written is then shown without reasoning.
 */
export function takeKey(context: TurnContext, turn: OpenedTurn, way: ComingCall['way']): void {
  if (way === 'harness') return;
  const { request, requests, fallback } = turn.journal.attempt;
  const model = namedModel(request);
  // Batches of a provider are sent by its first key.
  const named =
    way === 'batch'
      ? { ...model, ...given({ key: firstKey(context, model) }) }
      : withKey(context, turn.session.id, model);
  const { key } = named;
  if (scopeView(context, named).scope !== requests.rules.view.scope)
    return askInstead(context, turn, { model: refOfModel(named), reason: fallback?.reason ?? null, ...given({ key }) });
  if (key !== request.key) turn.journal.note({ request: { ...request, ...given({ key }) } });
}

function firstKey({ models }: TurnContext, model: NamedModel): string | undefined {
  const keys = models.client.keysOf(model);
  return keys.length < 2 ? undefined : keys[0]?.name;
}

function namedOf({ model, key }: NextModel): NamedModel {
  return { ...modelOfRef(model), ...given({ key }) };
}

/**
 * Lets a turn show what is written so far without what its models need back, in this and in later
 * turns. False: it does so already, and it was refused for another reason.
 */
export function leaveOutOrigins(turn: OpenedTurn): boolean {
  return leaveOut(turn, 'originsAfterSeq');
}

/** Leaves images out of the requests of a turn. False: they have none. */
export function leaveOutImages(turn: OpenedTurn): boolean {
  return turn.journal.attempt.requests.messages.some(hasImage) && leaveOut(turn, 'imagesAfterSeq');
}

function leaveOut({ journal, transcript }: OpenedTurn, what: 'originsAfterSeq' | 'imagesAfterSeq'): boolean {
  const { sessionView, requests } = journal.attempt;
  const { rules } = requests;
  const { baseSeq } = journal.at;
  if (rules.view[what] === baseSeq) return false;
  journal.note({
    sessionView: { ...sessionView, [what]: baseSeq },
    requests: new RequestView(transcript, { ...rules, view: { ...rules.view, [what]: baseSeq } }),
  });
  return true;
}

function hasImage({ content }: ModelMessage): boolean {
  return content.some(
    (block) =>
      block.type === 'image' ||
      (block.type === 'tool_result' && typeof block.content !== 'string' && block.content.some(isImage)),
  );
}

function isImage({ type }: { type: string }): boolean {
  return type === 'image';
}

/**
 * Reads what is known of how the model takes requests: what all workers know, and what this turn
 * has learned of it.
 */
export function takeTraits({ models }: TurnContext, { journal }: OpenedTurn): void {
  const { request, traits } = journal.attempt;
  journal.note({ traits: { ...models.states.known.find(request).traits, ...traits } });
}

/** After an answer: what this turn has learned of the model is kept for all workers. */
export async function rememberTraits({ models, store }: TurnContext, { journal }: OpenedTurn): Promise<void> {
  const { database } = store;
  const { request, traits } = journal.attempt;
  const known = models.states.known.noteTraits(request, traits);
  if (known === null) return;
  const message = 'It could not be stored how the server of a model takes requests';
  const { model } = known;
  await keepTraits(database, known, traits).catch((error: unknown) =>
    database.outages.report(error, message, { model }),
  );
}

/**
 * Notes what a refusal says about the model, for the next request. False: it was known, and the
 * request was refused all the same.
 */
export function learnTrait({ journal }: OpenedTurn, learned: ModelTraits): boolean {
  const { traits } = journal.attempt;
  const isKnown = Object.entries(learned).every(([name, value]) => traits[name as keyof ModelTraits] === value);
  if (!isKnown) journal.note({ traits: { ...traits, ...learned } });
  return !isKnown;
}

function askFrom(context: TurnContext, turn: OpenedTurn, next: NextModel, models: readonly ModelSpan[]): void {
  const { journal, session, thinking, transcript } = turn;
  const { request, requests } = journal.attempt;
  const { system, tools, sampling, responseFormat } = request;
  const { model, reason } = next;
  const named = namedOf(next);
  const isShown = toReasoning(session.reasoning) !== 'off';
  // Turns are opened with levels of the configuration.
  const limits = thinkingRequest({
    ...named,
    level: thinking as ThinkingLevel,
    isShown,
    facts: factsOfModel(context.config, model),
  });
  const why = reason === null ? {} : { reason };
  const view = { ...familyView(context, named), ...scopeView(context, named) };
  const fallback = { model, ...view, models: [...models], ...why, ...limits };
  const { rules } = requests;
  journal.note({
    fallback,
    traits: {},
    request: { ...named, ...limits, system, tools, ...given({ sampling, responseFormat }) },
    requests: new RequestView(transcript, { ...rules, view: viewWith(rules.view, fallback), model: modelName(named) }),
  });
}

// Which harness answers a turn: chosen once, when the turn is opened, and stored with it. A turn
// that a harness has started is never continued by another: when that harness fails, or no longer
// exists, the turn fails (G11).

/**
 * What the opening of a turn decides about its harness; `failure`: the one that must answer is not
 * there.
 */
export function chooseHarness(
  context: TurnContext,
  agent: AgentSettings,
  { request, session }: { request: RequestBase; session: { kind: string } },
): { view: Pick<TurnRequestSettings, 'harness'>; failure: TurnFailed | null } {
  const target = harnessTarget(request);
  const candidates = context.plugins.harnesses.map((harness) => ({
    id: harness.id,
    priority: harness.priority,
    isSupporting: harness.supports(target),
  }));
  const { kind, id, reason } = selectHarness(agent.harness, candidates);
  if (!hasEffects(session) && id !== BUILT_IN_HARNESS)
    return { view: { harness: { id, reason } }, failure: refusedHarness(id) };
  if (kind === 'missing') return { view: { harness: { id, reason } }, failure: missingHarness(id) };
  // What is not written is the built-in, because nothing else was there to choose.
  return { view: reason === 'auto_fallback' ? {} : { harness: { id, reason } }, failure: null };
}

/** A harness may run tools of its own, which may change something. */
function refusedHarness(id: string): TurnFailed {
  return new TurnFailed(
    'harness_missing',
    `The harness "${id}" answers turns of this agent. It may change things by itself, and nothing in this session may. Use another model, or an agent that the built-in harness answers.`,
  );
}

/** The model that a harness is asked for. */
export function harnessTarget({ provider, model }: RequestBase): { provider: string; model: string } {
  return { provider: provider ?? DEFAULT_PROVIDER, model };
}

/** The end of a turn whose harness is not there. */
export function missingHarness(id: string): TurnFailed {
  return new TurnFailed(
    'harness_missing',
    `The harness "${id}" answers this turn, and no plugin of this worker provides it.`,
  );
}
