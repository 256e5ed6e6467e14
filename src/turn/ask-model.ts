// Asks the model for the next answer of a turn. One stored retry budget for the whole turn, charged before each call (G16):
// what a failed call cost is committed before the next one begins, so a restart does not begin the budget anew. A cut stream
// is a failed call, never an answer.
import { setTimeout as delay } from 'node:timers/promises';
import { classifyFailure, retryDelayMs } from '../core/failure.ts';
import type { ModelAnswer } from '../core/model-request.ts';
import { ModelError } from '../model/model.ts';
import type { ModelCallRow } from '../store/journal.ts';
import type { TurnContext } from './context.ts';
import { commit, type RunningTurn } from './running-turn.ts';
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
    await commit(context, turn, { progress: { calls }, events: [{ type: 'model.started', data: { call: calls } }] });
  }
  for (;;) {
    const startedAt = context.clock.now();
    try {
      return await askOnce(context, turn, startedAt);
    } catch (error) {
      if (error instanceof TurnStopped || error instanceof TurnFailed) throw error;
      const fault = faultOf(error);
      await prepareRetry(context, turn, fault, startedAt);
    }
  }
}

async function askOnce(context: TurnContext, turn: RunningTurn, startedAt: Date): Promise<Answered> {
  turn.held.assertHeld();
  const { messages } = turn.transcript.history;
  const violations = turn.transcript.check(messages);
  if (violations.length > 0) {
    const details = violations.slice(0, 3).map((violation) => `message ${violation.at}: ${violation.detail}`);
    throw new TurnFailed('malformed_history', `The history cannot be sent: ${details.join('; ')}.`);
  }
  const untilSeq = turn.lastEntry.seq;
  const callNo = turn.progress.calls;
  const target = { sessionId: turn.session.id, epoch: turn.held.epoch, turnId: turn.id };
  const idle = new IdleClock(turn.agent.llm.idleTimeoutSeconds * 1000);
  let firstChunkAt: Date | null = null;
  try {
    const answer = await context.model.ask(
      { ...turn.request, messages: [...messages] },
      {
        signal: AbortSignal.any([turn.held.signal, idle.signal]),
        headers: context.config.models.providers.anthropic.auditHeaders ? auditHeaders(turn, callNo) : {},
        onChunk: (text) => {
          idle.restart();
          firstChunkAt ??= context.clock.now();
          if (text !== '') context.deltas.add(target, callNo, text);
        },
      },
    );
    const call: ModelCallRow = {
      callNo,
      step: turn.progress.steps + 1,
      untilSeq,
      status: 'ok',
      stopReason: answer.stopReason,
      responseId: answer.id,
      error: null,
      ...answer.usage,
      startedAt,
      firstChunkAt,
      endedAt: context.clock.now(),
    };
    return { answer, call };
  } catch (error) {
    if (error instanceof TurnStopped) {
      const { kind, message } = error.reason;
      const endedAt = context.clock.now();
      turn.callWithoutAnswer = brokenCall(turn, {
        status: 'aborted',
        error: { code: kind, message },
        startedAt,
        endedAt,
      });
    }
    throw error;
  } finally {
    idle.stop();
  }
}

/** Charges the next call and waits as long as it must. Throws when there is no next call, or none in this worker. */
async function prepareRetry(
  context: TurnContext,
  turn: RunningTurn,
  fault: ModelError,
  startedAt: Date,
): Promise<void> {
  const verdict = classifyFailure(fault);
  const attempt = turn.progress.retries + 1;
  const failed = failedCall(turn, fault, verdict.code, startedAt, context.clock.now());
  turn.callWithoutAnswer = failed;
  if (verdict.kind !== 'retry') throw new TurnFailed(verdict.code, fault.message, fault);
  if (attempt > context.config.models.providers.anthropic.maxRetries) {
    throw new TurnFailed(verdict.code, `Given up after ${turn.progress.calls} model calls: ${fault.message}`, fault);
  }
  const delayMs = retryDelayMs({ attempt, random: context.random(), retryAfterMs: fault.retryAfterMs });
  const calls = turn.progress.calls + 1;
  await context.deltas.take({ sessionId: turn.session.id, epoch: turn.held.epoch, turnId: turn.id });
  await commit(context, turn, {
    progress: { calls, retries: attempt },
    modelCalls: [failed],
    events: [
      { type: 'model.ended', data: { call: failed.callNo, status: 'failed', error: failed.error, retryInMs: delayMs } },
      { type: 'model.started', data: { call: calls } },
    ],
  });
  if (delayMs > WAIT_IN_SLOT_MS_MAX) {
    throw new TurnStopped({ kind: 'parked', message: `The provider asks to wait ${delayMs} ms.`, delayMs });
  }
  await delay(delayMs, undefined, { signal: turn.held.signal }).catch(() => turn.held.signal.throwIfAborted());
}

function failedCall(turn: RunningTurn, fault: ModelError, code: string, startedAt: Date, endedAt: Date): ModelCallRow {
  const error = { code, type: fault.type, status: fault.status, message: fault.message.slice(0, 2000) };
  return brokenCall(turn, { status: 'failed', error, startedAt, endedAt });
}

/** The row of a call without an answer; what it cost is not known. */
function brokenCall(
  turn: RunningTurn,
  end: Pick<ModelCallRow, 'status' | 'error' | 'startedAt' | 'endedAt'>,
): ModelCallRow {
  return {
    ...end,
    callNo: turn.progress.calls,
    step: turn.progress.steps + 1,
    untilSeq: turn.lastEntry.seq,
    stopReason: null,
    responseId: null,
    inputTokens: 0,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    firstChunkAt: null,
  };
}

function faultOf(error: unknown): ModelError {
  if (error instanceof ModelError) return error;
  if (error instanceof ModelSilent) {
    return new ModelError({
      type: 'idle_timeout',
      status: null,
      retryAfterMs: null,
      message: error.message,
      cause: error,
    });
  }
  throw error;
}

function auditHeaders(turn: RunningTurn, callNo: number): Record<string, string> {
  return {
    'x-holdfast-session': turn.session.key,
    'x-holdfast-turn': turn.id,
    'x-holdfast-epoch': String(turn.held.epoch),
    'x-holdfast-call': String(callNo),
  };
}

/** The model said nothing for too long. */
class ModelSilent extends Error {
  readonly code = 'model_idle_timeout';
  constructor(timeoutMs: number) {
    super(`The model was silent for ${timeoutMs / 1000} s.`);
    this.name = 'ModelSilent';
  }
}

/** Aborts a call that is silent for too long; every chunk restarts it. */
class IdleClock {
  readonly #abort = new AbortController();
  readonly #timer: NodeJS.Timeout | null;

  constructor(timeoutMs: number) {
    this.#timer = timeoutMs > 0 ? setTimeout(() => this.#abort.abort(new ModelSilent(timeoutMs)), timeoutMs) : null;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  restart(): void {
    this.#timer?.refresh();
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }
}
