// How long a model may send nothing before a call times out, by what started the turn. Every received byte restarts the limit; a
// long answer that keeps arriving is never cut.

/** The limits of an agent, in seconds; 0: off. */
export interface IdleLimits {
  idleTimeoutSeconds: number;
  /** In cron jobs. */
  cronIdleTimeoutSeconds: number;
}

/** Where the configuration sets none. In a cron job it is short enough that another try still fits into its time. */
export const IDLE_LIMITS_DEFAULT: Readonly<IdleLimits> = { idleTimeoutSeconds: 120, cronIdleTimeoutSeconds: 60 };

/** This many consecutive calls that timed out, without an answer in between, end a turn, even with retry budget left. */
export const IDLE_TIMEOUTS_IN_A_ROW_MAX = 5;

/**
 * How long a model can be silent, in milliseconds; 0: as long as the turn can take. Never longer than the turn itself. No person waits for a
 * cron job, but it holds one of few slots.
 */
export function idleTimeoutMs(turn: { limits: IdleLimits; isCron: boolean; turnTimeoutSeconds: number }): number {
  const { limits, isCron, turnTimeoutSeconds } = turn;
  const seconds = isCron ? limits.cronIdleTimeoutSeconds : limits.idleTimeoutSeconds;
  return Math.min(seconds, turnTimeoutSeconds) * 1000;
}
