// Starts a turn: chooses its inputs, drains its events, assembles its prompt, and commits all of it
// in one statement. From then on a retry finds everything again (G13).
//
// A message that begins a new session (`/new`, `/reset`) waits in the inbox like any other. When
// its turn starts, the current transcript ends, and the turn is the first of the next one. The same
// applies to a message after the hour or the idle time of a reset policy.
//
// An input may keep workers from opening a turn, for any cause: the prompt code hangs on it,
// crashes the process or throws. No turn is open then, so the crash count of a turn does not
// include it; the session counts the claims that were lost (G17).
import type { RequestBase } from '../../../core/model-request.ts';
import type { TurnKind } from '../../../core/statuses.ts';
import { agentOf, isAgent, modelRefOf, type AgentSettings } from '../../../config.ts';
import { timeOfId, type TurnId } from '../../../core/ids.ts';
import { inputsWithEqualExpiry, selectInputs } from '../../../core/queue-mode.ts';
import { modelOfRef, namedModel } from '../../../core/models.ts';
import { newId } from '../../../ids.ts';
import type { SessionClaim, WaitingInput } from '../../sessions/claim-session.ts';
import type { ClaimedSession } from '../../sessions/claimed-session.ts';
import { assembleTurn } from './assemble-turn.ts';
import {
  mentionsOverflow,
  beginsTranscript,
  isSuperfluous,
  leaveOut,
  settingsFor,
  computeRoom,
} from './write-prompt.ts';
import type { TurnContext } from '../context.ts';
import { chooseHarness } from './asked-model.ts';
import { lockLost, type HeldSession } from '../held-session.ts';
import { viewOfTransform } from '../../../model/stream/replace-text.ts';
import { withKey } from '../gate/gate.ts';
import { completeViews, decidePast, familyView, providerView, deriveProvenance, scopeView } from './open-view.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import { newEntry } from '../position.ts';
import { openNewTurn, type NewTurnParts } from './build-turn.ts';
import { takeSnapshot, Transcript, type ClaimWithTranscript } from '../transcript-cache.ts';
import { notifyLlmInput } from './turn-hooks.ts';
import { TurnFailed } from '../turn-stop.ts';
import { isReset, hasCommands } from '../../rules/chat-command.ts';
import type { InboundMessage } from '../../../core/inbound.ts';
import { viewAfterReset } from '../../../core/view.ts';
import { resetDue } from '../../rules/reset-policy.ts';
import { readLastTalk } from '../../inbox/last-inputs.ts';
import { resetClaimed } from '../../sessions/reset-session.ts';

/**
 * Opens the next turn of a claimed session; null when there is nothing to take. Throws
 * `TurnStopped` when the lock is gone.
 */
export async function startTurn(
  context: TurnContext,
  found: ClaimWithTranscript,
  held: HeldSession,
): Promise<OpenedTurn | null> {
  if (found.inputs.length === 0 || found.session.stop !== null) return null;
  if (found.session.lostClaims >= LOST_CLAIMS_MAX) return await giveUpFirst(context, found, held);
  const inputs = chooseInputs(context, found);
  const [first] = inputs;
  if (first === undefined) return null;
  if (isSuperfluous(first, found.events)) {
    await leaveOut(context, held, first);
    return null;
  }
  const reason = await resetReason(context, found.session, first);
  const claim = reason === null ? found : await resetTranscript(context, found, held, reason);
  const { session } = claim;
  const transcript = buildTranscript(claim);
  const agent = settingsFor(context.config, resolveSettings(context, session), inputs);
  const parts = { session, agent, held, transcript, inputs };
  if (first.kind === 'compaction')
    return await openUnpromptedTurn(context, { ...parts, kind: 'compaction', failure: null });
  return await openPromptedTurn(context, claim, parts);
}

/** Why the transcript ends before this input; null: it continues. */
async function resetReason(context: TurnContext, session: ClaimedSession, first: WaitingInput) {
  if (session.leafSeq === null) return null;
  if (beginsTranscript(first)) return 'cron';
  return requestsReset(context, first) ? 'message' : await staleReason(context, session, first);
}

