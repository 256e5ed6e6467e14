// What the opening of a turn decides about the past that its requests show. Decided once, from the
// configuration and the transcript, and stored with the turn: a retry, a later step and a later
// view of the request see the same past.
import type { AgentSettings } from '../../../config.ts';
import type { ImageBlock } from '../../../core/content.ts';
import type { EntryProvenance } from '../../../core/entry.ts';
import {
  isPoll,
  chooseHistoryLimit,
  withModel,
  orphanedPrompts,
  viewMessages,
  type ViewEntry,
  type ViewRules,
} from '../../../history/past.ts';
import { hashesOfImages } from '../../../images/rules/plan-images.ts';
import { hasWordsOfOthers, isDirect, type InboundMessage } from '../../../core/inbound.ts';
import { modelName, type NamedModel } from '../../../core/models.ts';
import { DEFAULT_KEY } from '../../rules/provider-keys.ts';
import type { ModelMessage, ThinkingSetting, RequestBase } from '../../../core/model-request.ts';
import type { InjectedMessage } from '../../../prompt/read-contributions.ts';
import type { SessionKind } from '../../../core/session-key.ts';
import type { ThinkingRequest } from '../../../core/thinking-request.ts';
import type { FallbackView, ModelSpan, SessionView, TurnRequestSettings } from '../../../core/view.ts';
import type { WaitingInput } from '../../sessions/claim-session.ts';
import type { ClaimedSession } from '../../sessions/claimed-session.ts';
import type { TurnContext } from '../context.ts';
import type { Transcript } from '../transcript-cache.ts';
import { given } from '../../../core/json.ts';

/** The past of a turn that is about to be opened. */
export interface Past {
  /** The part of the turn's view that it decides. */
  view: Pick<TurnRequestSettings, 'historyLimit' | 'heartbeatAckCharsMax'>;
  /**
   * Prompts at its end that have no answer and that leave the active path, oldest first; empty when
   * they stay.
   */
  orphans: readonly ViewEntry[];
  isGroup: boolean;
  /** True when it shows entries of before this number. */
  reachesBefore: (seq: number) => boolean;
  /**
   * The messages of the past as the turn will show them, without its own prompt and what plugins
   * put in front.
   */
  messages: () => readonly ModelMessage[];
}

export function decidePast(context: TurnContext, { session, agent, transcript, inputs }: OpeningMaterial): Past {
  const { config } = context;
  const { entries } = transcript;
  const orphans = config.session.orphanedPrompts === 'hide' ? orphanedPrompts(entries) : [];
  const isGroup = session.view.isGroup === true || inputs.some(isFromGroup);
  const limited = { key: session.key, kind: session.kind as SessionKind, isGroup };
  const historyLimit = chooseHistoryLimit(limited, { session: config.session, platforms: config.channels.platforms });
  const view = {
    ...given({ historyLimit, heartbeatAckCharsMax: entries.some(isPoll) ? agent.heartbeat.ackMaxChars : undefined }),
  };
  const messages = (): readonly ModelMessage[] => {
    const shown = entries.slice(0, entries.length - orphans.length);
    const rules = { view, promptSeq: session.entrySeq + 1, model: '', injected: [], imageOf: () => undefined };
    return viewMessages(shown, rules, null).messages;
  };
  const reachesBefore = (seq: number): boolean => entries.some((entry) => entry.seq < seq);
  return { view, orphans, isGroup, reachesBefore, messages };
}

export interface OpeningMaterial {
  session: ClaimedSession;
  agent: AgentSettings;
  transcript: Transcript;
  inputs: readonly WaitingInput[];
}

/** The decisions of a turn's assembly that concern views. */
export interface AssembledViews {
  request: RequestBase;
  view: TurnRequestSettings;
  sessionView: SessionView | null;
  failure: object | null;
}

/**
 * The views that the opening of a turn stores; `sessionView` is null when the session's stays as it
 * is.
 */
export function completeViews(
  session: ClaimedSession,
  past: Past,
  { request, view, sessionView, failure }: AssembledViews,
): { view: TurnRequestSettings; sessionView: SessionView | null } {
  const before = sessionView ?? session.view;
  const author = { model: modelName(request), ...given({ scope: view.scope }) };
  // A turn that cannot be run asks no model.
  const models = failure === null ? withModel(before.models, session.entrySeq + 1, author) : before.models;
  const isChanged = models !== before.models || past.isGroup !== (before.isGroup ?? false);
  const { maxTokens, thinking, effort, sampling } = request;
  return {
    view: {
      ...view,
      ...providerView(request),
      ...past.view,
      ...given({ originsAfterSeq: before.originsAfterSeq, imagesAfterSeq: before.imagesAfterSeq }),
      maxTokens,
      ...given({ thinking, effort, sampling }),
      ...(isMixed(past, models) ? { models: [...models] } : undefined),
    },
    sessionView: isChanged
      ? { ...before, ...(models && { models: [...models] }), ...(past.isGroup ? { isGroup: true } : undefined) }
      : sessionView,
  };
}

