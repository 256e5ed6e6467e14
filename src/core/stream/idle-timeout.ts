// How long a model may be silent before a call is given up, by what started the turn. The limit restarts with everything that comes;
// an answer that takes long but keeps coming is never cut.

/** What started a turn, as far as silence is concerned: nobody waits for a cron job, but it holds one of few slots. */
export type IdleTrigger = 'message' | 'subagent' | 'heartbeat' | 'cron';

/** The limit, in seconds, where the configuration sets no other. */
export const IDLE_SECONDS_DEFAULT = 120;
/** The same in a cron job: short enough that another try still fits into its time. */
const CRON_IDLE_SECONDS_DEFAULT = 60;

/** So many calls in a row that ended in silence, without an answer in between, end a turn, whatever its retry budget says. */
export const IDLE_TIMEOUTS_IN_A_ROW_MAX = 5;

/**
 * How long a model may be silent, in milliseconds; 0: as long as the turn may take. `configuredSeconds` is
 * `llm.idleTimeoutSeconds` (0: off). Another value than the default holds for every trigger. Never longer than the turn itself.
 */
export function idleTimeoutMs(choice: {
  configuredSeconds: number;
  trigger: IdleTrigger;
  turnTimeoutSeconds: number;
}): number {
  const { configuredSeconds, trigger, turnTimeoutSeconds } = choice;
  const isDefault = configuredSeconds === IDLE_SECONDS_DEFAULT;
  const seconds = isDefault && trigger === 'cron' ? CRON_IDLE_SECONDS_DEFAULT : configuredSeconds;
  return Math.min(seconds, turnTimeoutSeconds) * 1000;
}
