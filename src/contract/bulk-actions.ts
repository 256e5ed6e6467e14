// Bulk actions on the wire.
import { z } from 'zod';
import { LANES } from '../config.ts';
import {
  BULK_ALLOWED,
  BULK_ITEM_STATUSES,
  BULK_STATUSES,
  BULK_TARGETS,
  BULK_VERBS,
  canHaveCanary,
  type BulkTarget,
} from '../core/bulk/bulk-action.ts';
import { TURN_KINDS } from '../core/turn-kind.ts';
import { DELIVERY_STATUSES, TURN_STATUSES } from '../core/statuses.ts';
import { timeText } from '../config/schema-scalars.ts';
import { sessionKeyText, tagText } from './queries.ts';

const time = z.iso.datetime();
const count = z.int().min(0);
const IDS_MAX = 10_000;
const STATUSES_MAX = 20;
const PER_SECOND_MAX = 1_000;
const REASON_CHARS_MAX = 500;

/** The kinds of dead letters. */
export const LETTER_KINDS = ['turn', 'delivery', 'announcement'] as const;

const name = z.string().min(1).max(200);

/** Of a message only one state can be changed: while it waits. */
const MESSAGE_STATUSES = ['waiting'] as const;
const states = [...new Set([...TURN_STATUSES, ...MESSAGE_STATUSES, ...DELIVERY_STATUSES])] as const;

/** The fields of a filter; which are allowed depends on the target. Those of turns are those of the list of turns. */
const bulkFilter = z.strictObject({
  session: sessionKeyText.exactOptional(),
  status: z
    .union([z.enum(states), z.array(z.enum(states)).min(1).max(STATUSES_MAX)], {
      error: `expected one or more of ${states.join(', ')}`,
    })
    .exactOptional(),
  kind: z.enum([...TURN_KINDS, ...LETTER_KINDS]).exactOptional(),
  lane: z.enum(LANES).exactOptional(),
  since: timeText.exactOptional(),
  until: timeText.exactOptional(),
  code: name.exactOptional(),
  agent: name.exactOptional(),
  model: name.exactOptional(),
  tool: name.exactOptional(),
  worker: name.exactOptional(),
  batch: z.uuid().exactOptional(),
  minMs: z.int().min(0).exactOptional(),
  minCostUsd: z.number().min(0).exactOptional(),
  tag: tagText.exactOptional(),
  q: name.exactOptional(),
  channel: name.exactOptional(),
});

const FIELDS: Readonly<Record<BulkTarget, readonly string[]>> = {
  turns: [
    'session',
    'status',
    'kind',
    'lane',
    'since',
    'until',
    'agent',
    'model',
    'tool',
    'code',
    'worker',
    'batch',
    'minMs',
    'minCostUsd',
    'tag',
    'q',
  ],
  messages: ['session', 'status'],
  deliveries: ['session', 'status', 'channel', 'q'],
  'dead-letters': ['kind', 'code'],
};

const STATUSES: Readonly<Partial<Record<BulkTarget, readonly string[]>>> = {
  turns: TURN_STATUSES,
  messages: MESSAGE_STATUSES,
  deliveries: DELIVERY_STATUSES,
};
const KINDS: Readonly<Partial<Record<BulkTarget, readonly string[]>>> = {
  turns: TURN_KINDS,
  'dead-letters': LETTER_KINDS,
};

/** A change of the speed, with its reason; the same for dead letters. */
export const pacing = {
  canary: z.boolean().exactOptional(),
  perSecond: z.int().min(1).max(PER_SECOND_MAX).exactOptional(),
  reason: z.string().min(1).max(REASON_CHARS_MAX).exactOptional(),
};

/** The states of a filter, which may name a single one. */
export function statusesOf<Status extends string>(status: Status | Status[] | undefined): Status[] | undefined {
  return status === undefined ? undefined : ([status].flat() as Status[]);
}

/** The body of `POST /v1/bulk-actions`. */
export const bulkActionRequest = z
  .strictObject({
    action: z.enum(BULK_VERBS),
    target: z.enum(BULK_TARGETS),
    ids: z.array(z.uuid()).min(1).max(IDS_MAX).exactOptional(),
    filter: bulkFilter.exactOptional(),
    ...pacing,
    dryRun: z.boolean().exactOptional(),
  })
  .check(({ value, issues }) => {
    const refuse = (path: string[], message: string): void =>
      void issues.push({ code: 'custom', input: value, path, message });
    const { action, target, ids, filter, canary } = value;
    if (!BULK_ALLOWED[target].includes(action)) {
      refuse(['action'], `expected ${BULK_ALLOWED[target].join(' or ')} for ${target}`);
    }
    if ((ids === undefined) === (filter === undefined)) {
      refuse(['filter'], 'expected ids or filter, and not both; the filter {} finds everything');
    }
    for (const name of Object.keys(filter ?? {})) {
      if (!FIELDS[target].includes(name)) {
        refuse(['filter', name], `not a filter of ${target}; expected ${FIELDS[target].join(', ')}`);
      }
    }
    const statuses = STATUSES[target];
    if (statuses !== undefined && statusesOf(filter?.status)?.some((status) => !statuses.includes(status)) === true) {
      refuse(['filter', 'status'], `expected some of ${statuses.join(', ')}`);
    }
    const kinds = KINDS[target];
    if (kinds !== undefined && filter?.kind !== undefined && !kinds.includes(filter.kind)) {
      refuse(['filter', 'kind'], `expected one of ${kinds.join(', ')}`);
    }
    if (canary === true && !canHaveCanary(action)) {
      refuse(['canary'], `${action} has no result that could be waited for; leave canary out`);
    }
  });

export const bulkAction = z.strictObject({
  id: z.uuid(),
  action: z.enum(BULK_VERBS),
  target: z.enum(BULK_TARGETS),
  filter: z.record(z.string(), z.unknown()),
  reason: z.string().nullable(),
  perSecond: z.int().nullable(),
  canary: z.boolean(),
  status: z.enum(BULK_STATUSES),
  total: count,
  done: count,
  skipped: count,
  failed: count,
  createdBy: z.string(),
  createdAt: time,
  endedAt: time.nullable(),
});
export type BulkActionView = z.output<typeof bulkAction>;

export const bulkDryRun = z.strictObject({ total: count, ids: z.array(z.uuid()) });

export const bulkItem = z.strictObject({
  n: count,
  id: z.uuid(),
  status: z.enum(BULK_ITEM_STATUSES),
  reason: z.string().nullable(),
  messageIds: z.array(z.uuid()).nullable(),
  settledAt: time.nullable(),
});
export type BulkItemView = z.output<typeof bulkItem>;
