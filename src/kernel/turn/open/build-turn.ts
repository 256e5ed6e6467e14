// What makes an open turn, from whatever it comes: messages, a compaction, or the rows that an
// earlier worker left. The statement that opens a new one is sent here, too.
import type { RequestBase } from '../../../core/model-request.ts';
import type { Entry } from '../../../core/entry.ts';
import type { EntryId, TurnId } from '../../../core/ids.ts';
import { optionsOfInputs } from '../../../core/input-options.ts';
import { modelName, refOfModel } from '../../../core/models.ts';
import { roleAt } from '../../../core/subagents.ts';
import { estimateTokens } from '../../../core/content-size.ts';
import type { SessionView, TurnRequestSettings } from '../../../core/view.ts';
import { isHeld } from '../turn-stop.ts';
import { newId } from '../../../ids.ts';
import type { OpenTurn, WaitingInput } from '../../sessions/claim-session.ts';
import type { NewEntry } from '../journal/journal.ts';
import type { NewTurn } from '../journal/open-turn.ts';
import type { Toolset } from '../../../tools/toolset.ts';
import type { TurnContext } from '../context.ts';
import { lockLost } from '../held-session.ts';
import { modelStarted, reportTurnStart } from '../turn-log.ts';
import { listChain } from './asked-model.ts';
import { type OpenedTurn, TurnJournal } from '../opened-turn.ts';
import type { Position } from '../position.ts';
import { RequestView } from '../request-view.ts';
import { takeSnapshot } from '../transcript-cache.ts';
import { NO_TOOLS } from './assemble-given.ts';
import { viewRules } from './open-view.ts';

interface TurnParts extends Pick<OpenedTurn, 'id' | 'kind' | 'session' | 'agent' | 'held' | 'transcript' | 'failure'> {
  inputs: readonly WaitingInput[];
  request: RequestBase;
  /** The tools that its request was made with; null: as they are now. */
  toolset: Toolset | null;
  /** What its opening fixed for its requests. */
  view: TurnRequestSettings;
  sessionView: SessionView;
  promptSeq: number;
  /** Null: as much as the agent does. */
  thinking: string | null;
  /** The number of the session's last entry. */
  baseSeq: number;
  /**
   * The size of the context: tokens of this turn's last call, those reported for the last call of
   * any turn, and those added since.
   */
  tokens: { last: number; reported: number; added: number };
  /** What an earlier worker left of it; null: it is new. */
  earlier: OpenTurn | null;
}

/** The parts of a new turn, and the further rows that its opening stores. */
export type NewTurnParts = Omit<TurnParts, 'sessionView' | 'promptSeq' | 'baseSeq' | 'tokens' | 'earlier'> &
  Pick<NewTurn, 'eventIds' | 'overflow' | 'snapshots' | 'sessionView'> & {
    /** Its prompt; null: none. */
    prompt: NewEntry | null;
    /** What its text was assembled from; null: that is not known. */
    promptParts: readonly object[] | null;
    /** Prompts without an answer that leave the active path, oldest first. */
    orphans: readonly { seq: number }[];
  };

/**
 * Opens a new turn; null: the session was stopped meanwhile. Throws `TurnStopped` when the lock is
 * gone.
 */
export async function openNewTurn(context: TurnContext, opening: NewTurnParts): Promise<OpenedTurn | null> {
  const { prompt, promptParts, orphans, overflow, eventIds, sessionView, ...parts } = opening;
  const { id, kind, session, held, transcript, inputs, request, view, thinking } = parts;
  const inputIds = inputs.map((input) => input.id);
  const snapshots = opening.snapshots.filter(({ sha256 }) => !context.store.knownSnapshots.has(sha256));
  const [orphan] = orphans;
  held.assertHeld();
  const answer = context.publish(
    await context.store.openTurn({
      fence: { sessionId: session.id, epoch: session.epoch, baseSeq: session.entrySeq },
      turnId: id,
      kind,
      // An item of a batch runs in the lane of batches, whatever the lane of its session.
      lane: kind === 'batch' ? 'batch' : session.lane,
      worker: context.store.locks.owner,
      model: request.model,
      thinking,
      tags: optionsOfInputs(inputs).tags,
      prompt: prompt === null ? null : { ...prompt, parts: promptParts },
      ...(orphan === undefined ? undefined : { hiddenFromSeq: orphan.seq }),
      view,
      sessionView,
      inputIds,
      ...(overflow === undefined ? undefined : { overflow }),
      eventIds,
      systemSha256: takeSnapshot(request.system).sha256,
      toolsSha256: takeSnapshot(request.tools).sha256,
      snapshots,
      queuedAt: new Date(inputs[0]?.receivedAt ?? 0),
      claimedAt: context.clock.now(),
      events: [
        { type: 'turn.started', data: { kind, messageIds: inputIds, attempt: 1 } },
        ...(prompt === null ? [] : [modelStarted(id, 1)]),
      ],
    }),
  );
  if (answer.kind === 'fenced') throw lockLost(held);
  if (answer.kind === 'stopped') return null;
  for (const { sha256 } of snapshots) context.store.knownSnapshots.add(sha256);
  if (orphan !== undefined) hideOrphans(context, opening);
  const promptSeq = session.entrySeq + 1;
  if (prompt !== null) transcript.push({ ...prompt, seq: promptSeq, parentSeq: session.leafSeq, turnId: id });
  const reported = session.contextTokens;
  const turn = await buildTurn(context, {
    ...parts,
    sessionView: sessionView ?? session.view,
    promptSeq,
    baseSeq: prompt === null ? session.entrySeq : promptSeq,
    tokens: { last: prompt === null ? reported : 0, reported, added: prompt === null ? 0 : estimateTokens([prompt]) },
    earlier: null,
  });
  reportTurnStart(context, turn, inputIds);
  return turn;
}

