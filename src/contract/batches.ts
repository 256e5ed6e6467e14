// Batches on the wire, as answers show them.
import { z } from 'zod';
import {
  BATCH_OUTCOMES,
  BATCH_STATUSES,
  HOP_VIAS,
  ITEM_STATUSES,
  PAUSE_REASONS,
} from '../features/batches/rules/batch.ts';
import { MESSAGE_VIAS } from '../core/inbound.ts';
import { output, shownOptions } from './input-options.ts';
import { simulated, unpricedCalls } from './costs.ts';
import { fault } from './faults.ts';
import { usage, why } from './views.ts';
import { text, amount, uuid, count, sessionKey, tokens } from './fields.ts';

const time = z.string();
export const counts = z.strictObject({
  total: count.describe('The number of all items'),
  pending: count.describe('Items that have not started'),
  waiting: count.describe('Items that wait for a worker'),
  running: count.describe('Items whose turn is running'),
  parked: count.describe('Items whose turn is parked'),
  answered: count.describe('Items with a reply'),
  silent: count.describe('Items with a silent answer'),
  failed: count.describe('Items that failed'),
  cancelled: count.describe('Items that were cancelled'),
  expired: count.describe('Items that expired because they had not started by the deadline'),
});

export const hop = z.strictObject({
  n: count.describe('The position of its calls in their conversations, counted from 1'),
  via: z.enum(HOP_VIAS).describe('How the calls of the round were made'),
  reason: text.describe('Why they were made in this way, for people'),
  requests: count.describe('The number of its calls'),
  submittedAt: time.nullable().describe('When it was submitted to the provider; null: not yet, or its calls were live'),
  endedAt: time.nullable().describe('When the last answer arrived; null: not all have'),
  cacheHitRate: amount.describe('The share of the prompt tokens that the provider had cached; null: not known'),
  costUsd: amount.describe('The cost of the round in US dollars; null: not known'),
  providerBatchIds: z.array(text).describe('The ids of its batches at the provider'),
});

export const batch = z.strictObject({
  id: uuid.describe('The id of the batch'),
  name: text.nullable().describe('The name of the batch; null: it has no name'),
  status: z.enum(BATCH_STATUSES).describe('What the batch is doing'),
  outcome: z.enum(BATCH_OUTCOMES).nullable().describe('How it ended; null: it has not ended'),
  pauseReason: z.enum(PAUSE_REASONS).nullable().describe('Why it is paused; null: it is not paused'),
  pauseDetail: text
    .nullable()
    .describe('What caused the pause, for people; null: it is not paused, or a person paused it'),
  via: z
    .enum(MESSAGE_VIAS)
    .describe('How its calls are made: live, in provider batches, or in the way that is cheaper for the first items'),
  agentId: text.describe('The agent of items without an `agentId`'),
  ...shownOptions,
  concurrency: count.describe('The maximum number of items in flight'),
  slots: count.describe('The slots of all workers for batches, which the running batches share'),
  weight: count.describe('The share of this batch while several batches run'),
  pilot: count.nullable().describe('The number of items that run first; null: there is no pilot, or it has ended'),
  maxFailurePercent: count.describe(
    'It pauses when a larger percentage of its last 50 ended items, or of its pilot, failed',
  ),
  deadlineAt: time.nullable().describe('When items that have not started expire; null: never'),
  counts: counts.describe('The number of items in each state'),
  followUps: count.describe('Subagents and other work that its items have started; the batch ends after them'),
  ratePerMinute: amount.describe('Items that ended per minute recently; null: not known'),
  eta: z
    .strictObject({ from: time.describe('The earliest expected end'), to: time.describe('The latest expected end') })
    .nullable()
    .describe('When it is expected to end; null: not known'),
  usage: usage.describe('The tokens that its ended items used'),
  costUsd: amount.describe('The cost of its ended items in US dollars; null: not known'),
  costMicros: z.int().nullable().describe('The same in whole micro-dollars, which add up exactly; null: not known'),
  unpricedCalls,
  simulated,
  reservedUsd: z.number().describe('The amount reserved for calls in flight, in US dollars'),
  wastedUsd: z.number().describe('The cost of answers that were not used, in US dollars'),
  maxCostUsd: amount.describe('It pauses when its ended items have cost this much, in US dollars; null: no limit'),
  expectedCostUsd: amount.describe('The expected total cost in US dollars, once 20 items have ended; null: not known'),
  liveCostUsd: amount.describe('The cost of the same conversations in live calls with a warm cache; null: not known'),
  savedPercent: amount.describe('How much cheaper than live calls it was, in percent, or negative; null: not known'),
  cacheHitRate: amount.describe('The share of the prompt tokens that the provider had cached; null: not known'),
  hops: z
    .array(hop)
    .describe('The rounds of a batch that is not live: the calls with the same position in their conversations'),
  errors: z
    .array(
      z.strictObject({
        code: text.describe('An error code of items'),
        count: count.describe('The number of items with this code'),
        sample: text.describe('The error message of the first of these items'),
      }),
    )
    .describe('Failed and expired items by error code'),
  createdBy: text.describe('Who submitted it: `admin`, or `key:<name>`'),
  createdAt: time.describe('When it was submitted'),
  startedAt: time.nullable().describe('When its first item became ready to run; null: it is still being uploaded'),
  endedAt: time.nullable().describe('When its last item ended; null: it has not ended'),
});
export type BatchView = z.output<typeof batch>;

