// Which of the claimed inputs a turn takes, how much of them fits, and the user prompt that is
// written from them.
import type { Config, AgentSettings } from '../../../config.ts';
import { chooseMessageFeatures } from '../../../config/agent-settings.ts';
import { formatSummaryLine, type TurnRoom } from '../../../core/queue-mode.ts';
import { channelOf, type InboundMessage, isOfOwner, type OwnInput } from '../../../core/inbound.ts';
import { channelSummary } from '../../../prompt/inbound-meta.ts';
import { buildUserPrompt, type UserPrompt } from '../../../prompt/user-prompt.ts';
import type { WaitingInput, WaitingEvent } from '../../sessions/claim-session.ts';
import { MESSAGE_TOOL } from '../../../tools/message-tool.ts';
import type { Toolset } from '../../../tools/toolset.ts';
import type { TurnContext } from '../context.ts';
import type { PromptFacts, TurnMaterial } from './turn-hooks.ts';
import { given } from '../../../core/json.ts';
import { pickPromptZone } from '../../../config/agent-settings.ts';
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../../clock.ts';
import { optionsOfInputs } from '../../../core/input-options.ts';
import { OWNER_TOOLS } from '../../../core/tool-policy.ts';
import { settleWithoutTurn } from '../../inbox/cancel-message.ts';
import { lockLost, type HeldSession } from '../held-session.ts';
import { roomTokens } from '../../../compaction/plan-compaction.ts';
import { CHARS_PER_TOKEN } from '../../../core/content-size.ts';
import type { ClaimedSession } from '../../sessions/claimed-session.ts';

/**
 * True when the prompt of these inputs mentions messages that were dropped over the cap: one of
 * them is from a sender.
 */
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

// Runs long work of the core in slices, between which the process serves other sessions, its API
// and its leases. The core stays pure: it yields where its work can be divided. Work that is
// shorter than a slice costs no turn of the event loop.

/**
 * With the longest piece that follows, the folding of a long message, a slice stays below 50 ms.
 */
const SLICE_MS = 20;

export async function runInSlices<Result>(clock: Clock, work: Generator<undefined, Result>): Promise<Result> {
  let beganMs = clock.monotonicMs();
  for (;;) {
    const piece = work.next();
    if (piece.done === true) return piece.value;
    if (clock.monotonicMs() - beganMs < SLICE_MS) continue;
    await setImmediate();
    beganMs = clock.monotonicMs();
  }
}

// Settings that inputs written by Holdfast have for their turn, in addition to their text.

type Asking = Pick<WaitingInput, 'kind' | 'body'>;

/** True for a tick that begins a new transcript. */
export function beginsTranscript(input: Asking): boolean {
  return toOwnInput(input)?.isFresh === true;
}

/**
 * True for a poll that only announces a system event, when an earlier prompt has contained that
 * event.
 */
export function isSuperfluous(input: Asking, events: readonly WaitingEvent[]): boolean {
  const eventId = input.kind === 'heartbeat' ? toOwnInput(input)?.eventId : undefined;
  return eventId !== undefined && !events.some(({ id }) => id === eventId);
}

/**
 * Settles a redundant poll without a turn: no model is called. Throws `TurnStopped` when the lock
 * is lost.
 */
export async function leaveOut(context: TurnContext, held: HeldSession, input: WaitingInput): Promise<void> {
  held.assertHeld();
  const { sessionId, epoch } = held;
  const { isHeld } = context.publish(
    await settleWithoutTurn(context.store.database, { sessionId, epoch, messageId: input.id }),
  );
  if (!isHeld) throw lockLost(held);
}

/**
 * The settings of a turn with these inputs: its tools, the deadline of a tick, the prompt of what
 * Holdfast has submitted.
 */
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
 * The policies of the agent and of the inputs. The items of a batch, which are often the texts of
 * strangers, are answered without a person who reads them first: without a list of what they may
 * use, they only read.
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

/**
 * Only ticks and polls can set these fields: in messages they are refused when the message is
 * accepted.
 */
function toOwnInput({ kind, body }: Asking): OwnInput | null {
  return kind === 'cron' || kind === 'heartbeat' ? (body as OwnInput) : null;
}

// How much one turn of a session takes: the number of messages that the session or the
// configuration sets, and what fits into its context.

/** The largest number of messages of one turn, and of messages that join it together. */
export function toCap({ config }: Pick<TurnContext, 'config'>, { queueCap }: Pick<ClaimedSession, 'queueCap'>): number {
  return queueCap ?? config.messages.queue.cap;
}

/** What a turn of this agent takes beside the tokens that its context has already. */
export function computeRoom(
  context: Pick<TurnContext, 'config'>,
  session: Pick<ClaimedSession, 'queueCap'>,
  { contextTokens, compaction }: Pick<AgentSettings, 'contextTokens' | 'compaction'>,
  usedTokens: number,
): TurnRoom {
  const tokens = roomTokens({ contextTokens, ...compaction }, usedTokens);
  return { cap: toCap(context, session), chars: tokens * CHARS_PER_TOKEN };
}
