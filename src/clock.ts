// Time as a value that is passed in. Wall time is for display and for ids; durations and timeouts are measured on the monotonic
// clock only, and leases are decided by the database's time (G8), never by this file.
import { performance } from 'node:perf_hooks';

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

/** The IANA name of the time zone of the machine. */
export const HOST_TIMEZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;
