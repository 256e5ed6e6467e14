// Where plugins take part in a turn: what they receive, and how their changes are applied. Their results are part of what the
// opening of the turn commits, so a retry after a crash finds them and runs no hook again.
import { channelOf, type InboundMessage } from '../../../core/inbound.ts';
import { DEFAULT_PROVIDER } from '../../../core/model-ref.ts';
import type { ModelMessage, RequestBase } from '../../../core/model-request.ts';
import { NO_CHANGES, type PromptChanges } from '../../../prompt/prompt-changes.ts';
import { joinParts, type PromptPart } from '../../../prompt/prompt-parts.ts';
import { isOwnKind } from '../../../prompt/user-prompt.ts';
import type { HookFacts } from '../../../plugins/plugins.ts';
import { choosePromptedKind, type TurnMaterial } from './turn-material.ts';
import type { TurnContext } from '../context.ts';
import type { RequestView } from '../request-view.ts';

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

/** The changes that plugins request. They receive the parts of the prompt as one text, and the history as the turn will show it. */
export function changesOfPlugins(
  { plugins }: TurnContext,
  material: TurnMaterial,
  parts: readonly PromptPart[],
): Promise<PromptChanges> {
  if (!plugins.changesPrompts) return Promise.resolve(NO_CHANGES);
  const event = { prompt: joinParts(parts).text, messages: material.past.messages() };
  return plugins.changePrompt(event, toTurnFacts(material));
}

/** Calls the plugins' `llm_input` with the coming request; must be called once, when the turn has been opened. */
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
