// The writes of a compaction: its begin, which charges the call, and its moments. Like `commit` (running-turn.ts) they alone move the
// turn on, and only after the database has said yes.
import type { CompactionReason } from '../../core/compaction/compaction-bounds.ts';
import type { CompactionStart } from '../../store/journal/begin-compaction.ts';
import type { CompactionStep } from '../../store/journal/write-compaction.ts';
import type { SummaryCall } from './compact-ask.ts';
import type { TurnContext } from '../context.ts';
import { modelEnded, modelStarted } from '../loop/model-events.ts';
import { lockLost, writeOf, type Moment, type RunningTurn } from '../running-turn.ts';

export interface CompactionWish {
  reason: CompactionReason;
  /** What the summary must keep, by request; null: nothing. */
  instructions: string | null;
}

/** Begins a compaction and charges its call. Throws `TurnStopped` when the session is lost. */
export async function beginCompaction(
  context: TurnContext,
  turn: RunningTurn,
  { id, wish, tokensBefore }: { id: string; wish: CompactionWish; tokensBefore: number },
): Promise<Exclude<CompactionStart, { kind: 'fenced' }>> {
  turn.held.assertHeld();
  const journal = writeOf(turn, { progress: { calls: chargedCalls(turn, wish) } });
  const begun = await context.store.beginCompaction({
    ...journal,
    compaction: { id, reason: wish.reason, tokensBefore, attemptsMax: turn.agent.compaction.maxAttempts },
  });
  if (begun.kind === 'fenced') throw lockLost(turn);
  // A stop ends the call before it is made, and that is recorded.
  if (begun.stop !== null) turn.held.stop(begun.stop);
  if (begun.kind !== 'begun') return begun;
  turn.progress = journal.progress;
  // Where no call is charged beforehand, a further attempt charges its own.
  turn.mustCharge = wish.reason === 'manual';
  context.onCommit(turn.session.id, 'progress');
  if (!turn.held.isTrusted) turn.held.assertHeld();
  return begun;
}

/** A step of a compaction. */
interface CompactionMoment {
  id: string;
  moment: Moment;
  called: SummaryCall | null;
  step: CompactionStep;
}

/** Commits a step of a compaction; resolves with the version of the transcript. Throws `TurnStopped` when the session is lost. */
export async function writeCompaction(
  context: TurnContext,
  turn: RunningTurn,
  { id, moment, called, step }: CompactionMoment,
): Promise<number> {
  const journal = writeOf(turn, moment);
  const snapshots = called === null ? [] : [called.snapshot];
  const verdict = await context.store.writeCompaction({ ...journal, compactionId: id, step, snapshots });
  if (verdict.kind === 'fenced') throw lockLost(turn);
  turn.progress = journal.progress;
  turn.baseSeq += journal.entries.length;
  if (journal.sessionView === turn.sessionView) turn.isSessionViewChanged = false;
  context.onCommit(turn.session.id, 'progress');
  if (verdict.stop !== null) turn.held.stop(verdict.stop);
  return verdict.version;
}

/** The part of a write that a call for a summary has in common: its row, its cost, its end and the start of the next. */
export function callMoment(turn: RunningTurn, { call }: SummaryCall, wish: CompactionWish): Moment {
  const { progress } = turn;
  return {
    modelCalls: [call],
    progress: {
      inputTokens: progress.inputTokens + call.inputTokens,
      outputTokens: progress.outputTokens + call.outputTokens,
      cacheReadTokens: progress.cacheReadTokens + call.cacheReadTokens,
      cacheWriteTokens: progress.cacheWriteTokens + call.cacheWriteTokens,
    },
    events: [modelEnded(turn.id, call), ...(wish.reason === 'manual' ? [] : [modelStarted(turn.id, call.callNo + 1)])],
  };
}

/** The number of the call that is about to be made: a charged one, unless an earlier attempt may have made it. */
export function nextCallNo(turn: RunningTurn): number {
  return turn.mustCharge ? turn.progress.calls + 1 : turn.progress.calls;
}

/** How many calls are charged at the start: this one, and where the turn continues, the one after it. */
function chargedCalls(turn: RunningTurn, { reason }: CompactionWish): number {
  return reason === 'manual' ? nextCallNo(turn) : nextCallNo(turn) + 1;
}

/** The files were lost from the prompt: the session's next turn reads them from the workspace again. */
export function readWorkspaceAnew(turn: RunningTurn): void {
  const { workspaceSha256: _lost, ...view } = turn.sessionView;
  turn.sessionView = view;
  turn.isSessionViewChanged = true;
}
