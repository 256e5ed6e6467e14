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

/** Whether the first item can run alone: it has a result that shows whether it succeeded. */
export function canHaveCanary(verb: BulkVerb): boolean {
  return verb === 'retry' || verb === 'redrive';
}