// The rows stay; the model sees the transcript without them from now on.
function hideOrphans(context: TurnContext, { session, transcript, orphans }: NewTurnParts): void {
  const seqs = orphans.map(({ seq }) => seq);
  transcript.hide(new Set(seqs), session.transcriptVersion + 1);
  context.logger.warn({ sessionKey: session.key, seqs }, 'Prompts without an answer are hidden');
}

export async function buildTurn(context: TurnContext, parts: TurnParts): Promise<OpenedTurn> {
  const { id, kind, session, agent, held, transcript, failure, request, view, promptSeq, sessionView, earlier } = parts;
  const isGiven = view.given !== undefined;
  const rules = await viewRules(context, { view, promptSeq, model: modelName(request) });
  const attempt = {
    request,
    requests: new RequestView(transcript, rules),
    traits: {},
    fallback: null,
    sessionView,
    unstoredEvents: [],
    unstoredCall: null,
    paidCallNo: 0,
    hop: earlier?.hop ?? null,
    // A steering message from before a crash may still wait.
    steersSeen: earlier === null ? session.steerSeq : 0,
    isCompacting: false,
    interruptedCompaction: earlier?.compaction ?? null,
    hasGivenUpCompacting: isGiven,
    rateWaitMs: 0,
  };
  return {
    id,
    kind,
    session,
    agent,
    held,
    transcript,
    failure,
    chain: kind === 'compaction' || isGiven ? [refOfModel(request)] : listChain(context, agent, request),
    toolset:
      parts.toolset ??
      (isGiven ? NO_TOOLS : await context.toolsetOf(agent, roleAt(session.depth, agent.subagents.maxSpawnDepth))),
    thinking: parts.thinking ?? agent.thinking,
    ledger: earlier?.toolCalls ?? [],
    journal: new TurnJournal(
      { session, held, transcript, checks: context.models.checks },
      firstPosition(parts),
      attempt,
    ),
  };
}

function firstPosition(parts: TurnParts): Position {
  const { id, session, transcript, inputs, sessionView, baseSeq, earlier } = parts;
  const { reported, ...tokens } = parts.tokens;
  return {
    progress: {
      turnId: id,
      calls: earlier?.calls ?? 1,
      retries: earlier?.retries ?? 0,
      steps: earlier?.steps ?? 0,
      inputTokens: earlier?.inputTokens ?? 0,
      outputTokens: earlier?.outputTokens ?? 0,
      cacheReadTokens: earlier?.cacheReadTokens ?? 0,
      cacheWriteTokens: earlier?.cacheWriteTokens ?? 0,
      costMicros: earlier === null ? 0 : earlier.costMicros,
      unpricedCalls: earlier?.unpricedCalls ?? 0,
      isSimulated: earlier?.isSimulated ?? false,
    },
    baseSeq,
    lastEntry: transcript.last ?? emptyPath(baseSeq, id),
    inputs,
    sessionView,
    steerSeq: session.steerSeq,
    isCharged: earlier === null,
    finishedCalls: (earlier?.toolCalls ?? []).flatMap(({ step, ordinal, status, result }) =>
      status === 'intent' || result === null ? [] : [{ step, ordinal, status, result }],
    ),
    heldCalls: new Map(
      (earlier?.toolCalls ?? []).flatMap((row) =>
        isHeld(row) && row.heldFor !== null ? [[row.ordinal, row.heldFor] as const] : [],
      ),
    ),
    park: earlier?.park ?? null,
    tokens: {
      ...tokens,
      reported: reported > 0 ? { tokens: reported, pruning: sessionView.pruning } : null,
      compacted: null,
    },
  };
}

function emptyPath(seq: number, turnId: TurnId): Entry {
  return { id: newId<EntryId>(), seq, parentSeq: null, kind: 'prompt', role: 'user', content: [], turnId };
}
