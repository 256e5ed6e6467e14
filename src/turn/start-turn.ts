// Starts a turn: chooses its inputs, drains its events, assembles its prompt, and commits all of it at once. From here a retry
// finds everything again (G13).
import { agentOf, isAgent, type AgentSettings, type QueueMode, type ThinkingLevel } from '../config.ts';
import type { Entry } from '../core/entry.ts';
import type { EntryId, TurnId } from '../core/ids.ts';
import type { InboundMessage } from '../core/inbound.ts';
import { channelOf } from '../core/inbound.ts';
import { resolveEnvelopeZone } from '../core/prompt/envelope-time.ts';
import { buildUserPrompt, type UserPrompt } from '../core/prompt/user-prompt.ts';
import { selectInputs } from '../core/queue-mode.ts';
import { newId } from '../ids.ts';
import { isPassingFault } from '../store/database.ts';
import type { Claim, ClaimedSession, WaitingInput } from '../store/claim-session.ts';
import { assembleRequest, snapshotOf } from './assemble-request.ts';
import type { RequestBase, TurnContext } from './context.ts';
import type { HeldSession } from './held-session.ts';
import { lockLost, type RunningTurn } from './running-turn.ts';
import { Transcript } from './transcript-cache.ts';
import { TurnFailed } from './turn-end.ts';

type Claimed = Extract<Claim, { kind: 'claimed' }>;

/** Opens the next turn of a claimed session; null when there is nothing to take. Throws `TurnStopped` when the lock is gone. */
export async function startTurn(context: TurnContext, claim: Claimed, held: HeldSession): Promise<RunningTurn | null> {
  const { session } = claim;
  const transcript = transcriptOf(context, claim);
  const inputs = chooseInputs(context, claim);
  if (inputs.length === 0 || session.stopReason !== null) return null;
  const agent = settingsOf(context, session);
  const assembly = await assemble(context, claim, inputs, agent);
  const system = snapshotOf(assembly.request.system);
  const tools = snapshotOf(assembly.request.tools);
  const snapshots = [system, tools].filter((snapshot) => !context.knownSnapshots.has(snapshot.sha256));
  const turnId = newId<TurnId>();
  const prompt: Entry = {
    id: newId<EntryId>(),
    seq: session.entrySeq + 1,
    parentSeq: session.leafSeq,
    kind: 'prompt',
    role: 'user',
    content: [{ type: 'text', text: assembly.prompt.text }],
    turnId,
  };
  const kind = turnKindOf(inputs);
  held.assertHeld();
  const opening = await context.store.openTurn({
    fence: { sessionId: session.id, epoch: session.epoch, baseSeq: session.entrySeq },
    turnId,
    kind,
    lane: session.lane,
    worker: context.locks.owner,
    model: assembly.request.model,
    thinking: assembly.prompt.thinking,
    prompt,
    inputIds: inputs.map((input) => input.id),
    eventIds: claim.events.map((event) => event.id),
    systemSha256: system.sha256,
    toolsSha256: tools.sha256,
    snapshots,
    queuedAt: new Date(inputs[0]?.receivedAt ?? 0),
    claimedAt: context.clock.now(),
    events: [
      { type: 'turn.started', data: { kind, messageIds: inputs.map((input) => input.id), attempt: 1 } },
      { type: 'model.started', data: { call: 1 } },
    ],
  });
  if (opening.kind === 'fenced') throw lockLost({ held });
  if (opening.kind === 'stopped') return null;
  for (const { sha256 } of snapshots) context.knownSnapshots.add(sha256);
  transcript.push(prompt);
  context.onCommit(session.id, 'progress');
  return {
    id: turnId,
    session,
    agent,
    held,
    inputs,
    request: assembly.request,
    toolset: context.toolsetOf(agent.id),
    transcript,
    lastEntry: prompt,
    failure: assembly.failure,
    progress: {
      turnId,
      calls: 1,
      retries: 0,
      steps: 0,
      inputTokens: 0,
      outputTokens: 0,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
    },
    contextTokens: 0,
    ledger: [],
    mustCharge: false,
    callWithoutAnswer: null,
  };
}

/** The transcript of a claimed session: what the worker kept, with what the claim brought. */
export function transcriptOf(context: TurnContext, claim: Claimed): Transcript {
  const kept = context.transcripts.take(claim.session.id);
  const transcript = claim.isWhole || kept === null ? new Transcript(claim.session.transcriptVersion) : kept;
  for (const entry of claim.entries) transcript.push(entry);
  return transcript;
}

/** The settings of a session's agent; those of the first agent when the configuration does not know it any more. */
export function settingsOf(context: TurnContext, session: ClaimedSession): AgentSettings {
  const { config } = context;
  return agentOf(config, isAgent(config, session.agentId) ? session.agentId : (config.agents.list[0]?.id ?? 'main'));
}

function chooseInputs(context: TurnContext, claim: Claimed): WaitingInput[] {
  const { queue } = context.config.messages;
  const first = claim.inputs[0];
  const channel = first?.kind === 'message' ? channelOf(first.body as InboundMessage) : claim.session.channel;
  return selectInputs(
    claim.inputs.map((input) => ({ ...input, mode: input.mode as QueueMode | null })),
    { session: claim.session.queueMode as QueueMode | null, channel, byChannel: queue.byChannel, global: queue.mode },
  );
}

interface Assembly {
  prompt: Pick<UserPrompt, 'text' | 'thinking'>;
  request: RequestBase;
  failure: TurnFailed | null;
}

// What cannot be assembled must still be answered: the turn is opened with the bare texts and ends with the reason.
async function assemble(
  context: TurnContext,
  claim: Claimed,
  inputs: WaitingInput[],
  agent: AgentSettings,
): Promise<Assembly> {
  const { session } = claim;
  try {
    if (agent.id !== session.agentId)
      throw new TurnFailed('unknown_agent', `The configuration has no agent "${session.agentId}".`);
    const messages = inputs.map((input) => input.body as InboundMessage);
    const prompt = buildUserPrompt({
      kind: promptKindOf(inputs),
      messages,
      events: claim.events,
      zone: resolveEnvelopeZone(agent.envelopeTimezone, { userTimezone: agent.userTimezone, hostTimezone: HOST_ZONE }),
      isNewSession: session.leafSeq === null,
      wasAborted: session.wasAborted,
      thinking: (session.thinking as ThinkingLevel | null) ?? null,
      resetTriggers: context.config.session.resetTriggers,
    });
    const message = messages.at(-1) ?? null;
    const thinking = prompt.thinking ?? agent.thinking;
    const toolset = context.toolsetOf(agent.id);
    const request = await assembleRequest(context, { session, agent, toolset, message, thinking });
    return { prompt, request, failure: null };
  } catch (error) {
    if (isPassingFault(error)) throw error;
    const failure = error instanceof TurnFailed ? error : new TurnFailed('internal_error', String(error), error);
    context.logger.error({ err: error, session: session.key }, 'A prompt could not be assembled');
    const text = inputs.map((input) => String((input.body as InboundMessage).text)).join('\n\n') || '(no text)';
    const request: RequestBase = { model: agent.model, maxTokens: 1, system: [], tools: [] };
    return { prompt: { text, thinking: null }, request, failure };
  }
}

const HOST_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

function promptKindOf(inputs: WaitingInput[]): WaitingInput['kind'] {
  return inputs[0]?.kind ?? 'message';
}

/** The kind of a turn, in the contract's words. */
function turnKindOf(inputs: WaitingInput[]): string {
  const kind = promptKindOf(inputs);
  return kind === 'announcement' ? 'announce' : kind;
}