async function openPromptedTurn(
  context: TurnContext,
  claim: SessionClaim,
  parts: Pick<NewTurnParts, 'session' | 'agent' | 'held' | 'transcript'> & { inputs: WaitingInput[] },
): Promise<OpenedTurn | null> {
  const { session, agent, transcript, inputs } = parts;
  const id = newId<TurnId>();
  const past = decidePast(context, { session, agent, transcript, inputs });
  const material = { turnId: id, claim, inputs, agent, past };
  const assembly = await assembleTurn(context, material);
  const { request, prompt } = assembly;
  const scope = scopeView(context, withKey(context, session.id, namedModel(request)));
  const opened = completeViews(session, past, { ...assembly, view: { ...assembly.view, ...scope } });
  const harness = chooseHarness(context, agent, { request, session });
  // A request that is given is one that was sent: its texts are replaced already.
  const transform =
    assembly.view.given === undefined
      ? viewOfTransform(context.plugins.textTransforms.input, agent.contextTokens)
      : undefined;
  const view = { ...opened.view, ...familyView(context, request), ...transform, ...harness.view };
  const failure = assembly.failure ?? harness.failure;
  const hasOverflow = mentionsOverflow(inputs) && session.overflowed > 0;
  const provenance = deriveProvenance(inputs, {
    ownerIds: context.config.owner.ids,
    // Who has sent what was dropped is not known.
    isOfOthers: hasOverflow || claim.events.some(({ isTrusted }) => !isTrusted),
  });
  const turn = await openNewTurn(context, {
    ...parts,
    id,
    kind: chooseTurnKind(inputs),
    failure,
    request,
    toolset: assembly.toolset,
    view,
    sessionView: opened.sessionView,
    thinking: prompt.thinking,
    prompt: {
      ...newEntry('prompt', 'user', [...(prompt.content ?? [{ type: 'text' as const, text: prompt.text }])]),
      provenance,
    },
    promptParts: prompt.parts,
    orphans: past.orphans,
    ...(hasOverflow
      ? { overflow: { ids: claim.overflow.map((message) => message.id), count: session.overflowed } }
      : undefined),
    eventIds: claim.events.map((event) => event.id),
    snapshots: assembly.snapshots,
  });
  if (turn !== null && failure === null && view.given === undefined) {
    notifyLlmInput(context, material, { request, prompt: prompt.text, view: turn.journal.attempt.requests });
  }
  return turn;
}

/**
 * Opens a turn that settles the first input as failed, with a dead letter (G17). Nothing of its
 * text is read.
 */
async function giveUpFirst(
  context: TurnContext,
  found: ClaimWithTranscript,
  held: HeldSession,
): Promise<OpenedTurn | null> {
  const inputs = found.inputs.slice(0, 1);
  return await openUnpromptedTurn(context, {
    kind: chooseTurnKind(inputs),
    session: found.session,
    held,
    transcript: buildTranscript(found),
    inputs,
    agent: settingsFor(context.config, resolveSettings(context, found.session), inputs),
    failure: notOpened(),
  });
}

type UnpromptedTurn = Pick<NewTurnParts, 'kind' | 'session' | 'agent' | 'held' | 'transcript' | 'inputs' | 'failure'>;

/**
 * Opens a turn that says nothing to the model. It puts no prompt into the transcript, but is
 * recorded, stopped and resumed like any other.
 */
async function openUnpromptedTurn(context: TurnContext, turn: UnpromptedTurn): Promise<OpenedTurn | null> {
  const { session, agent } = turn;
  const model = modelRefOf(agent, session.model ?? agent.model) ?? agent.model;
  const request: RequestBase = { ...modelOfRef(model), maxTokens: 1, system: [], tools: [] };
  return await openNewTurn(context, {
    ...turn,
    id: newId<TurnId>(),
    request,
    toolset: null,
    view: providerView(request),
    sessionView: null,
    thinking: null,
    prompt: null,
    promptParts: null,
    orphans: [],
    eventIds: [],
    snapshots: [takeSnapshot(request.system)],
  });
}

/** The transcript of a claimed session: the worker's cached one, with the entries of the claim. */
export function buildTranscript(claim: ClaimWithTranscript): Transcript {
  const { kept } = claim;
  const transcript = claim.isWhole || kept === null ? new Transcript(claim.session.transcriptVersion) : kept;
  for (const entry of claim.entries) transcript.push(entry);
  return transcript;
}

/**
 * The settings of a session's agent; those of the first agent when the configuration no longer has
 * it.
 */
