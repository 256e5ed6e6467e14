// Asks for the summary of a compaction: one model call with its own deadline, recorded with the turn's other calls and proven by the
// hash of its body. It is not streamed to clients, because only the model reads it.
import { classifyFailure, type FailureVerdict } from '../../core/failure.ts';
import type { ModelAnswer, ModelRequest } from '../../core/model-request.ts';
import type { ModelError } from '../../model/model.ts';
import { createCallDiagnostics } from '../../model/observers/diagnostics.ts';
import { callIdOf } from '../../model/observers/observer.ts';
import type { ModelCallRow } from '../../store/journal.ts';
import type { TurnContext } from '../context.ts';
import { IdleClock } from '../loop/idle-clock.ts';
import { auditHeaders, faultOf } from '../loop/model-call.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import { snapshotOf, type Snapshot } from '../snapshot-cache.ts';
import { callCodeOf, TurnStopped, type StopReason } from '../turn-end.ts';

/** How a call for a summary went. Each has the row that it becomes, and the request that the row names. */
export type SummaryCall = { call: ModelCallRow; snapshot: Snapshot } & (
  | { kind: 'answered'; answer: ModelAnswer }
  | { kind: 'failed'; fault: ModelError; verdict: FailureVerdict }
  | { kind: 'timedOut'; message: string }
  | { kind: 'stopped'; reason: StopReason }
);

/** Its own deadline has passed. */
class CompactionTimeout extends Error {
  readonly code = 'compaction_timeout';
  constructor(timeoutSeconds: number) {
    super(`The compaction took longer than ${timeoutSeconds} s.`);
    this.name = 'CompactionTimeout';
  }
}

/** Makes the call with the number that was charged for it. Rejects for bugs only. */
export async function askForSummary(
  context: TurnContext,
  turn: OpenedTurn,
  { request, callNo }: { request: ModelRequest; callNo: number },
): Promise<SummaryCall> {
  const snapshot = snapshotOf(request);
  const { timeoutSeconds } = turn.agent.compaction;
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(new CompactionTimeout(timeoutSeconds)), timeoutSeconds * 1000);
  const idle = new IdleClock(turn.agent.llm.idleTimeoutSeconds * 1000, [turn.held.signal, deadline.signal]);
  const sent: Pick<ModelCallRow, 'startedAt' | 'firstChunkAt' | 'requestSha256'> = {
    startedAt: context.clock.now(),
    firstChunkAt: null,
    requestSha256: null,
  };
  const diagnostics = createCallDiagnostics(() => context.clock.monotonicMs());
  const rowOf = (end: Pick<ModelCallRow, 'status' | 'error'>, answer?: ModelAnswer): ModelCallRow => ({
    ...sent,
    ...end,
    notes: diagnostics.figures(),
    ...(answer?.usage ?? NO_USAGE),
    callNo,
    step: turn.journal.at.progress.steps + 1,
    purpose: 'compaction',
    view: { wholeSha256: snapshot.sha256 },
    untilSeq: turn.journal.at.baseSeq,
    stopReason: answer?.stopReason ?? null,
    responseId: answer?.id ?? null,
    endedAt: context.clock.now(),
  });
  try {
    const answer = await context.model.ask(request, {
      signal: idle.signal,
      headers: context.config.models.providers.anthropic.auditHeaders ? auditHeaders(turn, callNo) : {},
      beforeSend: () => turn.held.assertHeld(),
      callNo,
      onChunk: () => {
        idle.restart();
        sent.firstChunkAt ??= context.clock.now();
      },
      observers: [{ sent: (_body, sha256) => void (sent.requestSha256 = sha256) }, diagnostics],
      about: { callId: callIdOf(turn.id, callNo), sessionKey: turn.session.key, turnId: turn.id },
    });
    return { kind: 'answered', answer, snapshot, call: rowOf({ status: 'ok', error: null }, answer) };
  } catch (error) {
    if (error instanceof TurnStopped) {
      const { reason } = error;
      const call = rowOf({ status: 'aborted', error: { code: callCodeOf(reason), message: reason.message } });
      return { kind: 'stopped', reason, snapshot, call };
    }
    if (error instanceof CompactionTimeout) {
      const { code, message } = error;
      return { kind: 'timedOut', message, snapshot, call: rowOf({ status: 'aborted', error: { code, message } }) };
    }
    const fault = faultOf(error);
    const verdict = classifyFailure(fault);
    const { type, status, message } = fault;
    const described = { code: verdict.code, type, status, message: message.slice(0, 2000) };
    return { kind: 'failed', fault, verdict, snapshot, call: rowOf({ status: 'failed', error: described }) };
  } finally {
    clearTimeout(timer);
    idle.stop();
  }
}

const NO_USAGE = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