/** The provider of a request, according to its view. */
export function providerView({ provider }: Pick<RequestBase, 'provider'>): Pick<TurnRequestSettings, 'provider'> {
  return given({ provider });
}

/**
 * The scope of the key by which a model is asked, according to its view; `default` is not written.
 */
export function scopeView(
  { models: { client } }: Pick<TurnContext, 'models'>,
  { key, ...model }: NamedModel,
): Pick<TurnRequestSettings, 'scope'> {
  const keys = client.keysOf(model);
  const { scope = DEFAULT_KEY } = keys.find(({ name }) => name === key) ?? keys[0] ?? {};
  return scope === DEFAULT_KEY ? {} : { scope };
}

/**
 * The family of a request's provider, according to its view: the form in which it accepts the
 * history.
 */
export function familyView(
  { models }: Pick<TurnContext, 'models'>,
  { provider }: Pick<RequestBase, 'provider'>,
): Pick<TurnRequestSettings, 'family'> {
  const family = models.client.familyOf(provider);
  return family === 'anthropic' ? {} : { family };
}

/** The view of a turn from the call on with which it has stepped down to another model. */
export function viewWith(
  { family: _family, scope: _scope, ...view }: TurnRequestSettings,
  { family, scope, models }: FallbackView,
): TurnRequestSettings {
  return { ...view, ...given({ family, scope }), models };
}

/**
 * True when not all of the past is known to be of one model: a fork begins with entries whose model
 * is not recorded.
 */
function isMixed(past: Past, models: readonly ModelSpan[] | undefined): models is readonly ModelSpan[] {
  const [first] = models ?? [];
  return models !== undefined && first !== undefined && (models.length > 1 || past.reachesBefore(first.seq));
}

/**
 * What says how a turn's requests are made, with all that its view only names. Reads what this
 * worker has not seen yet.
 */
export async function viewRules(
  context: TurnContext,
  { view, promptSeq, model }: Pick<ViewRules, 'view' | 'promptSeq' | 'model'>,
): Promise<ViewRules> {
  const hashes = [...(view.injectedSha256 === undefined ? [] : [view.injectedSha256]), ...hashesOfImages(view.images)];
  const blobs: ReadonlyMap<string, unknown> =
    hashes.length === 0 ? new Map() : await context.store.snapshotCache.recall(context.store.database, hashes);
  return { view, promptSeq, model, ...resolveBlobs(view, blobs) };
}

/**
 * The values that a view refers to, from the snapshots that were read for it. The opening of a turn
 * stored them under these hashes.
 */
export function resolveBlobs(
  view: TurnRequestSettings,
  blobs: ReadonlyMap<string, unknown>,
): Pick<ViewRules, 'injected' | 'imageOf'> {
  return {
    injected: view.injectedSha256 === undefined ? [] : ((blobs.get(view.injectedSha256) ?? []) as InjectedMessage[]),
    imageOf: (sha256) => blobs.get(sha256) as ImageBlock | undefined,
  };
}

/**
 * The limits and the thinking that a turn was opened with; undefined when its view does not say.
 */
export function toThinkingRequest({
  maxTokens,
  thinking,
  effort,
  thinkingBudgetTokens,
}: TurnRequestSettings): ThinkingRequest | undefined {
  if (maxTokens === undefined) return undefined;
  const budget: ThinkingSetting | undefined =
    thinkingBudgetTokens === undefined ? undefined : { type: 'enabled', budget_tokens: thinkingBudgetTokens };
  return { maxTokens, ...given({ thinking: thinking ?? budget, effort }) };
}

/**
 * The origin of the prompt of these inputs; null: all of it is an owner's. `isOfOthers`: it has
 * words of others beside them.
 */
export function deriveProvenance(
  inputs: readonly Pick<WaitingInput, 'kind' | 'body'>[],
  { ownerIds, isOfOthers = false }: { ownerIds: readonly string[]; isOfOthers?: boolean },
): EntryProvenance | null {
  const [first] = inputs;
  // Messages from outside were checked when they were accepted: they have no such field.
  const { provenance } = (first?.body ?? {}) as { provenance?: EntryProvenance };
  if (provenance?.kind === 'inter_session') return provenance;
  const hasOthers = isOfOthers || inputs.some((input) => hasWordsOfOthers(input, ownerIds));
  if (first?.kind === 'heartbeat') return { kind: 'heartbeat', ...(hasOthers ? { isOfOthers: true } : {}) };
  return hasOthers ? { kind: 'others' } : null;
}

function isFromGroup({ kind, body }: WaitingInput): boolean {
  return kind === 'message' && !isDirect(body as InboundMessage);
}
