// How long a call may take, all its attempts together.
import { deadlineError, type HoldfastError } from './holdfast-error.ts';

/** The time of a call. Cleared, it aborts nothing more; the signal of the caller still does. */
export interface CallDeadline {
  /** Aborts at the deadline, and with the caller's signal. */
  signal: AbortSignal;
  leftMs(): number;
  /** Why the call was aborted, if it was; else this error. */
  reasonOr(error: HoldfastError): unknown;
  clear(): void;
}

/** Starts the time of a call to a service. */
export function startDeadline(url: string, timeoutMs: number, signal: AbortSignal | undefined): CallDeadline {
  const time = new AbortController();
  const endsAt = performance.now() + timeoutMs;
  const timer = setTimeout(() => time.abort(deadlineError(url, timeoutMs)), timeoutMs);
  const either = signal === undefined ? time.signal : AbortSignal.any([time.signal, signal]);
  return {
    signal: either,
    leftMs: () => endsAt - performance.now(),
    reasonOr: (error) => (either.aborted ? either.reason : error),
    clear: () => clearTimeout(timer),
  };
}