export const batchItemView = z.strictObject({
  n: count.describe('The position of the item in the input, counted from 1'),
  customId: text.nullable().describe('The name that the submitter gave the item, unique in the batch; null: none'),
  sessionKey,
  status: z.enum(ITEM_STATUSES).describe('Whether the item waits, runs, or how it ended'),
  attempt: count.describe('The number of the current or last attempt, counted from 1; 1 also before the first attempt'),
  messageId: uuid.nullable().describe('The message that it became; null: it has not started'),
  turnId: uuid.nullable().describe('The turn of its current or last attempt; null: there was none'),
  error: fault.describe('Why it failed, expired or was cancelled; null: it did not'),
  costUsd: amount.describe('The cost of the item in US dollars; null: not known, because the model has no price'),
  simulated,
  why: why.nullable().describe('Why it waits; null: it does not wait'),
});
export type BatchItemView = z.output<typeof batchItemView>;

/** A line of the results. */
export const batchResult = z.strictObject({
  n: batchItemView.shape.n,
  customId: batchItemView.shape.customId,
  status: batchItemView.shape.status,
  reply: text.nullable().describe('The text of the reply; null: there is none'),
  output,
  error: batchItemView.shape.error,
  sessionKey,
  messageId: batchItemView.shape.messageId,
  turnId: batchItemView.shape.turnId,
  attempt: batchItemView.shape.attempt,
  usage: usage.describe('The tokens that the item used'),
  costUsd: batchItemView.shape.costUsd,
  simulated,
});
export type ItemResult = z.output<typeof batchResult>;

/** What `dryRun` answers. */
export const batchEstimate = z.strictObject({
  items: count.describe('The number of items'),
  tokens: tokens.describe('The estimated tokens of all calls'),
  costUsd: z
    .strictObject({
      live: amount.describe('With live calls, of which the first one caches the shared part; null: not known'),
      providerBatch: z
        .strictObject({
          at100: amount.describe('At a cache hit rate of 100 percent; null: not known'),
          at90: amount.describe('At a cache hit rate of 90 percent; null: not known'),
          at50: amount.describe('At a cache hit rate of 50 percent; null: not known'),
        })
        .describe('In provider batches'),
    })
    .describe('The estimated cost in US dollars'),
  recommended: z
    .enum(['live', 'provider-batch'])
    .describe('The cheaper `via`, if a provider batch finds nothing in the cache'),
});
export type BatchEstimateView = z.output<typeof batchEstimate>;
