// The states of messages, turns and deliveries, as the API shows them. The checks of the tables allow no others.

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
