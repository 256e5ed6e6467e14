// Starts a turn: chooses its inputs, drains its events, assembles its prompt, and commits all of it in one statement. From
// then on a retry finds everything again (G13).
import type { TurnKind } from '../../core/turn-kind.ts';
import { agentOf, isAgent, type AgentSettings, type QueueMode } from '../../config.ts';
import type { Entry } from '../../core/entry.ts';
import type { EntryId, TurnId } from '../../core/ids.ts';
import { modelName } from '../../core/model-ref.ts';
import { inputsWithEqualExpiry } from '../../core/message-expiry.ts';
import { selectInputs } from '../../core/queue-mode.ts';
import { roleAt } from '../../core/subagent-role.ts';
import { estimateTokens } from '../../core/token-estimate.ts';
import { newId } from '../../ids.ts';
import type { SessionClaim, WaitingInput } from '../../store/claim-session.ts';
import type { ClaimedSession } from '../../store/claimed-session.ts';
import { assembleTurn } from './assemble-turn.ts';
import { mentionsOverflow } from './write-prompt.ts';
import type { TurnContext } from '../context.ts';
import { roomOf } from '../compact/context-room.ts';
import { chooseHarness } from '../loop/harness.ts';
import type { HeldSession } from '../held-session.ts';
import { viewOfTransform } from '../loop/input-transform.ts';
import { modelStarted } from '../loop/model-events.ts';
import { beginsTranscript, isSuperfluous, leaveOut, settingsFor } from './own-inputs.ts';
import { capOf } from './queue-cap.ts';
import { completeViews, decidePast, familyView, provenanceOf, viewRules } from './open-view.ts';
import { RequestView } from '../request-view.ts';
import { requestsReset, resetTranscript, staleReason } from './reset-at-start.ts';
import { lockLost, type RunningTurn } from '../running-turn.ts';
import { snapshotOf } from '../snapshot-cache.ts';
import { Transcript } from '../transcript-cache.ts';
import { chainOf } from '../loop/step-down.ts';
import { tellLlmInput } from './turn-hooks.ts';
import { ALONE_FROM_LOST_CLAIMS, LOST_CLAIMS_MAX, notOpened } from './unopened-input.ts';
import { openUnpromptedTurn } from './unprompted-turn.ts';

