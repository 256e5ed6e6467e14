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
import { commit } from '../commit.ts';
import { enterFirstOpenGate } from './fall-back.ts';
import { compactWhenFull } from '../compact/compact-when-full.ts';
import type { TurnContext } from '../context.ts';
import { IdleClock, idleTimeoutOf } from './idle-clock.ts';
import { inputTransformOf } from './input-transform.ts';
import { auditHeaders, faultOf } from './model-call.ts';
import { modelStarted, turnResumed } from './model-events.ts';
import { replyRulesOf, showsReasoning } from '../end/reply-rules.ts';
import { changeSessionView, type RunningTurn } from '../running-turn.ts';
import { callViewOf } from './step-down.ts';
import { callCodeOf, TurnFailed, TurnStopped } from '../turn-end.ts';

/** An answer with what is known of its call, to be committed together. */
export interface AnsweredCall {
  answer: ModelAnswer;
  call: ModelCallRow;
}

/** Resolves with a complete answer. Throws `TurnFailed` when there will be none, `TurnStopped` when the turn stops. */
export async function askModel(context: TurnContext, turn: RunningTurn): Promise<AnsweredCall> {
  let pass = enterFirstOpenGate(context, turn);
  try {
    if (turn.mustCharge) await chargeAgain(context, turn);
    pruneWhenCold(turn, context.clock.now());
    await compactWhenFull(context, turn);
    for (;;) {
      const sent: SentCall = { startedAt: context.clock.now(), view: null, requestSha256: null };
      try {
        const answered = await askOnce(context, turn, sent);
        if (answered.answer.stopReason === 'model_context_window_exceeded') throw windowExceeded();
        pass.answered();
        turn.park = null;
        return answered;
      } catch (error) {
        if (error instanceof TurnStopped || error instanceof TurnFailed) throw error;
        const fault = faultOf(error);
        const row = failedCall(turn, fault, sent, context.clock.now());
        pass = await afterFailedCall(context, turn, { fault, row, pass });
      }
    }
  } finally {
    pass.left();
  }
}

/** An earlier attempt may have made the call that it charged: this one charges its own. */
async function chargeAgain(context: TurnContext, turn: RunningTurn): Promise<void> {
  turn.mustCharge = false;
  const calls = turn.progress.calls + 1;
  const resumed = turn.park === null ? [] : [turnResumed(turn)];
  await commit(context, turn, { progress: { calls }, events: [...resumed, modelStarted(turn.id, calls)] });
}

/** What is known of a call before it has an answer. */
type SentCall = Pick<ModelCallRow, 'startedAt' | 'view' | 'requestSha256' | 'notes'>;

async function askOnce(context: TurnContext, turn: RunningTurn, sent: SentCall): Promise<AnsweredCall> {
  turn.held.assertHeld();
  pruneWhenCold(turn, sent.startedAt);
  const { messages, callView, violations } = turn.requests.next();
  sent.view = callViewOf(turn, callView);
  if (violations.length > 0) {
    const details = violations.slice(0, 3).map((violation) => `message ${violation.at}: ${violation.detail}`);
    throw new TurnFailed('malformed_history', `The history cannot be sent: ${details.join('; ')}.`);
  }
  const untilSeq = turn.baseSeq;
  const callNo = turn.progress.calls;
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
        ...turn.request,
        ...inputTransformOf(turn.requests.rules.view)({ system: turn.request.system, messages: [...messages] }),
      },
      {
        signal: idle.signal,
        headers: context.config.models.providers.anthropic.auditHeaders ? auditHeaders(turn, callNo) : {},
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
    turn.idleTimeoutsInARow = 0;
    const { repairs } = answer;
    const call: ModelCallRow = {
      ...sent,
      notes: { ...diagnostics.figures(), ...(repairs === undefined ? undefined : { repairs }) },
      callNo,
      step: turn.progress.steps + 1,
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
      const endedAt = context.clock.now();
      turn.callWithoutAnswer = brokenCall(turn, {
        status: 'aborted',
        error: { code: callCodeOf(error.reason), message: error.reason.message },
        sent,
        endedAt,
      });
    }
    throw error;
  } finally {
    idle.stop();
  }
}

/** The answer broke off because the context was full: the same as a prompt that is refused for its length. */
function windowExceeded(): ModelError {
  const message = 'The answer broke off because the context window was full.';
  return new ModelError({ type: 'model_context_window_exceeded', status: null, retryAfterMs: null, message });
}

/** Prunes the view of the turn when the provider's cache has gone cold; it lasts for the session. */
function pruneWhenCold(turn: RunningTurn, now: Date): void {
  const { contextPruning: pruning, contextTokens } = turn.agent;
  const { sessionView } = turn;
  const decided = turn.requests.decide({ sessionView, pruning, contextTokens, nowMs: now.getTime() });
  if (decided.sessionView !== undefined) changeSessionView(turn, decided.sessionView);
  // The reported tokens are those of the earlier messages.
  if (decided.hasPruned) turn.room.reportedTokens = null;
}

function failedCall(turn: RunningTurn, fault: ModelError, sent: SentCall, endedAt: Date): ModelCallRow {
  const { code } = classifyFailure(fault);
  const error = { code, type: fault.type, status: fault.status, message: fault.message.slice(0, 2000) };
  return brokenCall(turn, { status: 'failed', error, sent, endedAt });
}

/** The row of a call without an answer; its cost is not known. */
function brokenCall(
  turn: RunningTurn,
  { sent, ...end }: Pick<ModelCallRow, 'status' | 'error' | 'endedAt'> & { sent: SentCall },
): ModelCallRow {
  return {
    ...sent,
    ...end,
    callNo: turn.progress.calls,
    step: turn.progress.steps + 1,
    untilSeq: turn.baseSeq,
    stopReason: null,
    responseId: null,
    inputTokens: 0,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    firstChunkAt: null,
  };
}
