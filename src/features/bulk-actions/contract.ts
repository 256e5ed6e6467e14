// Bulk actions on the wire.
import { z } from 'zod';
import { LANES } from '../../config.ts';
import {
  BULK_ALLOWED,
  BULK_ITEM_STATUSES,
  BULK_STATUSES,
  BULK_TARGETS,
  BULK_VERBS,
  canHaveCanary,
  type BulkTarget,
} from './rules.ts';
import { TURN_KINDS, DELIVERY_STATUSES, TURN_STATUSES } from '../../core/statuses.ts';
import { timeText } from '../../config/schema-scalars.ts';
import { listText, sessionKeyText, tagText } from '../../contract/queries.ts';
import { text, flag, uuid, iso, count, createdAt, endedAt, reason } from '../../contract/fields.ts';

const IDS_MAX = 10_000;
const STATUSES_MAX = 20;
const PER_SECOND_MAX = 1_000;

export const LETTER_KINDS = ['turn', 'delivery', 'announcement'] as const;

const name = z.string().min(1).max(200);

/** A message can be changed only while it waits. */
const MESSAGE_STATUSES = ['waiting'] as const;
const states = [...new Set([...TURN_STATUSES, ...MESSAGE_STATUSES, ...DELIVERY_STATUSES])] as const;

/**
 * The fields of a filter; which are allowed depends on the target. Those of turns are those of the
 * list of turns.
 */
const bulkFilter = z.strictObject({
  session: sessionKeyText.exactOptional().describe('Only objects of the session with this key'),
  status: z
    .union([z.enum(states), z.array(z.enum(states)).min(1).max(STATUSES_MAX)], {
      error: `expected one or more of ${states.join(', ')}`,
    })
    .exactOptional()
    .describe('Only objects in one of these states; a single state may be sent as a string'),
  kind: z
    .enum([...TURN_KINDS, ...LETTER_KINDS])
    .exactOptional()
    .describe('Only turns or dead letters of this kind'),
  except: listText(TURN_KINDS).exactOptional().describe('Leaves out turns of these kinds'),
  lane: z.enum(LANES).exactOptional().describe('Only turns of this lane'),
  since: timeText.exactOptional().describe('Only turns that started at this time or later'),
  until: timeText.exactOptional().describe('Only turns that started before this time'),
  code: name.exactOptional().describe('Only turns or dead letters with this error code'),
  agent: name.exactOptional().describe('Only turns of this agent'),
  model: name.exactOptional().describe('Only turns of this model, with or without the name of the provider'),
  tool: name.exactOptional().describe('Only turns that called this tool'),
  worker: name.exactOptional().describe('Only turns that ran on this worker last'),
  batch: uuid.exactOptional().describe('Only turns of the items of this batch'),
  minMs: count.exactOptional().describe('Only turns that took at least this long, in milliseconds'),
  minCostUsd: z.number().min(0).exactOptional().describe('Only turns that cost at least this much, in US dollars'),
  tag: tagText.exactOptional().describe('Only turns with this tag, as `key:value`'),
  q: name.exactOptional().describe('An id, a session key, an error code, or a part of a session key'),
  channel: name.exactOptional().describe('Only deliveries to this channel: webhook, or the name of a channel'),
});

const FIELDS: Readonly<Record<BulkTarget, readonly string[]>> = {
  turns: Object.keys(bulkFilter.shape).filter((name) => name !== 'channel'),
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
  canary: flag.exactOptional().describe('True: the first object is done alone, and the others only if it succeeds'),
  perSecond: z
    .int()
    .min(1)
    .max(PER_SECOND_MAX)
    .exactOptional()
    .describe('The maximum number of objects per second; absent: no limit'),
  reason,
};

/** The states of a filter, which may name a single one. */
export function toStatuses<Status extends string>(status: Status | Status[] | undefined): Status[] | undefined {
  return status === undefined ? undefined : ([status].flat() as Status[]);
}

/** The body of `POST /v1/bulk-actions`. */
export const bulkActionRequest = z
  .strictObject({
    action: z
      .enum(BULK_VERBS)
      .describe(
        'What to do with each object: `retry` and `abort` are for turns, `cancel` is for waiting messages, `redrive` and `discard` are for deliveries and dead letters',
      ),
    target: z.enum(BULK_TARGETS).describe('The kind of the objects'),
    ids: z.array(uuid).min(1).max(IDS_MAX).exactOptional().describe('The ids of the objects; or send `filter`'),
    filter: bulkFilter
      .exactOptional()
      .describe(
        'Selects the objects that match when the request arrives and that the action can change: a retry leaves out turns that succeeded, run or were retried before, and those of batch items. Turns have the filters of `GET /v1/turns`; waiting messages `session`, `status`; deliveries `session`, `status`, `channel`, `q`; open dead letters `kind`, `code`',
      ),
    ...pacing,
    dryRun: flag.exactOptional().describe('True: count the objects and change nothing'),
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
    if (statuses !== undefined && toStatuses(filter?.status)?.some((status) => !statuses.includes(status)) === true) {
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
  id: uuid.describe('The id of the bulk action'),
  action: z.enum(BULK_VERBS).describe('What is done with each object'),
  target: z.enum(BULK_TARGETS).describe('The kind of the objects'),
  filter: z.record(text, z.unknown()).describe('What the request selected: the number of `ids`, or the filter'),
  reason: text.nullable().describe('The reason in the request; null: none was given'),
  perSecond: z.int().nullable().describe('The maximum number of objects per second; null: no limit'),
  canary: flag.describe('True: the first object is done alone, and the others only if it succeeds'),
  status: z
    .enum(BULK_STATUSES)
    .describe('`cancelling`: the objects in progress finish; `canary_failed`: the first one failed'),
  total: count.describe('The number of objects'),
  done: count.describe('How many objects were changed'),
  skipped: count.describe('How many objects were skipped, each with a reason'),
  failed: count.describe('How many objects failed because of an error'),
  createdBy: text.describe('Who submitted it: `admin`, or `key:<name>`'),
  createdAt,
  endedAt,
});
export type BulkActionView = z.output<typeof bulkAction>;

export const bulkDryRun = z.strictObject({
  total: count.describe('The number of objects that the request selects'),
  ids: z.array(uuid).describe('The ids of the first of them'),
});

export const bulkItem = z.strictObject({
  n: count.describe('Its position in the order of execution'),
  id: uuid.describe('The id of the turn, message, delivery or dead letter'),
  status: z.enum(BULK_ITEM_STATUSES).describe('What happened to the object; `pending`: nothing yet'),
  reason: text.nullable().describe('Why it was skipped or failed; null: neither happened'),
  messageIds: z.array(uuid).nullable().describe('The messages that it queued; null: it queued none'),
  settledAt: iso.nullable().describe('When it was done, skipped or failed; null: it was not yet'),
});
export type BulkItemView = z.output<typeof bulkItem>;
