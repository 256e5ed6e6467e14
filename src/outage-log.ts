// Logs the outage of a dependency as a story of a few lines: one when it starts, one per minute while it lasts, one when it ends.
// During an outage every part of the process fails several times a second; without this the log would be a wall of warnings.
// A dependency (the database, the queue) has one outage log per process, and every part reports its faults there.
import type { Logger } from './logger.ts';

export interface OutageLog {
  /**
   * Logs an error that the caller survives. A fault of the dependency is part of its outage; any other error is one warning with
   * this message and these facts.
   */
  report(error: unknown, message: string, facts?: Record<string, unknown>): void;
  /** Notes a fault of the dependency. */
  failed: (error: unknown) => void;
  /** True from the first fault of an outage until the dependency answers again. */
  readonly isOngoing: boolean;
  /** When the outage began that lasts now; null: none does. */
  readonly since: Date | null;
  /** Faults of the dependency since the process started. */
  readonly faults: number;
  /** Notes that the dependency has answered. Cheap: call it for every answer. */
  answered(): void;
}

export interface OutageLogOptions {
  /** How the lines name the dependency: `database`, `queue`. */
  dependency: string;
  logger: Pick<Logger, 'info' | 'warn'>;
  /** True for an error that means that the dependency cannot work now. */
  isOutage: (error: unknown) => boolean;
  /** Called with each fault. Must not throw. */
  onFault?: (error: unknown) => void;
  /** Milliseconds that never go back; absent: the machine's monotonic clock. */
  monotonicMs?: () => number;
}

/** While an outage lasts, one line is logged per interval, in milliseconds. */
const REMINDER_MS = 60_000;

/** An outage is over when the dependency answers and nothing has failed for so long: connections come back one by one. */
const SETTLED_MS = 2_000;

interface Outage {
  since: Date;
  startedAtMs: number;
  loggedAtMs: number;
  failedAtMs: number;
  faults: number;
}

/** Makes the outage log of one dependency. */
export function createOutageLog(options: OutageLogOptions): OutageLog {
  const { dependency, logger, isOutage, monotonicMs = () => performance.now() } = options;
  let outage: Outage | null = null;
  let total = 0;

  function failed(error: unknown): void {
    const nowMs = monotonicMs();
    total += 1;
    options.onFault?.(error);
    if (outage === null) {
      outage = { since: new Date(), startedAtMs: nowMs, loggedAtMs: nowMs, failedAtMs: nowMs, faults: 1 };
      logger.warn({ dependency, ...toReason(error) }, `The ${dependency} is unavailable; calls to it are retried`);
      return;
    }
    outage.failedAtMs = nowMs;
    outage.faults += 1;
    if (nowMs - outage.loggedAtMs < REMINDER_MS) return;
    outage.loggedAtMs = nowMs;
    const { faults, startedAtMs } = outage;
    const facts = { dependency, ...toReason(error), faults, durationMs: Math.round(nowMs - startedAtMs) };
    logger.warn(facts, `The ${dependency} is still unavailable`);
  }

  return {
    failed,
    get isOngoing() {
      return outage !== null;
    },
    get since() {
      return outage?.since ?? null;
    },
    get faults() {
      return total;
    },
    report(error, message, facts) {
      if (isOutage(error)) failed(error);
      else logger.warn({ err: error, ...facts }, message);
    },
    answered() {
      if (outage === null) return;
      const nowMs = monotonicMs();
      if (nowMs - outage.failedAtMs < SETTLED_MS) return;
      const { faults, startedAtMs } = outage;
      outage = null;
      const durationMs = Math.round(nowMs - startedAtMs);
      logger.info({ dependency, faults, durationMs }, `The ${dependency} is available again`);
    },
  };
}

/** The part of the error that is logged: its message and its code. The error's own fields may hold a whole connection, and the stack adds nothing. */
function toReason(error: unknown): { reason: string; code?: string } {
  if (!(error instanceof Error)) return { reason: String(error) };
  const { code } = error as { code?: unknown };
  // A refused connection to several addresses is an AggregateError without a message of its own.
  const first = error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error;
  const reason = error.message || first.message || error.name;
  return typeof code === 'string' ? { reason, code } : { reason };
}