/** Opens the next turn of a claimed session; null when there is nothing to take. Throws `TurnStopped` when the lock is gone. */
export async function startTurn(
  context: TurnContext,
  found: ClaimWithTranscript,
  held: HeldSession,
): Promise<RunningTurn | null> {
  if (found.inputs.length === 0 || found.session.stop !== null) return null;
  if (found.session.lostClaims >= LOST_CLAIMS_MAX) return await giveUpFirst(context, found, held);
  const inputs = chooseInputs(context, found);
  const [first] = inputs;
  if (first === undefined) return null;
  if (isSuperfluous(first, found.events)) {
    await leaveOut(context, held, first);
    return null;
  }
  const isNewlyAsked = found.session.leafSeq !== null && requestsReset(context, first);
  const isFresh = found.session.leafSeq !== null && beginsTranscript(first);
  const stale =
    found.session.leafSeq === null || isNewlyAsked || isFresh ? null : await staleReason(context, found.session, first);
  const claim =
    isNewlyAsked || isFresh || stale !== null
      ? await resetTranscript(context, found, held, isFresh ? 'cron' : (stale ?? 'message'))
      : found;
  const { session } = claim;
  const transcript = transcriptOf(claim);
  const agent = settingsFor(settingsOf(context, session), inputs);
  if (inputs[0]?.kind === 'compaction') {
    return await openUnpromptedTurn(context, claim, {
      kind: 'compaction',
      held,
      transcript,
      inputs,
      agent,
      failure: null,
    });
  }
  const past = decidePast(context, { session, agent, transcript, inputs });
  const turnId = newId<TurnId>();
  const material = { turnId, claim, inputs, agent, past };
  const assembly = await assembleTurn(context, material);
  const { sessionView, ...opened } = completeViews(session, past, assembly);
  const harness = chooseHarness(context, agent, assembly.request);
  const transform = viewOfTransform(context.plugins.textTransforms.input, agent.contextTokens);
  const view = { ...opened.view, ...familyView(context, assembly.request), ...transform, ...harness.view };
  const [orphan] = past.orphans;
  const snapshots = assembly.snapshots.filter((snapshot) => !context.knownSnapshots.has(snapshot.sha256));
  const prompt: Entry = {
    id: newId<EntryId>(),
    seq: session.entrySeq + 1,
    parentSeq: session.leafSeq,
    kind: 'prompt',
    role: 'user',
    content: [{ type: 'text', text: assembly.prompt.text }],
    turnId,
    provenance: provenanceOf(inputs),
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
    prompt: { ...prompt, parts: assembly.prompt.parts },
    ...(orphan === undefined ? undefined : { hiddenFromSeq: orphan.seq }),
    view,
    sessionView,
    inputIds: inputs.map((input) => input.id),
    ...(mentionsOverflow(inputs) && session.overflowed > 0
      ? { overflow: { ids: claim.overflow.map(({ id }) => id), count: session.overflowed } }
      : {}),
    eventIds: claim.events.map((event) => event.id),
    systemSha256: snapshotOf(assembly.request.system).sha256,
    toolsSha256: snapshotOf(assembly.request.tools).sha256,
    snapshots,
    queuedAt: new Date(inputs[0]?.receivedAt ?? 0),
    claimedAt: context.clock.now(),
    events: [
      { type: 'turn.started', data: { kind, messageIds: inputs.map((input) => input.id), attempt: 1 } },
      modelStarted(turnId, 1),
    ],
  });
  if (opening.kind === 'fenced') throw lockLost({ held });
  if (opening.kind === 'stopped') return null;
  for (const { sha256 } of snapshots) context.knownSnapshots.add(sha256);
  if (orphan !== undefined) hideOrphans(context, claim, transcript, past.orphans);
  transcript.push(prompt);
  context.onCommit(session.id, 'progress');
  const { request } = assembly;
  const failure = assembly.failure ?? harness.failure;
  const requests = new RequestView(
    transcript,
    await viewRules(context, { view, promptSeq: prompt.seq, model: modelName(request) }),
  );
  if (failure === null) tellLlmInput(context, material, { request, prompt: assembly.prompt.text, view: requests });
  return {
    id: turnId,
    kind,
    session,
    agent,
    held,
    inputs,
    request,
    chain: chainOf(context, agent, request),
    fallback: null,
    toolset: context.toolsetOf(agent.id, roleAt(session.depth, agent.subagents.maxSpawnDepth)),
    requests,
    sessionView: sessionView ?? session.view,
    isSessionViewChanged: false,
    transcript,
    lastEntry: prompt,
    thinking: assembly.prompt.thinking ?? agent.thinking,
    baseSeq: prompt.seq,
    failure,
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
    room: roomOf(session.contextTokens, estimateTokens([prompt])),
    ledger: [],
    steers: { known: session.steerSeq, seen: session.steerSeq },
    mustCharge: false,
    idleTimeoutsInARow: 0,
    park: null,
    callWithoutAnswer: null,
  };
}

/** Opens a turn that settles the first input as failed, with a dead letter (G17). Nothing of its text is read. */
async function giveUpFirst(
  context: TurnContext,
  found: ClaimWithTranscript,
  held: HeldSession,
): Promise<RunningTurn | null> {
  const inputs = found.inputs.slice(0, 1);
  return await openUnpromptedTurn(context, found, {
    kind: turnKindOf(inputs),
    held,
    transcript: transcriptOf(found),
    inputs,
    agent: settingsFor(settingsOf(context, found.session), inputs),
    failure: notOpened(),
  });
}

// The rows stay; the model sees the transcript without them from now on.
function hideOrphans(
  context: TurnContext,
  { session }: SessionClaim,
  transcript: Transcript,
  orphans: readonly { seq: number }[],
): void {
  const seqs = orphans.map(({ seq }) => seq);
  transcript.hide(new Set(seqs), session.transcriptVersion + 1);
  context.logger.warn({ sessionKey: session.key, seqs }, 'Prompts without an answer are hidden');
}

/** A claimed session, with the transcript of it that this worker had kept; null: none. */
export type ClaimWithTranscript = SessionClaim & { kept: Transcript | null };

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
  const waiting = claim.session.lostClaims < ALONE_FROM_LOST_CLAIMS ? claim.inputs : claim.inputs.slice(0, 1);
  const inputs = waiting.map((input) => ({ ...input, mode: input.mode as QueueMode | null }));
  const selected = selectInputs(inputs, {
    cap: capOf(context, claim.session),
    isReset: (input) => requestsReset(context, input),
  });
  return inputsWithEqualExpiry(selected, context.clock.now().getTime());
}

/** The kind of a turn, as the API shows it. */
function turnKindOf([first]: WaitingInput[]): TurnKind {
  const kind = first?.kind ?? 'message';
  return kind === 'announcement' ? 'announce' : kind;
}
