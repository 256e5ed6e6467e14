// The states of messages, turns and deliveries, and the reasons for which tool calls wait, as the
// API shows them. The checks of the tables allow no other states.

/** A message that is delivered later, `delayed` in its table, is shown as `waiting`. */
export const MESSAGE_STATUSES = ['waiting', 'claimed', 'answered', 'silent', 'failed', 'cancelled', 'dropped'] as const;

export const TURN_STATUSES = [
  'running',
  'parked',
  'completed',
  'silent',
  'failed',
  'aborted',
  'timedOut',
  'interrupted',
  'resuming',
] as const;

export const DELIVERY_STATUSES = ['pending', 'sending', 'sent', 'unknown', 'failed', 'expired', 'discarded'] as const;

export const TURN_KINDS = ['message', 'cron', 'heartbeat', 'announce', 'followup', 'batch', 'compaction'] as const;

export type TurnKind = (typeof TURN_KINDS)[number];

export const STOP_KINDS = ['stopped', 'interrupted', 'rolledBack'] as const;

/**
 * `stopped`: a person, a parent or a deadline of the run asks for it. `interrupted`: a message of
 * mode `interrupt` arrived, and is next. `rolledBack`: a message of mode `rollback` arrived; the
 * entries of the turn are hidden.
 */
export interface SessionStop {
  kind: (typeof STOP_KINDS)[number];
  /** For people. */
  message: string;
}

// The reasons for which tool calls wait for something outside: the codes of turns that are parked
// for them.

/**
 * Why tool calls wait for something outside, in the order in which a turn names what it waits for.
 */
export const HOLD_CODES = ['caller', 'approval', 'external_tool', 'task'] as const;
export type HoldCode = (typeof HOLD_CODES)[number];

/** True for a call that has taken no effect while it waits: it begins when it is released. */
export function isUnbegun(code: HoldCode): boolean {
  return code === 'approval';
}
