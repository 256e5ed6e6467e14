// Bulk actions: one decision about many things.

export const BULK_TARGETS = ['turns', 'messages', 'deliveries', 'dead-letters'] as const;
export type BulkTarget = (typeof BULK_TARGETS)[number];

export const BULK_VERBS = ['retry', 'abort', 'cancel', 'redrive', 'discard'] as const;
export type BulkVerb = (typeof BULK_VERBS)[number];

export const BULK_STATUSES = ['running', 'cancelling', 'completed', 'cancelled', 'canary_failed'] as const;

export const BULK_ITEM_STATUSES = ['pending', 'done', 'skipped', 'failed'] as const;
export type BulkItemStatus = (typeof BULK_ITEM_STATUSES)[number];

/** The permitted actions for each target. */
export const BULK_ALLOWED: Readonly<Record<BulkTarget, readonly BulkVerb[]>> = {
  turns: ['retry', 'abort'],
  messages: ['cancel'],
  deliveries: ['redrive', 'discard'],
  'dead-letters': ['redrive', 'discard'],
};

/** The states of the objects that an action can change; absent: of all. */
const CHANGEABLE: Readonly<Partial<Record<BulkTarget, Partial<Record<BulkVerb, readonly string[]>>>>> = {
  turns: { retry: ['failed', 'aborted', 'timedOut'], abort: ['running', 'parked', 'resuming', 'interrupted'] },
  deliveries: {
    redrive: ['failed', 'expired', 'unknown', 'discarded'],
    discard: ['pending', 'failed', 'expired', 'unknown'],
  },
};

/** The states that a filter of an action finds, of those that it names; undefined: all. */
export function changeableStatuses(
  { target, action }: { target: BulkTarget; action: BulkVerb },
  named: readonly string[] | undefined,
): string[] | undefined {
  const changeable = CHANGEABLE[target]?.[action];
  if (changeable === undefined || named === undefined) return (changeable ?? named)?.slice();
  return named.filter((status) => changeable.includes(status));
}

/** Whether the first item can run alone: it has a result that shows whether it succeeded. */
export function canHaveCanary(verb: BulkVerb): boolean {
  return verb === 'retry' || verb === 'redrive';
}
