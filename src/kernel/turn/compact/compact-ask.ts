// Asks for the summary of a compaction: one model call with its own deadline, recorded with the turn's other calls and proven by the
// hash of its body. It is not streamed to clients, because only the model reads it.
import { classifyFailure, type FailureVerdict } from '../../../core/failure.ts';
import type { ModelAnswer, ModelRequest } from '../../../core/model-request.ts';
import type { ModelError } from '../../../model/model.ts';
import type { ModelCallRow } from '../journal/journal.ts';
import { modelRefOf } from '../../../config.ts';
import { modelOfRef, type NamedModel } from '../../../core/model-ref.ts';
import { isOpen } from '../gate/gate.ts';
import { providerView } from '../open/open-view.ts';
import type { TurnContext } from '../context.ts';
import { IdleClock } from '../idle-clock.ts';
import { abortedBy, CallRecord, failedBy, toModelError, type CallConclusion } from '../model-call.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import { takeSnapshot, type Snapshot } from '../snapshot-cache.ts';
import { TurnStopped, type StopReason } from '../turn-stop.ts';

/** The result of a call for a summary. Each has its row, and the request to which the row refers. */
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
    const answer = await context.model.ask(request, {
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
 * Which model writes a summary: the configured one; that of the turn while the provider of the configured one is away, so that the turn does
 * not wait for both.
 */
export function summaryModel(context: TurnContext, { agent, journal, session }: OpenedTurn): NamedModel {
  const { request } = journal.attempt;
  const own = { ...providerView(request), model: request.model };
  const wanted = agent.compaction.model;
  if (wanted === undefined) return own;
  const ref = modelRefOf(agent, wanted);
  if (ref !== null && context.model.providers.some((provider) => ref.startsWith(`${provider}/`))) {
    const named = modelOfRef(ref);
    return isOpen(context, named) ? named : own;
  }
  context.logger.warn({ sessionKey: session.key, model: wanted }, 'Model for compactions is not configured');
  return own;
}
