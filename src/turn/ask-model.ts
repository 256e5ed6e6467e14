// Asks the model for the next answer of a turn. One stored retry budget for the whole turn, charged before each call (G16):
// what a failed call cost is committed before the next one begins, so a restart does not begin the budget anew. A cut stream
// is a failed call, never an answer.
import { setTimeout as delay } from 'node:timers/promises';
import { classifyFailure, retryDelayMs } from '../core/failure.ts';
import type { ModelAnswer } from '../core/model-request.ts';
import { IDLE_TIMEOUTS_IN_A_ROW_MAX } from '../core/stream/idle-timeout.ts';
import { createReplyStream } from '../core/stream/reply-stream.ts';
import { ModelError } from '../model/model.ts';
import { createCallDiagnostics } from '../model/observers/diagnostics.ts';
import { callIdOf } from '../model/observers/observer.ts';
import type { ModelCallRow } from '../store/journal.ts';
import { blocked, canCompact, compactAfterOverflow, compactWhenFull } from './compact-when-full.ts';
import type { TurnContext } from './context.ts';
import { IdleClock, idleTimeoutOf } from './idle-clock.ts';
import { inputTransformOf } from './input-transform.ts';
import { auditHeaders, faultOf } from './model-call.ts';
import { modelEnded, modelStarted } from './model-events.ts';
import { replyRulesOf, showsReasoning } from './reply-rules.ts';
import { changeSessionView, commit, type RunningTurn } from './running-turn.ts';
import { TurnFailed, TurnStopped } from './turn-end.ts';

/** A wait longer than this is not spent in a worker: the turn is parked and its slot is free, in milliseconds. */
const WAIT_IN_SLOT_MS_MAX = 5_000;

/** An answer with what is known of its call, to be committed together. */
export interface Answered {
  answer: ModelAnswer;
  call: ModelCallRow;
}

/** Resolves with a complete answer. Throws `TurnFailed` when there will be none, `TurnStopped` when the turn stops. */
export async function askModel(context: TurnContext, turn: RunningTurn): Promise<Answered> {
  if (turn.mustCharge) {
    turn.mustCharge = false;
    const calls = turn.progress.calls + 1;
    await commit(context, turn, { progress: { calls }, events: [modelStarted(turn.id, calls)] });
  }
  pruneWhenCold(turn, context.clock.now());
  await compactWhenFull(context, turn);
  for (;;) {
    const sent: SentCall = { startedAt: context.clock.now(), view: null, requestSha256: null };
    try {
      const answered = await askOnce(context, turn, sent);
      if (answered.answer.stopReason !== 'model_context_window_exceeded') return answered;
      throw windowExceeded();
    } catch (error) {
      if (error instanceof TurnStopped || error instanceof TurnFailed) throw error;
      const fault = faultOf(error);
      await prepareRetry(context, turn, fault, sent);
    }
  }
}

/** What is known of a call before it has an answer. */
type SentCall = Pick<ModelCallRow, 'startedAt' | 'view' | 'requestSha256' | 'notes'>;

async function askOnce(context: TurnContext, turn: RunningTurn, sent: SentCall): Promise<Answered> {
  turn.held.assertHeld();
  pruneWhenCold(turn, sent.startedAt);
  const { messages, callView, violations } = turn.requests.next();
  sent.view = callView;
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
      const { kind, message } = error.reason;
      const endedAt = context.clock.now();
      turn.callWithoutAnswer = brokenCall(turn, {
        status: 'aborted',
        error: { code: kind, message },
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
  // What was reported is of the messages as they were.
  if (decided.hasPruned) turn.room.reportedTokens = null;
}

/** Charges the next call and waits as long as it must. Throws when there is no next call, or none in this worker. */
async function prepareRetry(context: TurnContext, turn: RunningTurn, fault: ModelError, sent: SentCall): Promise<void> {
  const verdict = classifyFailure(fault);
  const attempt = turn.progress.retries + 1;
  const failed = failedCall(turn, fault, verdict.code, sent, context.clock.now());
  turn.callWithoutAnswer = failed;
  const isTooLong = verdict.kind === 'overflow' && canCompact(turn);
  if (verdict.kind === 'fatal') throw new TurnFailed(verdict.code, fault.message, fault);
  if (verdict.kind === 'overflow' && !isTooLong) throw blocked(fault);
  if (fault.type === 'idle_timeout' && ++turn.idleTimeoutsInARow >= IDLE_TIMEOUTS_IN_A_ROW_MAX) {
    const message = `Given up after ${turn.idleTimeoutsInARow} model calls in a row that ended in silence: ${fault.message}`;
    throw new TurnFailed(verdict.code, message, fault);
  }
  if (attempt > context.config.models.providers.anthropic.maxRetries) {
    throw new TurnFailed(verdict.code, `Given up after ${turn.progress.calls} model calls: ${fault.message}`, fault);
  }
  const delayMs = isTooLong ? 0 : retryDelayMs({ attempt, random: context.random(), retryAfterMs: fault.retryAfterMs });
  const calls = turn.progress.calls + 1;
  await context.deltas.take({ sessionId: turn.session.id, epoch: turn.held.epoch, turnId: turn.id });
  await commit(context, turn, {
    progress: { calls, retries: attempt },
    modelCalls: [failed],
    events: [modelEnded(turn.id, failed, delayMs), modelStarted(turn.id, calls)],
  });
  if (isTooLong) return await compactAfterOverflow(context, turn, fault);
  if (delayMs > WAIT_IN_SLOT_MS_MAX) {
    throw new TurnStopped({ kind: 'parked', message: `The provider asks to wait ${delayMs} ms.`, delayMs });
  }
  await delay(delayMs, undefined, { signal: turn.held.signal }).catch(() => turn.held.signal.throwIfAborted());
}

function failedCall(turn: RunningTurn, fault: ModelError, code: string, sent: SentCall, endedAt: Date): ModelCallRow {
  const error = { code, type: fault.type, status: fault.status, message: fault.message.slice(0, 2000) };
  return brokenCall(turn, { status: 'failed', error, sent, endedAt });
}

/** The row of a call without an answer; what it cost is not known. */
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
