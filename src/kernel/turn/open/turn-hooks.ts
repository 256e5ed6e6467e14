// Where plugins take part in a turn: what they receive, and how their changes are applied. Their
// results are part of what the opening of the turn commits, so a retry after a crash finds them and
// runs no hook again.
import type { AgentSettings } from '../../../config.ts';
import { viewAfterReset, type SessionView } from '../../../core/view.ts';
import type { TurnId } from '../../../core/ids.ts';
import { type InboundMessage, channelOf } from '../../../core/inbound.ts';
import { isOwnKind } from '../../../prompt/user-prompt.ts';
import type { SessionKind } from '../../../core/session-key.ts';
import type { Claim, PromptedKind, WaitingInput } from '../../sessions/claim-session.ts';
import type { Past } from './open-view.ts';
import { DEFAULT_PROVIDER } from '../../../core/models.ts';
import type { ModelMessage, RequestBase } from '../../../core/model-request.ts';
import { joinParts, type PromptPart } from '../../../prompt/prompt-parts.ts';
import { NO_CHANGES, type PromptChanges } from '../../../prompt/read-contributions.ts';
import type { HookFacts } from '../../../plugins/plugins.ts';
import type { TurnContext } from '../context.ts';
import type { RequestView } from '../request-view.ts';

// The inputs of a turn's assembly, and what its steps need of the claim.

export interface TurnMaterial {
  turnId: TurnId;
  claim: Extract<Claim, { kind: 'claimed' }>;
  /** The inputs that the turn answers, oldest first; at least one. */
  inputs: WaitingInput[];
  agent: AgentSettings;
  /** What its requests will show of the past. */
  past: Past;
}

/** What the steps need of the claim. */
export interface PromptFacts {
  kind: PromptedKind;
  sessionKind: SessionKind;
  /** The bodies of the inputs. */
  messages: InboundMessage[];
  /** The last of them when a person sent it; null for what Holdfast writes itself. */
  message: InboundMessage | null;
  isNewSession: boolean;
  /** What earlier turns of the transcript fixed. */
  view: SessionView;
}

export function toPromptFacts({ claim, inputs }: TurnMaterial): PromptFacts {
  const { session } = claim;
  const kind = choosePromptedKind(inputs);
  const messages = inputs.map((input) => input.body as InboundMessage);
  const isNewSession = session.leafSeq === null;
  return {
    kind,
    // The store writes only kinds of `sessionKindOf`.
    sessionKind: session.kind as SessionKind,
    messages,
    message: isOwnKind(kind) ? null : (messages.at(-1) ?? null),
    isNewSession,
    view: isNewSession ? viewAfterReset(session.view) : session.view,
  };
}

/**
 * The kind of the prompt that these inputs become: that of the first, since inputs of different
 * kinds never share a turn. A compaction has no prompt; where a kind is needed all the same, it is
 * a message.
 */
export function choosePromptedKind(inputs: readonly Pick<WaitingInput, 'kind'>[]): PromptedKind {
  const kind = inputs[0]?.kind ?? 'message';
  return kind === 'compaction' ? 'message' : kind;
}

/** What handlers receive about a turn. */
export function toTurnFacts({ claim: { session }, inputs, agent, turnId }: TurnMaterial): HookFacts {
  const kind = choosePromptedKind(inputs);
  const message = isOwnKind(kind) ? undefined : (inputs.at(-1)?.body as InboundMessage | undefined);
  return {
    agentId: agent.id,
    sessionKey: session.key,
    sessionId: session.id,
    workspaceDir: agent.workspaceDir,
    messageProvider: message === undefined ? null : channelOf(message),
    runId: turnId,
    trigger: kind,
  };
}

/**
 * The changes that plugins request. They receive the parts of the prompt as one text, and the
 * history as the turn will show it.
 */
export function changesOfPlugins(
  { plugins }: TurnContext,
  material: TurnMaterial,
  parts: readonly PromptPart[],
): Promise<PromptChanges> {
  if (!plugins.changesPrompts) return Promise.resolve(NO_CHANGES);
  const event = { prompt: joinParts(parts).text, messages: material.past.messages() };
  return plugins.changePrompt(event, toTurnFacts(material));
}

/**
 * Calls the plugins' `llm_input` with the coming request; must be called once, when the turn has
 * been opened.
 */
export function notifyLlmInput(
  { plugins }: TurnContext,
  material: TurnMaterial,
  { request, prompt, view }: { request: RequestBase; prompt: string; view: RequestView },
): void {
  if (!plugins.hearsLlmInput) return;
  const facts = toTurnFacts(material);
  const { messages } = view.history;
  plugins.notifyLlmInput(
    {
      runId: facts.runId,
      sessionId: facts.sessionId,
      provider: request.provider ?? DEFAULT_PROVIDER,
      model: request.model,
      systemPrompt: request.system.map(({ text }) => text).join('\n'),
      prompt,
      historyMessages: messages.slice(0, -1),
      imagesCount: imagesIn(messages.at(-1)),
    },
    facts,
  );
}

function imagesIn(message: ModelMessage | undefined): number {
  return message?.content.filter(({ type }) => type === 'image').length ?? 0;
}
