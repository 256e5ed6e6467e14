// What every call for an answer or a summary has in common: its identity, its failure, its cost,
// and its row.
import { readBatchSettings, readVia } from '../../core/inbound.ts';
import { cutHead } from '../../core/text.ts';
import { classifyFailure } from '../../core/failure.ts';
import { given } from '../../core/json.ts';
import { refOfModel, type NamedModel, isScriptedId } from '../../core/models.ts';
import type { ModelAnswer, Usage } from '../../core/model-request.ts';
import { type PriceTier, priceCall, type CallPrice } from '../../core/prices.ts';
import type { ReportedUsage } from '../../model/stream/reduce-answer.ts';
import { SPAN_KEYS } from '../../core/telemetry.ts';
import { ModelError, type AskOptions } from '../../model/model.ts';
import { createCallDiagnostics, formatCallId } from '../../model/observers/observer.ts';
import type { ModelCallRow } from './journal/journal.ts';
import type { TurnContext } from './context.ts';
import { pickLogIds, originOfTurn, type OpenedTurn } from './opened-turn.ts';
import { callCodeOf, type StopReason } from './turn-stop.ts';
import { idleTimeoutMs } from '../../model/stream/stop-reasons.ts';

/** A call without an answer that can be used. */
export interface BrokenCall {
  status: 'failed' | 'aborted';
  error: Record<string, unknown>;
  /**
   * Present when its tokens are known all the same, because it was answered or refused as a whole.
   */
  usage?: Usage;
}

/** How a call ended. */
export type CallConclusion = { answer: ModelAnswer } | BrokenCall;

/** The facts of a call that are known before it is made. */
interface CallStart extends Pick<ModelCallRow, 'callNo' | 'view' | 'purpose'> {
  model: NamedModel;
  /** Absent: standard. */
  tier?: PriceTier;
  /** Absent: the step that its answer makes. */
  step?: number;
}

type BegunCall = Pick<
  ModelCallRow,
  | 'callNo'
  | 'view'
  | 'purpose'
  | 'model'
  | 'tier'
  | 'step'
  | 'untilSeq'
  | 'startedAt'
  | 'firstChunkAt'
  | 'requestSha256'
>;

/** A call on its way. */
export class CallRecord {
  readonly #context: TurnContext;
  readonly #turn: OpenedTurn;
  readonly #begun: BegunCall;
  readonly #key: string | undefined;
  #diagnostics: ReturnType<typeof createCallDiagnostics> | null = null;
  #reported: ReportedUsage | null = null;

