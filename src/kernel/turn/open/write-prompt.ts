// Writes the user prompt of a turn from its claimed inputs.
import type { Config } from '../../../config.ts';
import { chooseMessageFeatures } from '../../../config/message-features.ts';
import { formatSummaryLine } from '../../../core/collect.ts';
import { channelOf, type InboundMessage } from '../../../core/inbound.ts';
import { channelSummary } from '../../../prompt/inbound-meta.ts';
import { buildUserPrompt, type UserPrompt } from '../../../prompt/user-prompt.ts';
import type { WaitingInput } from '../../sessions/claim-session.ts';
import { MESSAGE_TOOL } from '../../../tools/message-tool.ts';
import type { Toolset } from '../../../tools/toolset.ts';
import type { TurnContext } from '../context.ts';
import { runInSlices } from '../run-in-slices.ts';
import type { PromptFacts, TurnMaterial } from './turn-material.ts';
import { given } from '../../../core/given.ts';
import { pickPromptZone } from '../../../schedule/tick-input.ts';

/** True when the prompt of these inputs mentions messages that were dropped over the cap: one of them is from a sender. */
export function mentionsOverflow(inputs: readonly WaitingInput[]): boolean {
  return inputs[0]?.kind === 'message';
}

/** The prompt, before plugins change it. */
export async function writePrompt(
  { config, clock }: Pick<TurnContext, 'config' | 'clock'>,
  { claim, inputs, agent }: TurnMaterial,
  facts: PromptFacts,
  toolset: Toolset,
): Promise<UserPrompt> {
  const { session } = claim;
  const prompt = buildUserPrompt({
    kind: facts.kind,
    messages: facts.messages,
    events: claim.events,
    zone: pickPromptZone(agent),
    isNewSession: facts.isNewSession,
    wasAborted: session.wasAborted,
    thinking: session.thinking,
    resetTriggers: config.session.resetTriggers,
    ownerIds: config.owner.ids,
    now: { epochMs: clock.now().getTime(), timezone: agent.userTimezone },
    ...(mentionsOverflow(inputs) && session.overflowed > 0
      ? {
          overflow: {
            droppedCount: session.overflowed,
            summaryLines: claim.overflow.map(({ text }) => formatSummaryLine(text)),
          },
        }
      : {}),
    canSendMedia: canSendMedia(config, toolset, facts.messages[0]),
    isTranscribing: config.tools.transcribe !== undefined,
    channelLines: facts.isNewSession && facts.sessionKind === 'main' ? channelLines(config) : [],
  });
  return await runInSlices(clock, prompt);
}

/** True when an agent with these tools can send files to the channel of a message. */
export function canSendMedia(config: Config, toolset: Toolset, message: InboundMessage | undefined): boolean {
  if (message === undefined || toolset.findTool(MESSAGE_TOOL) === undefined) return false;
  return chooseMessageFeatures(config, channelOf(message)).media;
}

function channelLines({ channels }: Config): string[] {
  return channelSummary(
    Object.entries(channels.platforms).map(([name, { enabled = true, label, phone, accounts = {} }]) => ({
      name,
      isEnabled: enabled,
      ...given({ label, phone }),
      accounts: Object.entries(accounts).map(([id, account]) => ({ id, details: [], ...account })),
    })),
  );
}
