// Starts a turn: chooses its inputs, drains its events, assembles its prompt, and commits all of it in one statement. From
// then on a retry finds everything again (G13).
import type { TurnKind } from '../../core/statuses.ts';
import { agentOf, isAgent, modelRefOf, type AgentSettings } from '../../config.ts';
import type { TurnId } from '../../core/ids.ts';
import { inputsWithEqualExpiry } from '../../core/message-expiry.ts';
import { modelOfRef } from '../../core/model-ref.ts';
import { selectInputs } from '../../core/queue-mode.ts';
import { newId } from '../../ids.ts';
import type { SessionClaim, WaitingInput } from '../../store/claim-session.ts';
import type { ClaimedSession } from '../../store/claimed-session.ts';
import { assembleTurn } from './assemble-turn.ts';
import { mentionsOverflow } from './write-prompt.ts';
import type { RequestBase, TurnContext } from '../context.ts';
import { chooseHarness } from '../loop/harness.ts';
import type { HeldSession } from '../held-session.ts';
import { viewOfTransform } from '../loop/input-transform.ts';
import { beginsTranscript, isSuperfluous, leaveOut, settingsFor } from './own-inputs.ts';
import { roomOf } from './queue-cap.ts';
import { completeViews, decidePast, familyView, providerView, provenanceOf } from './open-view.ts';
import { requestsReset, resetTranscript, staleReason } from './reset-at-start.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import type { ClaimWithTranscript } from '../turn-state.ts';
import { newEntry } from '../turn-write.ts';
import { openNewTurn, type NewTurnParts } from './open-turn.ts';
import { snapshotOf } from '../snapshot-cache.ts';
import { Transcript } from '../transcript-cache.ts';
import { tellLlmInput } from './turn-hooks.ts';
import { ALONE_FROM_LOST_CLAIMS, LOST_CLAIMS_MAX, notOpened } from './unopened-input.ts';

/** Opens the next turn of a claimed session; null when there is nothing to take. Throws `TurnStopped` when the lock is gone. */
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
  const transcript = transcriptOf(claim);
  const agent = settingsFor(settingsOf(context, session), inputs);
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
  const opened = completeViews(session, past, assembly);
  const harness = chooseHarness(context, agent, request);
  const transform = viewOfTransform(context.plugins.textTransforms.input, agent.contextTokens);
  const view = { ...opened.view, ...familyView(context, request), ...transform, ...harness.view };
  const failure = assembly.failure ?? harness.failure;
  const turn = await openNewTurn(context, {
    ...parts,
    id,
    kind: turnKindOf(inputs),
    failure,
    request,
    view,
    sessionView: opened.sessionView,
    thinking: prompt.thinking,
    prompt: {
      ...newEntry('prompt', 'user', [{ type: 'text', text: prompt.text }]),
      provenance: provenanceOf(inputs),
    },
    promptParts: prompt.parts,
    orphans: past.orphans,
    ...(mentionsOverflow(inputs) && session.overflowed > 0
      ? { overflow: { ids: claim.overflow.map((message) => message.id), count: session.overflowed } }
      : undefined),
    eventIds: claim.events.map((event) => event.id),
    snapshots: assembly.snapshots,
  });
  if (turn !== null && failure === null) {
    tellLlmInput(context, material, { request, prompt: prompt.text, view: turn.journal.attempt.requests });
  }
  return turn;
}

/** Opens a turn that settles the first input as failed, with a dead letter (G17). Nothing of its text is read. */
async function giveUpFirst(
  context: TurnContext,
  found: ClaimWithTranscript,
  held: HeldSession,
): Promise<OpenedTurn | null> {
  const inputs = found.inputs.slice(0, 1);
  return await openUnpromptedTurn(context, {
    kind: turnKindOf(inputs),
    session: found.session,
    held,
    transcript: transcriptOf(found),
    inputs,
    agent: settingsFor(settingsOf(context, found.session), inputs),
    failure: notOpened(),
  });
}

type UnpromptedTurn = Pick<NewTurnParts, 'kind' | 'session' | 'agent' | 'held' | 'transcript' | 'inputs' | 'failure'>;

/** Opens a turn that says nothing to the model. It puts no prompt into the transcript, but is recorded, stopped and resumed like any other. */
async function openUnpromptedTurn(context: TurnContext, turn: UnpromptedTurn): Promise<OpenedTurn | null> {
  const { session, agent } = turn;
  const model = modelRefOf(agent, session.model ?? agent.model) ?? agent.model;
  const request: RequestBase = { ...modelOfRef(model), maxTokens: 1, system: [], tools: [] };
  return await openNewTurn(context, {
    ...turn,
    id: newId<TurnId>(),
    request,
    view: providerView(request),
    sessionView: null,
    thinking: null,
    prompt: null,
    promptParts: null,
    orphans: [],
    eventIds: [],
    snapshots: [snapshotOf(request.system)],
  });
}

/** The transcript of a claimed session: the worker's cached one, with the entries of the claim. */
export function transcriptOf(claim: ClaimWithTranscript): Transcript {
  const { kept } = claim;
  const transcript = claim.isWhole || kept === null ? new Transcript(claim.session.transcriptVersion) : kept;
  for (const entry of claim.entries) transcript.push(entry);
  return transcript;
}

/** The settings of a session's agent; those of the first agent when the configuration no longer has it. */
export function settingsOf(context: TurnContext, session: ClaimedSession): AgentSettings {
  const { config } = context;
  return agentOf(config, isAgent(config, session.agentId) ? session.agentId : (config.agents.list[0]?.id ?? 'main'));
}

function chooseInputs(context: TurnContext, claim: SessionClaim): WaitingInput[] {
  const { lostClaims, collectMax } = claim.session;
  const most = lostClaims < ALONE_FROM_LOST_CLAIMS ? (collectMax ?? claim.inputs.length) : 1;
  const waiting = claim.inputs.slice(0, most);
  const selected = selectInputs(waiting, {
    room: roomOf(context, claim.session, settingsOf(context, claim.session), claim.session.contextTokens),
    isReset: (input) => requestsReset(context, input),
  });
  return inputsWithEqualExpiry(selected, context.clock.now().getTime());
}

/** The kind of a turn, as the API shows it. */
function turnKindOf([first]: WaitingInput[]): TurnKind {
  const kind = first?.kind ?? 'message';
  return kind === 'announcement' ? 'announce' : kind;
}
