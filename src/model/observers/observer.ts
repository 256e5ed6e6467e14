// Observers see requests and answers without changing them. A fault of an observer never reaches a call.
import type { ModelAnswer, ModelRequest } from '../../core/model-request.ts';

/** A call that begins. */
export interface StartedCall {
  request: ModelRequest;
  /** The transport that serves it. */
  transport: string;
  /** The turn of the call; null: none, as in tests. */
  about: CallIdentity | null;
}

/** Which call of which turn. */
export interface CallIdentity {
  /** `<turn id>:model:<n>`. */
  callId: string;
  sessionKey: string;
  turnId: string;
}

/** How a call ended; the error of an aborted one is the reason of the abort. */
export type CallResult = { kind: 'answered'; answer: ModelAnswer } | { kind: 'failed'; error: unknown };

/** Watches one call. Each function is optional and is called in this order; none may block. */
export interface CallObserver {
  /** The request leaves; its body, and the hash of that in hex. */
  sent?(body: string | Uint8Array, sha256: string): void;
  /** Bytes of the answer came. */
  bytes?(count: number): void;
  /** Called exactly once, at the end. */
  ended?(end: CallResult): void;
}

/** Watches the calls of a model. */
export interface ModelObserver {
  readonly name: string;
  /** Called before anything is sent; null when this call is of no interest. */
  watch(call: StartedCall): CallObserver | null;
  /** Writes the remaining lines. */
  close?(): Promise<void>;
}

/** `<turn id>:model:<n>`: the name of a call in events, logs and traces. */
export function formatCallId(turnId: string, callNo: number): string {
  return `${turnId}:model:${callNo}`;
}
