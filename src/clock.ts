// Time as a value that is passed in. Wall time is for display and for ids; durations and timeouts are measured on the monotonic
// clock only, and leases are decided by the database's time (G8), never by this file.
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';

export interface Clock {
  /** The wall time: for display, stored times of things already past, and prompts. Jumps when the machine's clock is set. */
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
