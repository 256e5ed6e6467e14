// The call of a compaction and its writes: its begin, which charges the call, the request for the
// summary, and its steps.
import type { CompactionReason } from '../../../compaction/plan-compaction.ts';
import type { CompactionStart } from '../journal/begin-compaction.ts';
import type { CompactionStep } from '../journal/write-compaction.ts';
import type { TurnContext } from '../context.ts';
import { modelEnded, modelStarted } from '../turn-log.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import { nextCallNo, NO_ROWS, type TurnWrite } from '../position.ts';
import { classifyFailure, type FailureVerdict, faultOfStop } from '../../../core/failure.ts';
import type { ModelAnswer, ModelRequest } from '../../../core/model-request.ts';
import type { ModelError } from '../../../model/model.ts';
import type { ModelCallRow } from '../journal/journal.ts';
import { modelRefOf } from '../../../config.ts';
import { modelOfRef, type NamedModel } from '../../../core/models.ts';
import { isOpen } from '../gate/gate.ts';
import { providerView } from '../open/open-view.ts';
import { IdleClock, abortedBy, CallRecord, failedBy, toModelError, type CallConclusion } from '../model-call.ts';
import { takeSnapshot, type Snapshot } from '../transcript-cache.ts';
import { TurnStopped, type StopReason } from '../turn-stop.ts';
import type { PathEntry } from '../../../core/entry.ts';
import { findIdentifiers, missingSummaryText } from '../../../compaction/summary-text.ts';
import { joinText } from '../../../core/content.ts';
import { estimateTextTokens } from '../../../core/content-size.ts';

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
  // After a refusal for the length there is one more, however many the turn has used: the context
  // has to become shorter.
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

/**
 * Commits a step of a compaction; resolves with the version of the transcript. Throws `TurnStopped`
 * when the session is lost.
 */
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

/**
 * The part of a write that a call for a summary has in common: its row, its end and the start of
 * the next.
 */
export function callWrite(turn: OpenedTurn, { call }: SummaryCall, asked: CompactionRequest): TurnWrite {
  return {
    ...NO_ROWS,
    modelCalls: [call],
    events: [modelEnded(turn, call), ...(asked.reason === 'manual' ? [] : [modelStarted(turn.id, call.callNo + 1)])],
  };
}

/**
 * How many calls are charged at the start: this one, and where the turn continues, the one after
 * it.
 */
function chargedCalls(turn: OpenedTurn, { reason }: CompactionRequest): number {
  return reason === 'manual' ? nextCallNo(turn.journal.at) : nextCallNo(turn.journal.at) + 1;
}

/**
 * The files were lost from the prompt: the session's next turn reads them from the workspace again.
 */
export function readWorkspaceAnew({ journal }: OpenedTurn): void {
  const { workspaceSha256: _lost, ...sessionView } = journal.attempt.sessionView;
  journal.note({ sessionView });
}

// Asks for the summary of a compaction: one model call with its own deadline, recorded with the
// turn's other calls and proven by the hash of its body. It is not streamed to clients, because
// only the model reads it.

/**
 * The result of a call for a summary. Each has its row, and the request to which the row refers.
 */
export type SummaryCall = { call: ModelCallRow; snapshot: Snapshot } & (
  | { kind: 'answered'; answer: ModelAnswer }
  | { kind: 'failed'; fault: ModelError; verdict: FailureVerdict }
  | { kind: 'timedOut'; error: { code: string; message: string } }
  | { kind: 'stopped'; reason: StopReason }
);