  constructor(context: TurnContext, turn: OpenedTurn, { model, ...call }: CallStart) {
    const { progress, baseSeq } = turn.journal.at;
    const startedAt = context.clock.now();
    this.#context = context;
    this.#turn = turn;
    this.#key = model.key ?? context.models.client.keysOf(model)[0]?.name;
    this.#begun = {
      tier: 'standard',
      step: progress.steps + 1,
      ...call,
      model: refOfModel(model),
      untilSeq: baseSeq,
      startedAt,
      firstChunkAt: null,
      requestSha256: null,
    };
  }

  /**
   * The options of the call for the client of the model. A call that is not made through the client
   * has no measurements.
   */
  options(): Pick<AskOptions, 'headers' | 'beforeSend' | 'observers' | 'about' | 'callNo' | 'onUsage'> {
    const { id: turnId, session, held } = this.#turn;
    const { callNo } = this.#begun;
    const headers = {
      'x-holdfast-session': session.key,
      'x-holdfast-turn': turnId,
      'x-holdfast-epoch': String(held.epoch),
      'x-holdfast-call': String(callNo),
    };
    const { tracing } = this.#context;
    const traced =
      tracing === null
        ? undefined
        : { traceparent: tracing.headerOf(originOfTurn(this.#turn), SPAN_KEYS.call(turnId, callNo)) };
    const diagnostics = createCallDiagnostics(() => this.#context.clock.monotonicMs());
    this.#diagnostics = diagnostics;
    return {
      callNo,
      headers: { ...(this.#context.config.models.providers.anthropic.auditHeaders ? headers : {}), ...traced },
      beforeSend: () => held.assertHeld(),
      observers: [{ sent: (_body, sha256) => void (this.#begun.requestSha256 = sha256) }, diagnostics],
      about: { callId: formatCallId(turnId, callNo), sessionKey: session.key, turnId },
      onUsage: (reported) => void (this.#reported = reported),
    };
  }

  /** The hash of the sent request; null: nothing was sent. */
  get requestSha256(): string | null {
    return this.#begun.requestSha256;
  }

  /** Notes that a part of the answer has arrived. */
  arrived(): void {
    this.#begun.firstChunkAt ??= this.#context.clock.now();
  }

  /**
   * The row of the call, which ends now. `costMicros`: its cost if it does not follow from token
   * prices; null: unknown.
   */
  ended(end: CallConclusion, { costMicros }: { costMicros?: number | null } = {}): ModelCallRow {
    const { answer, ...broken } =
      'answer' in end ? { answer: end.answer, status: 'ok' as const, error: null } : { answer: null, ...end };
    const { status, error } = broken;
    const repairs = answer?.repairs;
    const { at, attempt } = this.#turn.journal;
    const { rateWaitMs } = attempt;
    const { viaReason } = readBatchSettings(at.inputs);
    const notes = this.#diagnostics && {
      ...this.#diagnostics.figures(),
      ...given({ key: this.#key }),
      ...(rateWaitMs > 0 && this.#begun.tier === 'standard' ? { rateWaitMs } : {}),
      ...(repairs === undefined ? {} : { repairs }),
      ...(viaReason !== null && readVia(at.inputs) === 'live' ? { way: viaReason } : {}),
    };
    if (answer?.impossibleUsage !== undefined) {
      const { model } = this.#begun;
      const facts = {
        ...pickLogIds(this.#context, this.#turn),
        model,
        reported: answer.impossibleUsage,
        charged: answer.usage,
      };
      this.#context.logger.warn(
        facts,
        'Provider reported tokens that the request cannot have used; an estimate is charged',
      );
    }
    const unknown =
      answer?.stopReason === 'sensitive' ? undefined : repairs?.find(({ step }) => step === 'stop-reason');
    if (unknown !== undefined) {
      const facts = { ...pickLogIds(this.#context, this.#turn), model: this.#begun.model, reason: unknown.was };
      this.#context.logger.warn(facts, 'Provider ended an answer with a reason that is not known');
    }
    const known = 'answer' in end ? end.answer.usage : end.usage;
    const { cacheWrite1hTokens = 0, ...usage } = known ?? this.#reported?.usage ?? NO_USAGE;
    const responseId = answer?.id ?? this.#reported?.id ?? null;
    const price: CallPrice =
      costMicros === undefined
        ? priceCall(this.#context.models.prices, this.#begun, { ...usage, cacheWrite1hTokens })
        : { costMicros, priceVersion: null };
    return {
      ...this.#begun,
      status,
      error,
      ...(notes === null ? undefined : { notes }),
      stopReason: answer?.stopReason ?? null,
      responseId,
      ...usage,
      cacheWrite1hTokens,
      ...price,
      isEstimated: (known === undefined || answer?.impossibleUsage !== undefined) && this.#begun.requestSha256 !== null,
      isSimulated: isScriptedId(responseId),
      endedAt: this.#context.clock.now(),
    };
  }
}

const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

/** The end of a call that a stop has aborted. */
export function abortedBy(reason: StopReason): BrokenCall {
  return { status: 'aborted', error: { code: callCodeOf(reason), message: reason.message } };
}

/**
 * The end of a call that has failed. A provider that answers with an error status has used no
 * tokens.
 */
export function failedBy(fault: ModelError): BrokenCall {
  const { type, status, message } = fault;
  return {
    status: 'failed',
    error: { code: classifyFailure(fault).code, type, status, message: cutHead(message, 2000) },
    ...(status === null ? {} : { usage: NO_USAGE }),
  };
}

/**
 * The fault of a failed call; it asks for no longer wait than a turn may take
 * (`models.outage.giveUpAfter`). Rethrows any other error.
 */
export function toModelError({ config }: TurnContext, error: unknown): ModelError {
  if (error instanceof ModelError) return error.waitingAtMost(config.models.outage.giveUpAfter);
  if (!(error instanceof ModelSilent)) throw error;
  const { message } = error;
  return new ModelError({ type: 'idle_timeout', status: null, retryAfterMs: null, message, cause: error });
}

// The clock that gives up a call whose model has fallen silent. Everything that comes restarts it,
// pings included.

/** The model said nothing for too long. */
export class ModelSilent extends Error {
  readonly code = 'model_idle_timeout';
  constructor(timeoutMs: number) {
    super(`The model sent nothing for ${timeoutMs / 1000} s.`);
    this.name = 'ModelSilent';
  }
}

/**
 * Aborts its signal with `ModelSilent` when it was not restarted for this long (0: never), or as
 * soon as one of its parents aborts, with that parent's reason. Stop it at the end of the call:
 * until then it listens to its parents. (`AbortSignal.any` listens until it is garbage collected,
 * which is expensive with hundreds of calls.)
 */
export class IdleClock {
  readonly #abort = new AbortController();
  readonly #timer: NodeJS.Timeout | null;
  readonly #parents: readonly AbortSignal[];

  constructor(timeoutMs: number, parents: readonly AbortSignal[]) {
    this.#parents = parents;
    for (const parent of parents) parent.addEventListener('abort', this.#follow);
    this.#timer = timeoutMs > 0 ? setTimeout(() => this.#abort.abort(new ModelSilent(timeoutMs)), timeoutMs) : null;
    this.#follow();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  restart(): void {
    this.#timer?.refresh();
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    for (const parent of this.#parents) parent.removeEventListener('abort', this.#follow);
  }

  readonly #follow = (): void => {
    const aborted = this.#parents.find((parent) => parent.aborted);
    if (aborted !== undefined) this.#abort.abort(aborted.reason);
  };
}

/**
 * How long the model of a turn may be silent, in milliseconds; 0: as long as the turn may take. It
 * is as long as the turn when answers are not streamed: such a model sends nothing until it is
 * done.
 */
export function chooseIdleTimeout(
  { agent, session, journal }: OpenedTurn,
  { isStreaming }: { isStreaming: boolean },
): number {
  if (!isStreaming) return 0;
  return idleTimeoutMs({
    limits: agent.llm,
    isCron: session.kind === 'cron' || journal.at.inputs[0]?.kind === 'cron',
    turnTimeoutSeconds: agent.timeoutSeconds,
  });
}
