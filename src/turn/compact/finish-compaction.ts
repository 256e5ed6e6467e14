// The end of a compaction that succeeds: the memory, then the summary in the place of the older entries, or a note where there is none.
import type { CompactionPlan } from '../../core/compaction/plan-compaction.ts';
import { estimateTextTokens, estimateTokens } from '../../core/token-estimate.ts';
import type { AnsweredCompaction } from '../../store/journal/begin-compaction.ts';
import type { TurnContext } from '../context.ts';
import { logIdsOf, type OpenedTurn } from '../opened-turn.ts';
import { newEntry, type TurnWrite } from '../turn-write.ts';
import { readPostCompactionContext } from './compact-aftermath.ts';
import type { SummaryCall } from './compact-ask.ts';
import { readWorkspaceAnew, writeCompaction } from './compact-write.ts';
import { appendMemory } from './memory-flush.ts';
import { overheadTokens } from './request-tokens.ts';
import { missingSummary, type SummaryFault } from './summary-faults.ts';

/** `compacted`: estimates of the context. `unchanged`: the transcript did not change, and `code` says why. */
export type CompactionOutcome =
  | { kind: 'compacted'; tokensBefore: number; tokensAfter: number }
  | { kind: 'unchanged'; code: string; message: string };

/** From the answer to the end: the memory first, so that it is written before the entries leave the model's sight. */
export async function finishCompaction(
  context: TurnContext,
  turn: OpenedTurn,
  ready: AnsweredCompaction,
  { write, called }: { write: TurnWrite; called: SummaryCall | null },
): Promise<CompactionOutcome> {
  if (ready.memory !== null) {
    // The worker may have been paused for a long time after the previous write; the file is not fenced.
    turn.held.assertHeld();
    await appendMemory(turn.agent.workspaceDir, ready.memory, ready.id).catch((error: unknown) => {
      context.logger.warn(
        { err: error, sessionKey: turn.session.key },
        'Notes before a compaction could not be written',
      );
    });
  }
  const cut = { firstKeptSeq: ready.firstKeptSeq, pinnedSeqs: ready.pinnedSeqs };
  const kept = turn.transcript.entries.filter(
    ({ seq, kind }) => kind !== 'summary' && (seq >= cut.firstKeptSeq || cut.pinnedSeqs.includes(seq)),
  );
  const overhead =
    turn.kind === 'compaction'
      ? Math.max(0, ready.tokensBefore - estimateTokens(turn.transcript.entries))
      : overheadTokens(turn);
  const tokensAfter = overhead + estimateTokens(kept) + estimateTextTokens(ready.summary);
  const { audit, refresh } = await readPostCompactionContext(context, turn);
  if (audit !== null && audit.missing.length > 0) readWorkspaceAnew(turn);
  const summary = newEntry('summary', 'user', [{ type: 'text', text: ready.summary }]);
  const version = await writeCompaction(context, turn, {
    id: ready.id,
    write: { ...write, entries: [summary], compactedTo: tokensAfter },
    called,
    step: { kind: 'completed', cut, tokensAfter, audit, refresh },
  });
  turn.transcript.compact({ ...summary, seq: turn.journal.at.baseSeq }, cut, version);
  context.logger.info(
    { ...logIdsOf(context, turn), tokensBefore: ready.tokensBefore, tokensAfter, audit },
    'Transcript compacted',
  );
  return { kind: 'compacted', tokensBefore: ready.tokensBefore, tokensAfter };
}

/** Ends a compaction with a note instead of a summary. The entries that it replaces keep their rows and can be restored. */
export async function finishWithoutSummary(
  context: TurnContext,
  turn: OpenedTurn,
  { id, tokensBefore, plan }: { id: string; tokensBefore: number; plan: CompactionPlan },
  { error, ...stored }: { write: TurnWrite; called: SummaryCall; error: SummaryFault },
): Promise<CompactionOutcome> {
  const { retired, retiredTokens, firstKeptSeq, pinnedSeqs } = plan;
  const summary = missingSummary(retired, retiredTokens);
  const { code, message } = error;
  context.logger.warn({ ...logIdsOf(context, turn), code }, `Transcript compacted without a summary: ${message}`);
  return await finishCompaction(
    context,
    turn,
    { id, tokensBefore, firstKeptSeq, pinnedSeqs, summary, memory: null },
    stored,
  );
}
