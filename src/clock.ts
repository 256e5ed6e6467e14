// Time as a value that is passed in. Wall time is for display and for ids; durations and timeouts
// are measured on the monotonic clock only, and leases are decided by the database's time (G8),
// never by this file.
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';

export interface Clock {
  /**
   * The wall time: for display, stored times of things already past, and prompts. Jumps when the
   * machine's clock is set.
   */
  now(): Date;
  /** Milliseconds since an arbitrary start, never going back: for timeouts and durations. */
  monotonicMs(): number;
}

/** The machine's clocks. Tests pass a clock of their own. */
export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
};

/** Resolves after this many milliseconds, or when the signal aborts. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await delay(ms, undefined, signal && { signal }).catch(() => undefined);
}

/** The IANA name of the time zone of the machine. */
export const HOST_TIMEZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

// Ends of waits for work that cannot be ended from outside: requests, handlers of plugins, calls to
// the queue.

export interface Deadline {
  ms: number;
  /** The error that the caller gets when the time is over. */
  late: () => Error;
}

/**
 * What `run` returns; rejects with `late()` when that takes longer than `ms`. The signal aborts
 * then, with the same error. Work that pays no attention to it continues, and its later result is
 * ignored.
 */
export async function withDeadline<Result>(
  { ms, late }: Deadline,
  run: (signal: AbortSignal) => Result | Promise<Result>,
): Promise<Result> {
  const abort = new AbortController();
  const timeout = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const error = late();
    abort.abort(error);
    timeout.reject(error);
  }, ms);
  // A throw before the first await is a rejection, too.
  const running = (async () => await run(abort.signal))();
  try {
    return await Promise.race([running, timeout.promise]);
  } finally {
    clearTimeout(timer);
    running.catch(() => undefined);
    timeout.promise.catch(() => undefined);
  }
}

/**
 * What `run` returns; rejects with the signal's reason when it aborts before. Work that pays no
 * attention to it continues, and its result is ignored.
 */
export async function orAborted<Result>(signal: AbortSignal, run: () => Result | Promise<Result>): Promise<Result> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([(async () => await run())(), aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
