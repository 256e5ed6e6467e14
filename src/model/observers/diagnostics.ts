// The measurements of a call, for its events: bytes out and in, and the time to the first byte.
import type { CallObserver } from './observer.ts';

export interface CallFigures {
  requestBytes: number;
  responseBytes: number;
  /** From the sending of the request to the first byte of its answer, in milliseconds; null: there was no answer. */
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
