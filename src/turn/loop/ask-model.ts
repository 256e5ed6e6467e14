// Asks the model for the next answer of a turn. One stored retry budget for the whole turn, charged before each call (G16):
// the cost of a failed call is committed before the next one starts, so a restart does not reset the budget. A cut stream is
// a failed call, never an answer.
import { classifyFailure } from '../../core/failure.ts';
import type { ModelAnswer } from '../../core/model-request.ts';
import { createReplyStream } from '../../core/stream/reply-stream.ts';
import { ModelError } from '../../model/model.ts';
import { createCallDiagnostics } from '../../model/observers/diagnostics.ts';
import { callIdOf } from '../../model/observers/observer.ts';
import type { ModelCallRow } from '../../store/journal.ts';
import { afterFailedCall } from './after-failed-call.ts';
import { beginCall, nextRequest } from './begin-call.ts';
import { enterFirstOpenGate } from './fall-back.ts';
import type { TurnContext } from '../context.ts';
import { IdleClock, idleTimeoutOf } from './idle-clock.ts';
import { inputTransformOf } from './input-transform.ts';
import { auditHeaders, faultOf } from './model-call.ts';
import { replyRulesOf, showsReasoning } from '../end/reply-rules.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import { callCodeOf, TurnFailed, TurnStopped } from '../turn-end.ts';

const WINDOW_EXCEEDED = 'model_context_window_exceeded';

/** An answer with what is known of its call, to be committed together. */
export interface AnsweredCall {
  answer: ModelAnswer;
  call: ModelCallRow;
}

/** Resolves with a complete answer. Throws `TurnFailed` when there will be none, `TurnStopped` when the turn stops. */
export async function askModel(context: TurnContext, turn: OpenedTurn): Promise<AnsweredCall> {
  let pass = enterFirstOpenGate(context, turn);
  try {
    pruneWhenCold(turn, context.clock.now());
    await beginCall(context, turn);
    for (let silences = 0; ;) {
      const sent: SentCall = { startedAt: context.clock.now(), view: null, requestSha256: null };
      try {
        const answered = await askOnce(context, turn, sent);
        if (answered.answer.stopReason === WINDOW_EXCEEDED) throw windowExceeded();
        pass.answered();
        return answered;
      } catch (error) {
        if (error instanceof TurnStopped || error instanceof TurnFailed) throw error;
        const fault = faultOf(error);
        const row = failedCall(turn, fault, sent, context.clock.now());
        if (fault.type === 'idle_timeout') silences += 1;
        else if (fault.type === WINDOW_EXCEEDED) silences = 0;
        pass = await afterFailedCall(context, turn, { fault, row, pass, silences });
      }
    }
  } finally {
    pass.left();
  }
}

/** What is known of a call before it has an answer. */
type SentCall = Pick<ModelCallRow, 'startedAt' | 'view' | 'requestSha256' | 'notes'>;

async function askOnce(context: TurnContext, turn: OpenedTurn, sent: SentCall): Promise<AnsweredCall> {
  pruneWhenCold(turn, sent.startedAt);
  const { messages, callView } = nextRequest(turn);
  sent.view = callView;
  const { request, requests } = turn.journal.attempt;
  const { baseSeq: untilSeq, progress } = turn.journal.at;
  const callNo = progress.calls;
  const target = { sessionId: turn.session.id, epoch: turn.held.epoch, turnId: turn.id };
  const { streaming: isStreaming } = context.config.models.providers.anthropic;
  const idle = new IdleClock(idleTimeoutOf(turn, { isStreaming }), [turn.held.signal]);
  const diagnostics = createCallDiagnostics(() => context.clock.monotonicMs());
  let firstChunkAt: Date | null = null;
  const reply = createReplyStream(replyRulesOf(context, turn));
  const show = (text: string): void => void (text !== '' && context.deltas.add(target, callNo, text));
  try {
    const answer = await context.model.ask(
      {
        ...request,
        ...inputTransformOf(requests.rules.view)({ system: request.system, messages: [...messages] }),
      },
      {
        signal: idle.signal,
        headers: context.config.models.providers.anthropic.auditHeaders ? auditHeaders(turn, callNo) : {},
        beforeSend: () => turn.held.assertHeld(),
        onChunk: (text) => {
          idle.restart();
          firstChunkAt ??= context.clock.now();
          show(reply.push(text));
        },
        ...(showsReasoning(turn)
          ? { onReasoning: (piece: string) => context.deltas.addReasoning(target, callNo, piece) }
          : undefined),
        observers: [{ sent: (_body, sha256) => void (sent.requestSha256 = sha256) }, diagnostics],
        about: { callId: callIdOf(turn.id, callNo), sessionKey: turn.session.key, turnId: turn.id },
        callNo,
        unknownToolThreshold: context.config.tools.loopDetection.unknownToolThreshold,
        replacements: context.plugins.textTransforms.output,
      },
    );
    show(reply.end());
    const { repairs } = answer;
    const call: ModelCallRow = {
      ...sent,
      notes: { ...diagnostics.figures(), ...(repairs === undefined ? undefined : { repairs }) },
      callNo,
      step: progress.steps + 1,
      untilSeq,
      status: 'ok',
      stopReason: answer.stopReason,
      responseId: answer.id,
      error: null,
      ...answer.usage,
      firstChunkAt,
      endedAt: context.clock.now(),
    };
    return { answer, call };
  } catch (error) {
    sent.notes = diagnostics.figures();
    if (error instanceof TurnStopped) {
      const { reason } = error;
      const endedAt = context.clock.now();
      const described = { code: callCodeOf(reason), message: reason.message };
      const unstoredCall = brokenCall(turn, { status: 'aborted', error: described, sent, endedAt });
      turn.journal.note({ unstoredCall });
    }
    throw error;
  } finally {
    idle.stop();
  }
}

/** The answer broke off because the context was full: the same as a prompt that is refused for its length. */
function windowExceeded(): ModelError {
  const message = 'The answer broke off because the context window was full.';
  return new ModelError({ type: WINDOW_EXCEEDED, status: null, retryAfterMs: null, message });
}

/** Prunes the view of the turn when the provider's cache has gone cold; it lasts for the session. */
function pruneWhenCold(turn: OpenedTurn, now: Date): void {
  const { contextPruning: pruning, contextTokens } = turn.agent;
  const { sessionView, requests } = turn.journal.attempt;
  const decided = requests.decide({ sessionView, pruning, contextTokens, nowMs: now.getTime() });
  if (decided !== undefined) turn.journal.note({ sessionView: decided });
}

function failedCall(turn: OpenedTurn, fault: ModelError, sent: SentCall, endedAt: Date): ModelCallRow {
  const { code } = classifyFailure(fault);
  const error = { code, type: fault.type, status: fault.status, message: fault.message.slice(0, 2000) };
  return brokenCall(turn, { status: 'failed', error, sent, endedAt });
}

/** The row of a call without an answer; its cost is not known. */
function brokenCall(
  turn: OpenedTurn,
  { sent, ...end }: Pick<ModelCallRow, 'status' | 'error' | 'endedAt'> & { sent: SentCall },
): ModelCallRow {
  return {
    ...sent,
    ...end,
    callNo: turn.journal.at.progress.calls,
    step: turn.journal.at.progress.steps + 1,
    untilSeq: turn.journal.at.baseSeq,
    stopReason: null,
    responseId: null,
    inputTokens: 0,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    firstChunkAt: null,
  };
}
