// Settings that inputs written by Holdfast have for their turn, in addition to their text.
import type { AgentSettings, Config } from '../../../config.ts';
import { optionsOfInputs } from '../../../core/input-options.ts';
import { isOfOwner, type InboundMessage, type OwnInput } from '../../../core/inbound.ts';
import { OWNER_TOOLS } from '../../../core/tool-policy.ts';
import type { WaitingEvent, WaitingInput } from '../../sessions/claim-session.ts';
import { settleWithoutTurn } from '../../inbox/cancel-message.ts';
import type { TurnContext } from '../context.ts';
import { lockLost, type HeldSession } from '../held-session.ts';
import { given } from '../../../core/given.ts';

type Asking = Pick<WaitingInput, 'kind' | 'body'>;

/** True for a tick that begins a new transcript. */
export function beginsTranscript(input: Asking): boolean {
  return toOwnInput(input)?.isFresh === true;
}

/** True for a poll that only announces a system event, when an earlier prompt has contained that event. */
export function isSuperfluous(input: Asking, events: readonly WaitingEvent[]): boolean {
  const eventId = input.kind === 'heartbeat' ? toOwnInput(input)?.eventId : undefined;
  return eventId !== undefined && !events.some(({ id }) => id === eventId);
}

/** Settles a redundant poll without a turn: no model is called. Throws `TurnStopped` when the lock is lost. */
export async function leaveOut(context: TurnContext, held: HeldSession, input: WaitingInput): Promise<void> {
  held.assertHeld();
  const { sessionId, epoch } = held;
  const { isHeld } = context.publish(
    await settleWithoutTurn(context.database, { sessionId, epoch, messageId: input.id }),
  );
  if (!isHeld) throw lockLost(held);
}

/** The settings of a turn with these inputs: its tools, the deadline of a tick, the prompt of what Holdfast has submitted. */
export function settingsFor(config: Config, agent: AgentSettings, inputs: readonly Asking[]): AgentSettings {
  const [first] = inputs;
  if (first === undefined) return agent;
  const timeoutSeconds = toOwnInput(first)?.timeoutSeconds;
  const { promptMode, systemPrompt } = first.body as InboundMessage;
  const toolPolicies = policiesFor(config, agent, inputs);
  const { externalTools } = optionsOfInputs(inputs);
  const changes = given({ timeoutSeconds, promptMode, systemPromptOverride: systemPrompt, externalTools });
  if (Object.keys(changes).length === 0 && toolPolicies === agent.toolPolicies) return agent;
  return {
    ...agent,
    toolPolicies,
    ...changes,
  };
}

/**
 * The policies of the agent and of the inputs. The items of a batch, which are often the texts of strangers, are answered without a person
 * who reads them first: without a list of what they may use, they only read.
 */
function policiesFor(
  { tools: { gateway }, owner }: Config,
  { toolPolicies }: AgentSettings,
  inputs: readonly Asking[],
): AgentSettings['toolPolicies'] {
  const { tools } = optionsOfInputs(inputs);
  const isForOthers = gateway.enabled && !inputs.every((input) => isOfOwner(input, owner.ids));
  const policies =
    tools === undefined && !isForOthers
      ? toolPolicies
      : [
          ...toolPolicies,
          ...(tools === undefined ? [] : [tools]),
          ...(isForOthers ? [{ deny: [...OWNER_TOOLS] }] : []),
        ];
  const isListed = policies.some(({ allow }) => allow !== undefined);
  return inputs[0]?.kind === 'batch' && !isListed ? [...policies, { readOnly: true }] : policies;
}

/** Only ticks and polls can set these fields: in messages they are refused when the message is accepted. */
function toOwnInput({ kind, body }: Asking): OwnInput | null {
  return kind === 'cron' || kind === 'heartbeat' ? (body as OwnInput) : null;
}
