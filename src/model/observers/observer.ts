// Observers see requests and answers without changing them. A fault of an observer never reaches a
// call: one that throws is reported and not called again in this call.
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

interface Watchers {
  /** The model's own observers, for every call. */
  observers: readonly ModelObserver[];
  /** The observers of this call alone. */
  calls: readonly CallObserver[];
  onFault: (name: string, error: unknown) => void;
}

interface Watcher {
  name: string;
  observer: CallObserver;
}

/** The observers of one call, after its start was reported to them; empty when there are none. */
export function watchAll({ observers, calls, onFault }: Watchers, call: StartedCall): CallObserver {
  let watchers: Watcher[] = calls.map((observer) => ({ name: 'call', observer }));

  const notify = (each: (observer: CallObserver) => void): void => {
    for (const watcher of watchers) {
      try {
        each(watcher.observer);
      } catch (error) {
        watchers = watchers.filter((other) => other !== watcher);
        onFault(watcher.name, error);
      }
    }
  };

  for (const watching of observers) {
    try {
      const observer = watching.watch(call);
      if (observer !== null) watchers.push({ name: watching.name, observer });
    } catch (error) {
      onFault(watching.name, error);
    }
  }
  if (watchers.length === 0) return {};
  return {
    sent: (body, sha256) => notify((observer) => observer.sent?.(body, sha256)),
    bytes: (count) => notify((observer) => observer.bytes?.(count)),
    ended: (end: CallResult) => notify((observer) => observer.ended?.(end)),
  };
}

// The measurements of a call, for its events: bytes out and in, and the time to the first byte.

export interface CallFigures {
  requestBytes: number;
  responseBytes: number;
  /**
   * From the sending of the request to the first byte of its answer, in milliseconds; null: there
   * was no answer.
   */
  firstByteMs: number | null;
  /** From the beginning to now, in milliseconds. */
  durationMs: number;
}

/** An observer of one call that measures it. `nowMs` is a clock that never goes back. */
export function createCallDiagnostics(nowMs: () => number): CallObserver & { figures(): CallFigures } {
  const beganAtMs = nowMs();
  let sentAtMs = beganAtMs;
  let firstByteMs: number | null = null;
  let requestBytes = 0;
  let responseBytes = 0;
  return {
    sent(body) {
      requestBytes = Buffer.byteLength(body);
      sentAtMs = nowMs();
    },
    bytes(count) {
      firstByteMs ??= Math.round(nowMs() - sentAtMs);
      responseBytes += count;
    },
    figures: () => ({ requestBytes, responseBytes, firstByteMs, durationMs: Math.round(nowMs() - beganAtMs) }),
  };
}
