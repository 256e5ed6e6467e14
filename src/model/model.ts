// The model port: how a turn calls a model of any provider. `create-model.ts` is its
// implementation.
import { isBlank, storableText } from '../core/text.ts';
import type { ProviderFamily } from '../history/provider-family.ts';
import type { Amounts } from '../core/rate-limit.ts';
import type { ModelAnswer, ModelRequest } from '../core/model-request.ts';
import type { ReportedUsage } from './stream/reduce-answer.ts';
import type { Replacement } from './stream/replace-text.ts';
import type { CallIdentity, CallObserver } from './observers/observer.ts';

/** Whom a request is for. */
export type Addressee = Pick<ModelRequest, 'provider' | 'key'>;

export interface AskOptions {
  /** Aborts the call; its reason says why and is what `ask` then rejects with. */
  signal: AbortSignal;
  /**
   * The first message that is new since the last answer of this model and key; absent: not known.
   */
  newFrom?: number;
  /** Extra headers of this call, for audit (`x-holdfast-session`, `-turn`, `-epoch`, `-call`). */
  headers: Record<string, string>;
  /**
   * Called before the request leaves, and again when it is about to be written on its connection,
   * where the transport can say so. Aborts the signal and throws when nothing may be sent.
   */
  beforeSend?: () => void;
  /**
   * Called when something of the answer arrives, pings included, with the text that it adds to the
   * reply, which may be empty. All of them joined are the answer's text as `joinText` gives it.
   * Restarts the idle clock. Must not throw; never called after an abort.
   */
  onChunk?: (textDelta: string) => void;
  /**
   * Called with the model's thinking, piece by piece. Must not throw; never called after an abort.
   */
  onReasoning?: (piece: string) => void;
  /**
   * Called when the provider reports tokens of the answer, with all that it has reported until
   * then: what a call costs that breaks off later. Must not throw.
   */
  onUsage?: (reported: ReportedUsage) => void;
  /** Called when the provider reports what is left of its rate limits. Must not throw. */
  onRemaining?: (remaining: Amounts) => void;
  /**
   * The answer as it was received by other means, and the hash of its request: nothing is sent.
   * Absent: the provider is asked.
   */
  received?: { body: unknown; sha256: string };
  /** The turn of the call, for the observers of all calls; absent: none. */
  about?: CallIdentity;
  /** The observers of this call alone. */
  observers?: readonly CallObserver[];
  /**
   * The number of the call in its turn, from 1: ids that are made up for its tool calls differ from
   * those of other calls.
   */
  callNo?: number;
  /**
   * The answer in a row with which calling the same unknown tool ends the turn with a text; absent
   * or 0: never.
   */
  unknownToolThreshold?: number;
  /** The replacements in the text of the answer. */
  replacements?: readonly Replacement[];
}

export interface Model {
  /** The providers whose models can be asked, as in `provider/model`. */
  readonly providers: readonly string[];
  /** The family of a provider; absent: that of the default provider. */
  familyOf(provider?: string): ProviderFamily;
  /** The keys of the provider of a request; empty: it has none by name. */
  keysOf(request: Addressee): readonly { name: string; scope: string }[];
  /** Whose limits a call counts against: each key has its own. */
  accountOf(request: Addressee): string;
  /** The body of a call in a batch of the provider; null: its transport has no batches. */
  batchParams(request: ModelRequest): object | null;
  /**
   * The body with which a call of a session asks; null: it is that of the Messages API, or only a
   * plugin knows it. Nothing is sent.
   */
  writeBody(this: void, request: ModelRequest, sessionKey: string): Promise<Uint8Array | null>;
  /**
   * The names of the models that a provider lists, with its first key; null: it has no list that is
   * known. Throws `ModelError`.
   */
  listModels(provider: string, signal: AbortSignal): Promise<string[] | null>;
  /**
   * Asks once, without retries of its own, and returns the complete answer, put right where it can
   * be (`ModelAnswer.repairs`). Throws `ModelError` for anything the provider or the network did
   * wrong, a cut stream included; rejects with the signal's reason after an abort.
   */
  ask(request: ModelRequest, options: AskOptions): Promise<ModelAnswer>;
  /** Writes what its observers still hold. */
  close(): Promise<void>;
}

/**
 * The error of a call. `status` is the HTTP status, null when no answer came or the stream was cut;
 * `type` is the provider's error type (`overloaded_error`, `invalid_request_error`, ...) or
 * `network`, `cut_stream`, `malformed_stream`. `classifyFailure` takes it as it is.
 */
export class ModelError extends Error {
  readonly code = 'model_error';
  readonly type: string;
  readonly status: number | null;
  /**
   * How long the provider asks to wait at least, in milliseconds, from `retry-after`; null when it
   * says nothing.
   */
  readonly retryAfterMs: number | null;
  /** The provider's finer error code, where it gives one (`enforced_spend_limit_reached`). */
  readonly errorCode: string | null;
  /** The provider's id of the request, for its support; null when no answer came. */
  readonly requestId: string | null;

  constructor(fault: {
    type: string;
    status: number | null;
    retryAfterMs: number | null;
    message: string;
    errorCode?: string | null;
    requestId?: string | null;
    cause?: unknown;
  }) {
    const text = storableText(fault.message);
    super(isBlank(text) ? `The call failed without a text (${fault.type}).` : text, { cause: fault.cause });
    this.name = 'ModelError';
    this.type = storableText(fault.type);
    this.status = fault.status;
    this.retryAfterMs = fault.retryAfterMs;
    this.errorCode = fault.errorCode ?? null;
    this.requestId = fault.requestId ?? null;
  }

  /** This error with a shorter wait. */
  waitingAtMost(retryAfterMs: number): ModelError {
    if (this.retryAfterMs === null || this.retryAfterMs <= retryAfterMs) return this;
    const { type, status, message, errorCode, requestId, cause } = this;
    return new ModelError({ type, status, retryAfterMs, message, errorCode, requestId, cause });
  }

  /** This error with another message. */
  saying(message: string): ModelError {
    const { type, status, retryAfterMs, errorCode, requestId, cause } = this;
    return new ModelError({ type, status, retryAfterMs, message, errorCode, requestId, cause });
  }
}
