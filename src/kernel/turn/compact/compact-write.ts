// The writes of a compaction: its begin, which charges the call, and its steps.
import type { CompactionReason } from '../../../compaction/plan-compaction.ts';
import type { CompactionStart } from '../journal/begin-compaction.ts';
import type { CompactionStep } from '../journal/write-compaction.ts';
import type { SummaryCall } from './compact-ask.ts';
import type { TurnContext } from '../context.ts';
import { modelEnded, modelStarted } from '../model-events.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import { nextCallNo } from '../position.ts';
import { NO_ROWS, type TurnWrite } from '../turn-write.ts';

export interface CompactionRequest {
  reason: CompactionReason;
  /** The user's instructions for the summary; null: none. */
  instructions: string | null;
}

/** Begins a compaction and charges its call. Throws `TurnStopped` when the session is lost. */
export async function beginCompaction(
  context: TurnContext,
  turn: OpenedTurn,
  { id, asked, tokensBefore }: { id: string; asked: CompactionRequest; tokensBefore: number },
): Promise<Exclude<CompactionStart, { kind: 'fenced' }>> {
  const { held, journal, agent } = turn;
  held.assertHeld();
  const write = { ...NO_ROWS, totals: { calls: chargedCalls(turn, asked) }, storesView: false };
  // After a refusal for the length there is one more, however many the turn has used: the context has to become shorter.
  const attemptsMax = agent.compaction.maxAttempts + (asked.reason === 'overflow' ? 1 : 0);
  const compaction = { id, reason: asked.reason, tokensBefore, attemptsMax };
  const begun = context.publish(
    await journal.store(write, (rows) => context.store.beginCompaction({ ...rows, compaction })),
  );
  // A stop ends the call before it is made, and that is recorded.
  if (begun.stop !== null) held.stop(begun.stop);
  if (begun.kind !== 'begun') return begun;
  context.meter.compactionBegan(turn, asked.reason);
  if (!held.isTrusted) held.assertHeld();
  return begun;
}

interface StoredStep {
  id: string;
  write: TurnWrite;
  called: SummaryCall | null;
  step: CompactionStep;
}

/** Commits a step of a compaction; resolves with the version of the transcript. Throws `TurnStopped` when the session is lost. */
export async function writeCompaction(
  context: TurnContext,
  turn: OpenedTurn,
  { id: compactionId, write, called, step }: StoredStep,
): Promise<number> {
  const snapshots = called === null ? [] : [called.snapshot];
  const verdict = context.publish(
    await turn.journal.store(write, (rows) =>
      context.store.writeCompaction({ ...rows, compactionId, step, snapshots }),
    ),
  );
  for (const call of write.modelCalls) context.meter.modelCalled(turn, call);
  context.meter.compactionStored(turn, step.kind);
  if (verdict.stop !== null) turn.held.stop(verdict.stop);
  return verdict.version;
}

/** The part of a write that a call for a summary has in common: its row, its end and the start of the next. */
export function callWrite(turn: OpenedTurn, { call }: SummaryCall, asked: CompactionRequest): TurnWrite {
  return {
    ...NO_ROWS,
    modelCalls: [call],
    events: [modelEnded(turn, call), ...(asked.reason === 'manual' ? [] : [modelStarted(turn.id, call.callNo + 1)])],
  };
}

/** How many calls are charged at the start: this one, and where the turn continues, the one after it. */
function chargedCalls(turn: OpenedTurn, { reason }: CompactionRequest): number {
  return reason === 'manual' ? nextCallNo(turn.journal.at) : nextCallNo(turn.journal.at) + 1;
}

/** The files were lost from the prompt: the session's next turn reads them from the workspace again. */
export function readWorkspaceAnew({ journal }: OpenedTurn): void {
  const { workspaceSha256: _lost, ...sessionView } = journal.attempt.sessionView;
  journal.note({ sessionView });
}
