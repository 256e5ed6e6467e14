// What every call for an answer or a summary has in common: what identifies it, how it failed, and the row that it becomes.
import { classifyFailure } from '../../core/failure.ts';
import type { ModelAnswer } from '../../core/model-request.ts';
import { ModelError, type AskOptions } from '../../model/model.ts';
import { createCallDiagnostics } from '../../model/observers/diagnostics.ts';
import { callIdOf } from '../../model/observers/observer.ts';
import type { ModelCallRow } from '../../store/journal.ts';
import type { TurnContext } from '../context.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import { callCodeOf, type StopReason } from '../turn-end.ts';
import { ModelSilent } from './idle-clock.ts';

/** How a call ended: with an answer, or without one, and then its cost is not known. */
export type CallConclusion = { answer: ModelAnswer } | { status: 'failed' | 'aborted'; error: Record<string, unknown> };

/** A call on its way. */
export class CallRecord {
  readonly #context: TurnContext;
  readonly #turn: OpenedTurn;
  readonly #begun: Pick<
    ModelCallRow,
    'callNo' | 'view' | 'purpose' | 'step' | 'untilSeq' | 'startedAt' | 'firstChunkAt' | 'requestSha256'
  >;
  #diagnostics: ReturnType<typeof createCallDiagnostics> | null = null;

  constructor(context: TurnContext, turn: OpenedTurn, call: Pick<ModelCallRow, 'callNo' | 'view' | 'purpose'>) {
    const { progress, baseSeq } = turn.journal.at;
    const startedAt = context.clock.now();
    this.#context = context;
    this.#turn = turn;
    this.#begun = {
      ...call,
      step: progress.steps + 1,
      untilSeq: baseSeq,
      startedAt,
      firstChunkAt: null,
      requestSha256: null,
    };
  }

  /** The options of the call for the client of the model. A call that is not made through the client has no measurements. */
  options(): Pick<AskOptions, 'headers' | 'beforeSend' | 'observers' | 'about' | 'callNo'> {
    const { id: turnId, session, held } = this.#turn;
    const { callNo } = this.#begun;
    const headers = {
      'x-holdfast-session': session.key,
      'x-holdfast-turn': turnId,
      'x-holdfast-epoch': String(held.epoch),
      'x-holdfast-call': String(callNo),
    };
    const diagnostics = createCallDiagnostics(() => this.#context.clock.monotonicMs());
    this.#diagnostics = diagnostics;
    return {
      callNo,
      headers: this.#context.config.models.providers.anthropic.auditHeaders ? headers : {},
      beforeSend: () => held.assertHeld(),
      observers: [{ sent: (_body, sha256) => void (this.#begun.requestSha256 = sha256) }, diagnostics],
      about: { callId: callIdOf(turnId, callNo), sessionKey: session.key, turnId },
    };
  }

  /** Notes that a part of the answer has arrived. */
  arrived(): void {
    this.#begun.firstChunkAt ??= this.#context.clock.now();
  }

  /** The row of the call, which ends now. */
  ended(end: CallConclusion): ModelCallRow {
    const { answer, ...broken } =
      'answer' in end ? { answer: end.answer, status: 'ok' as const, error: null } : { answer: null, ...end };
    const repairs = answer?.repairs;
    const notes = this.#diagnostics && {
      ...this.#diagnostics.figures(),
      ...(repairs === undefined ? {} : { repairs }),
    };
    return {
      ...this.#begun,
      ...broken,
      ...(notes === null ? undefined : { notes }),
      stopReason: answer?.stopReason ?? null,
      responseId: answer?.id ?? null,
      ...(answer?.usage ?? NO_USAGE),
      endedAt: this.#context.clock.now(),
    };
  }
}

const NO_USAGE = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

/** The end of a call that a stop has aborted. */
export function abortedBy(reason: StopReason): CallConclusion {
  return { status: 'aborted', error: { code: callCodeOf(reason), message: reason.message } };
}

/** The end of a call that has failed. */
export function failedBy(fault: ModelError): CallConclusion {
  const { type, status, message } = fault;
  return {
    status: 'failed',
    error: { code: classifyFailure(fault).code, type, status, message: message.slice(0, 2000) },
  };
}

/** The fault of a call that failed. Throws what is none on. */
export function faultOf(error: unknown): ModelError {
  if (error instanceof ModelError) return error;
  if (!(error instanceof ModelSilent)) throw error;
  const { message } = error;
  return new ModelError({ type: 'idle_timeout', status: null, retryAfterMs: null, message, cause: error });
}
