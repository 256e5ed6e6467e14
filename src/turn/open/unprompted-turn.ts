// Turns that say nothing to the model: they put no prompt into the transcript, but are claimed, recorded, stopped and resumed like any
// other.
import type { TurnKind } from '../../core/turn-kind.ts';
import { modelRefOf, type AgentSettings } from '../../config.ts';
import type { Entry } from '../../core/entry.ts';
import type { EntryId, TurnId } from '../../core/ids.ts';
import { modelName, modelOfRef, refOfModel } from '../../core/model-ref.ts';
import { roleAt } from '../../core/subagent-role.ts';
import { newId } from '../../ids.ts';
import type { Claim, WaitingInput } from '../../store/claim-session.ts';
import type { RequestBase, TurnContext } from '../context.ts';
import { roomOf } from '../compact/context-room.ts';
import type { HeldSession } from '../held-session.ts';
import { providerView, viewRules } from './open-view.ts';
import { RequestView } from '../request-view.ts';
import { lockLost, type RunningTurn } from '../running-turn.ts';
import { snapshotOf } from '../snapshot-cache.ts';
import type { Transcript } from '../transcript-cache.ts';
import type { TurnFailed } from '../turn-end.ts';

export interface UnpromptedTurn {
  kind: TurnKind;
  held: HeldSession;
  transcript: Transcript;
  /** The input that it settles. */
  inputs: WaitingInput[];
  agent: AgentSettings;
  /** Why it fails as soon as it is open; null: it continues. */
  failure: TurnFailed | null;
}

/** Opens the turn; null when the session was stopped meanwhile. Throws `TurnStopped` when the lock is gone. */
export async function openUnpromptedTurn(
  context: TurnContext,
  claim: Extract<Claim, { kind: 'claimed' }>,
  { kind, held, transcript, inputs, agent, failure }: UnpromptedTurn,
): Promise<RunningTurn | null> {
  const { session } = claim;
  const model = modelRefOf(agent, session.model ?? agent.model) ?? agent.model;
  const request: RequestBase = { ...modelOfRef(model), maxTokens: 1, system: [], tools: [] };
  const view = providerView(request);
  const turnId = newId<TurnId>();
  held.assertHeld();
  const opening = await context.store.openTurn({
    fence: { sessionId: session.id, epoch: session.epoch, baseSeq: session.entrySeq },
    turnId,
    kind,
    lane: session.lane,
    worker: context.locks.owner,
    model: request.model,
    thinking: null,
    prompt: null,
    view,
    sessionView: null,
    inputIds: inputs.map((input) => input.id),
    eventIds: [],
    systemSha256: snapshotOf(request.system).sha256,
    toolsSha256: snapshotOf(request.tools).sha256,
    snapshots: [snapshotOf(request.system)],
    queuedAt: new Date(inputs[0]?.receivedAt ?? 0),
    claimedAt: context.clock.now(),
    events: [{ type: 'turn.started', data: { kind, messageIds: inputs.map((input) => input.id), attempt: 1 } }],
  });
  if (opening.kind === 'fenced') throw lockLost({ held });
  if (opening.kind === 'stopped') return null;
  context.onCommit(session.id, 'progress');
  return {
    id: turnId,
    kind,
    session,
    agent,
    held,
    inputs,
    request,
    chain: [refOfModel(request)],
    fallback: null,
    toolset: context.toolsetOf(agent.id, roleAt(session.depth, agent.subagents.maxSpawnDepth)),
    thinking: 'off',
    requests: new RequestView(
      transcript,
      await viewRules(context, { view, promptSeq: session.entrySeq + 1, model: modelName(request) }),
    ),
    sessionView: session.view,
    isSessionViewChanged: false,
    transcript,
    lastEntry: transcript.last ?? noEntry(session.entrySeq, turnId),
    baseSeq: session.entrySeq,
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
    contextTokens: session.contextTokens,
    room: roomOf(session.contextTokens, 0),
    ledger: [],
    steers: { known: session.steerSeq, seen: session.steerSeq },
    mustCharge: false,
    idleTimeoutsInARow: 0,
    park: null,
    callWithoutAnswer: null,
  };
}

/** The end of an empty path. */
export function noEntry(seq: number, turnId: TurnId): Entry {
  return { id: newId<EntryId>(), seq, parentSeq: null, kind: 'prompt', role: 'user', content: [], turnId };
}