/** Makes the call with the number that was charged for it. Rejects for bugs only. */
export async function askForSummary(
  context: TurnContext,
  turn: OpenedTurn,
  { request, callNo }: { request: ModelRequest; callNo: number },
): Promise<SummaryCall> {
  const snapshot = takeSnapshot(request);
  const { timeoutSeconds } = turn.agent.compaction;
  const deadline = AbortSignal.timeout(timeoutSeconds * 1000);
  const idle = new IdleClock(turn.agent.llm.idleTimeoutSeconds * 1000, [turn.held.signal, deadline]);
  const view = { wholeSha256: snapshot.sha256 };
  const record = new CallRecord(context, turn, { callNo, view, purpose: 'compaction', model: request });
  const ended = (end: CallConclusion) => ({ snapshot, call: record.ended(end) });
  try {
    const answer = await context.models.client.ask(request, {
      ...record.options(),
      signal: idle.signal,
      onChunk: () => {
        idle.restart();
        record.arrived();
      },
    });
    return { kind: 'answered', answer, ...ended({ answer }) };
  } catch (error) {
    if (error instanceof TurnStopped)
      return { kind: 'stopped', reason: error.reason, ...ended(abortedBy(error.reason)) };
    if (error === deadline.reason) {
      const late = { code: 'compaction_timeout', message: `The compaction took longer than ${timeoutSeconds} s.` };
      return { kind: 'timedOut', error: late, ...ended({ status: 'aborted', error: late }) };
    }
    const fault = toModelError(context, error);
    return { kind: 'failed', fault, verdict: classifyFailure(fault), ...ended(failedBy(fault)) };
  } finally {
    idle.stop();
  }
}

/**
 * Which model writes a summary: the configured one; that of the turn while the provider of the
 * configured one is away, so that the turn does not wait for both.
 */
export function summaryModel(context: TurnContext, { agent, journal, session }: OpenedTurn): NamedModel {
  const { request } = journal.attempt;
  const own = { ...providerView(request), model: request.model };
  const wanted = agent.compaction.model;
  if (wanted === undefined) return own;
  const ref = modelRefOf(agent, wanted);
  if (ref !== null && context.models.client.providers.some((provider) => ref.startsWith(`${provider}/`))) {
    const named = modelOfRef(ref);
    return isOpen(context, named) ? named : own;
  }
  context.logger.warn({ sessionKey: session.key, model: wanted }, 'Model for compactions is not configured');
  return own;
}

// The faults of an answer that should be a summary, and the text where there is no such answer.

export interface SummaryFault {
  code: string;
  message: string;
}

/** A summary must be at most this share of what it replaces. */
const SHRUNK_SHARE_MAX = 0.8;

export const DID_NOT_SHRINK = 'did_not_shrink';
export const EMPTY_SUMMARY: SummaryFault = { code: 'empty_summary', message: 'The model wrote no summary.' };

/**
 * Why the answer cannot replace `retiredTokens` of conversation; null: it can. `summary`: its text,
 * null when it has none.
 */
export function summaryFault(answer: ModelAnswer, summary: string | null, retiredTokens: number): SummaryFault | null {
  return findStopFault(answer) ?? textFault(summary, retiredTokens);
}

/** Why an answer ended before it was a complete summary; null: it did not. */
function findStopFault(answer: ModelAnswer): SummaryFault | null {
  if (answer.stopReason !== 'refusal') return faultOfStop(answer);
  return { code: 'model_refused', message: 'The model refused to write a summary.' };
}

function textFault(summary: string | null, retiredTokens: number): SummaryFault | null {
  if (summary === null) return EMPTY_SUMMARY;
  const tokens = estimateTextTokens(summary);
  if (tokens <= retiredTokens * SHRUNK_SHARE_MAX) return null;
  return {
    code: DID_NOT_SHRINK,
    message: `The summary has ${tokens} tokens, too many for ${retiredTokens} tokens of conversation.`,
  };
}

/**
 * The text in place of entries of which the model writes no summary; without what an earlier
 * summary says if it would not be shorter.
 */
export function missingSummary(retired: readonly PathEntry[], retiredTokens: number): string {
  const earlier = retired.find(({ kind }) => kind === 'summary')?.content ?? [];
  const full = missingSummaryText(joinText(earlier), findIdentifiers(retired));
  return textFault(full, retiredTokens) === null ? full : missingSummaryText('', []);
}