export function resolveSettings(context: TurnContext, session: ClaimedSession): AgentSettings {
  const { config } = context;
  return agentOf(config, isAgent(config, session.agentId) ? session.agentId : (config.agents.list[0]?.id ?? 'main'));
}

function chooseInputs(context: TurnContext, claim: SessionClaim): WaitingInput[] {
  const { lostClaims, collectMax } = claim.session;
  const most = lostClaims < ALONE_FROM_LOST_CLAIMS ? (collectMax ?? claim.inputs.length) : 1;
  const waiting = claim.inputs.slice(0, most);
  const selected = selectInputs(waiting, {
    room: computeRoom(context, claim.session, resolveSettings(context, claim.session), claim.session.contextTokens),
    isReset: (input) => requestsReset(context, input),
  });
  return inputsWithEqualExpiry(selected, context.clock.now().getTime());
}

/** The kind of a turn, as the API shows it. */
function chooseTurnKind([first]: WaitingInput[]): TurnKind {
  const kind = first?.kind ?? 'message';
  return kind === 'announcement' ? 'announce' : kind;
}

/** After this many consecutive claims that opened no turn, the first input fails. */
export const LOST_CLAIMS_MAX = 3;
/** After this many, it is claimed alone, so that the inputs after it do not fail with it. */
export const ALONE_FROM_LOST_CLAIMS = LOST_CLAIMS_MAX - 1;

/** Why such an input fails. */
export function notOpened(): TurnFailed {
  return new TurnFailed(
    'poison',
    `The message was claimed ${LOST_CLAIMS_MAX} times, and each time its worker crashed or stalled before it could open a turn.`,
  );
}

/** True for a message of an authorised sender that begins a new session. */
export function requestsReset({ config }: TurnContext, input: Pick<WaitingInput, 'kind' | 'body'>): boolean {
  if (input.kind !== 'message') return false;
  const message = input.body as InboundMessage;
  return isReset(message.text, config.session.resetTriggers) && hasCommands(message, config.owner.ids);
}

/**
 * Why the reset policy ends the transcript before this message; null: it continues. Reads nothing
 * where there is no policy.
 */
export async function staleReason(
  context: TurnContext,
  { id: sessionId, agentId }: Pick<ClaimedSession, 'id' | 'agentId'>,
  input: Pick<WaitingInput, 'id' | 'kind' | 'body' | 'seq' | 'receivedAt'>,
): Promise<'daily' | 'idle' | null> {
  const { config, store } = context;
  const policy = config.session.reset;
  if (policy.mode === 'none' || input.kind !== 'message') return null;
  const lastTalkMs = await readLastTalk(store.database, { sessionId, beforeSeq: input.seq });
  const timeZone = isAgent(config, agentId)
    ? agentOf(config, agentId).userTimezone
    : config.agents.defaults.userTimezone;
  return resetDue({ policy, timeZone, lastTalkMs, nowMs: firstReceivedMs(input) });
}

/**
 * When a message first came into its session: one that is retried continues the conversation that
 * it was sent to.
 */
function firstReceivedMs({ id, body, receivedAt }: Pick<WaitingInput, 'id' | 'body' | 'receivedAt'>): number {
  const { deliverAt = 0 } = body as InboundMessage;
  return Math.min(receivedAt, Math.max(timeOfId(id), deliverAt));
}

/** The claim after its transcript has ended. Throws `TurnStopped` when the lock is lost. */
export async function resetTranscript<Claim extends SessionClaim>(
  context: TurnContext,
  claim: Claim,
  held: HeldSession,
  reason: 'message' | 'daily' | 'idle' | 'cron',
): Promise<Claim> {
  const { session } = claim;
  held.assertHeld();
  const { id: sessionId, epoch, transcriptNo, transcriptVersion } = session;
  if (!(await resetClaimed(context.store.database, { sessionId, epoch, transcriptNo, reason }))) throw lockLost(held);
  return {
    ...claim,
    entries: [],
    isWhole: true,
    session: {
      ...session,
      transcriptNo: transcriptNo + 1,
      transcriptVersion: transcriptVersion + 1,
      leafSeq: null,
      wasAborted: false,
      view: viewAfterReset(session.view),
      contextTokens: 0,
    },
  };
}
