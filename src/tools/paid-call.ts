// How a tool calls a model. The kernel makes the call: it passes the gate before model calls, and
// its row with its cost is stored with the results.
import type { PaidPurpose, ModelAnswer, ModelRequest, TokenCounts } from '../core/model-request.ts';

/** What is asked, and what it costs. */
export interface PaidCall {
  purpose: PaidPurpose;
  /**
   * Of a model of pictures or sounds: its text, and about how many tokens the answer has at most.
   */
  request: ModelRequest;
  /** What it costs in micro-dollars where the model has no price by tokens; null: not known yet. */
  unitMicros?: number | null;
}

/** How the call is to be sent. */
export interface PaidWay {
  /** The request, with the key that it uses. */
  request: ModelRequest;
  headers: Record<string, string>;
  signal: AbortSignal;
  /** Called right before the request is written, with its body; throws when nothing may be sent. */
  onSend: (body: Uint8Array) => void;
  onBytes: (count: number) => void;
}

export interface PaidAnswer<Result> {
  result: Result;
  /** The provider's id of the request; null: it names none. */
  id: string | null;
  /** Null: it reports no tokens. */
  usage: TokenCounts | null;
  /** The price of a unit in the call, when the answer says it. */
  unitMicros?: number | null;
}

/** Sends a call once. Throws `ModelError`, or the signal's reason. */
export type SendPaid<Result> = (way: PaidWay) => Promise<PaidAnswer<Result>>;

/** A call of a tool, which ends with the signal of the tool. */
export type ToolPaidCall = PaidCall & { signal: AbortSignal };

/**
 * The models that a tool may call. Both reject with `PaidCallError`, or with the reason of an
 * abort.
 */
export interface ToolModels {
  /** Asks a model as turns do. */
  ask: (call: ToolPaidCall) => Promise<ModelAnswer>;
  /** Has another model called by `send`. */
  pay: <Result>(call: ToolPaidCall, send: SendPaid<Result>) => Promise<Result>;
}

/**
 * Why there is no answer, in words for a model. `refused`: nothing was sent. `failed`: the provider
 * refused it. `lost`: it was sent, and it is not known what came of it.
 */
export class PaidCallError extends Error {
  readonly code = 'paid_call_failed';
  readonly kind: 'refused' | 'failed' | 'lost';

  constructor(kind: PaidCallError['kind'], message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'PaidCallError';
    this.kind = kind;
  }
}
