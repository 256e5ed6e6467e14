// A turn that only condenses its session: somebody asked for it. It is claimed, recorded, stopped and resumed like any other turn,
// but it says nothing to the model and puts nothing into the transcript besides the summary.
import { modelRefOf, type AgentSettings } from '../config.ts';
import type { Entry } from '../core/entry.ts';
import type { EntryId, TurnId } from '../core/ids.ts';
import { modelName, modelOfRef } from '../core/model-ref.ts';
import { roleAt } from '../core/subagent-role.ts';
import { newId } from '../ids.ts';
import type { Claim, WaitingInput } from '../store/claim-session.ts';
import type { Ending } from '../store/journal/finish-turn.ts';
import { compactTranscript, NOTHING_TO_COMPACT } from './compact-transcript.ts';
import type { RequestBase, TurnContext } from './context.ts';
import { roomOf } from './context-room.ts';
import { finishCompacted } from './finish-turn.ts';
import type { HeldSession } from './held-session.ts';
import { providerView, viewRules } from './open-view.ts';
import { RequestView } from './request-view.ts';
import { lockLost, type RunningTurn } from './running-turn.ts';
import { snapshotOf } from './snapshot-cache.ts';
import type { Transcript } from './transcript-cache.ts';
import { TurnFailed } from './turn-end.ts';

export interface CompactionTurnParts {
  held: HeldSession;
  transcript: Transcript;
  /** The one that asked for it. */
  inputs: WaitingInput[];
  agent: AgentSettings;
}

/** Opens the turn; null when the session was stopped meanwhile. Throws `TurnStopped` when the lock is gone. */
export async function openCompactionTurn(
  context: TurnContext,
  claim: Extract<Claim, { kind: 'claimed' }>,
  { held, transcript, inputs, agent }: CompactionTurnParts,
): Promise<RunningTurn | null> {
  const { session } = claim;
  const model = modelRefOf(agent, session.model ?? agent.model) ?? agent.model;
  const request: RequestBase = { ...modelOfRef(model), maxTokens: 1, system: [], tools: [] };
  const view = providerView(request);
  const turnId = newId<TurnId>();
  const kind = 'compaction';
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
    failure: null,
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
    callWithoutAnswer: null,
  };
}

/** Condenses and ends the turn. Throws `TurnFailed` when it came to nothing, `TurnStopped` when it stops. */
export async function runCompactionTurn(context: TurnContext, turn: RunningTurn): Promise<Ending> {
  const { text } = (turn.inputs[0]?.body ?? {}) as { text?: unknown };
  // A chat command comes as it was written.
  const wanted =
    typeof text === 'string'
      ? text
          .trim()
          .replace(/^\/compact(?=\s|$)/i, '')
          .trim()
      : '';
  const instructions = wanted === '' ? null : wanted;
  const outcome = await compactTranscript(context, turn, { reason: 'manual', instructions });
  turn.held.assertHeld();
  if (outcome.kind === 'compacted') {
    return await finishCompacted(
      context,
      turn,
      `Condensed: about ${outcome.tokensBefore} tokens became ${outcome.tokensAfter}.`,
    );
  }
  if (outcome.code === NOTHING_TO_COMPACT) return await finishCompacted(context, turn, outcome.message);
  throw new TurnFailed(outcome.code, outcome.message);
}

/** Stands for the end of a path that is empty. */
export function noEntry(seq: number, turnId: TurnId): Entry {
  return { id: newId<EntryId>(), seq, parentSeq: null, kind: 'prompt', role: 'user', content: [], turnId };
}
