// Batches on the wire: as answers show them, then requests: submissions, changes and filters.
import { z } from 'zod';
import { THINKING_LEVELS } from '../../core/models.ts';
import { limitUsd } from '../../config/schema-service.ts';
import { inputOptions, responseFormat, turnOptions } from '../../config/schema-inputs.ts';
import { count as countIn, deliveryUrl } from '../../config/schema-scalars.ts';
import { parseChannelUrl } from '../../core/channel-address.ts';
import { MESSAGE_VIAS } from '../../core/inbound.ts';
import { BATCH_OUTCOMES, BATCH_STATUSES, HOP_VIAS, ITEM_STATUSES, LINE_FORMATS, PAUSE_REASONS } from './rules/batch.ts';
import { output, shownOptions } from '../../contract/input-options.ts';
import { simulated, unpricedCalls } from '../../contract/costs.ts';
import { fault } from '../../contract/faults.ts';
import { usage, why } from '../../contract/views.ts';
import { text, amount, uuid, count, deliverToAny, reason, sessionKey, tokens } from '../../contract/fields.ts';
import { guardedName } from '../../contract/guarded.ts';

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
  createdBy: guardedName('Who submitted it: `admin`, or `key:<name>`'),
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

const NAME_CHARS_MAX = 200;
const CONCURRENCY_MAX = 100_000;
const WEIGHT_MAX = 100;
const ITEM_NUMBER_MAX = 2_147_483_647;
const NS_MAX = 100_000;
const CODE_CHARS_MAX = 100;
const DOLLARS_MAX = 1_000_000_000;
const SECONDS_MAX = 366 * 86_400;

const concurrency = countIn(1, CONCURRENCY_MAX).describe('The maximum number of items in flight');
const weight = countIn(1, WEIGHT_MAX).describe('The share of this batch while several batches run');
const itemNumber = countIn(1, ITEM_NUMBER_MAX);
const pilot = itemNumber.describe('Run this many items first; the others start if these succeed');
// A fraction of a micro-dollar would be rounded: to no money at all.
const dollars = z
  .number()
  .min(0)
  .max(DOLLARS_MAX)
  .refine((value) => limitUsd.safeParse(value).success, 'dollars with at most six decimals')
  .describe('It pauses when its ended items have cost this much, in US dollars');
const percent = countIn(0, 100).describe(
  'It pauses when a larger percentage of its last 50 ended items, or of its pilot, failed',
);
const deadlineSeconds = countIn(1, SECONDS_MAX).describe('Items that have not started after this time expire');
const name = z.string().min(1).max(NAME_CHARS_MAX);
const code = z.string().min(1).max(CODE_CHARS_MAX).describe('Only items with this error code');

/** The settings of a batch that are text on every way in. */
const texts = {
  name: name.exactOptional().describe('A name for people'),
  via: z
    .enum(MESSAGE_VIAS)
    .exactOptional()
    .describe(
      'How the items are answered: live, in provider batches (at half the price and within a day), or (`auto`) in the way that is cheaper for the first items; absent: live',
    ),
  agentId: name.exactOptional().describe('The agent of items without an `agentId`'),
  model: name.exactOptional().describe('The model of items without a `model`'),
  thinking: z.enum(THINKING_LEVELS).exactOptional().describe('The thinking level of items without a `thinking`'),
  promptMode: z
    .enum(['full', 'minimal', 'none'])
    .exactOptional()
    .describe(
      'Which sections the system prompt of its items has; absent: `minimal` for items with a session of their own',
    ),
  fallback: z
    .enum(['live', 'fail'])
    .exactOptional()
    .describe('What happens to a request that the provider does not answer in time'),
  cache: z
    .enum(['auto', '1h', '5m', 'off'])
    .exactOptional()
    .describe(
      'How long the provider keeps cached prompts; `auto`: five minutes, or not at all if `via: auto` has found that cheaper',
    ),
};

/** The settings of a batch in a JSON body. */
const settings = z.strictObject({
  ...texts,
  concurrency: concurrency.exactOptional(),
  weight: weight.exactOptional(),
  pilot: pilot.exactOptional(),
  maxCostUsd: dollars.exactOptional(),
  maxFailurePercent: percent.exactOptional(),
  deadlineSeconds: deadlineSeconds.exactOptional(),
  deliver: deliverToAny.describe('Where a signed report is delivered when the batch ends; null or absent: nowhere'),
  ...turnOptions,
});

export type BatchSettings = z.output<typeof settings>;

/**
 * The JSON body. The items are checked one by one, because up to 100 of their faults are listed.
 */
export const batchRequest = settings.extend({
  items: z.array(z.unknown()).exactOptional().describe('The items, each in the form of a line of an upload'),
});

function numberText<Schema extends z.ZodNumber>(schema: Schema) {
  return z
    .string()
    .regex(/^\d+(?:\.\d+)?$/, 'expected a number such as 12 or 0.5, without a sign or an exponent')
    .transform(Number)
    .pipe(schema)
    .exactOptional()
    .describe(schema.description ?? '');
}

/** A field of a JSON body in a query: as JSON text. */
function jsonText<Schema extends z.ZodType>(schema: Schema) {
  return z
    .string()
    .transform((text, context) => {
      try {
        return JSON.parse(text) as unknown;
      } catch {
        context.addIssue({
          code: 'custom',
          message: 'expected a JSON object such as {"allow": ["read"]}',
          input: text,
        });
        return z.NEVER;
      }
    })
    .pipe(schema)
    .exactOptional();
}

const CHAT_ADDRESS = 'a chat such as "channel:telegram/main/42"';
const chatAddress = z.string().refine((text) => parseChannelUrl(text) !== null, CHAT_ADDRESS);

/** The settings in the query of an upload of lines. */
export const batchQuery = z.strictObject({
  ...texts,
  concurrency: numberText(concurrency),
  weight: numberText(weight),
  pilot: numberText(pilot),
  maxCostUsd: numberText(dollars),
  maxFailurePercent: numberText(percent),
  deadlineSeconds: numberText(deadlineSeconds),
  deliver: z
    .union([deliveryUrl, chatAddress], { error: `expected an http or https URL, or ${CHAT_ADDRESS}` })
    .exactOptional()
    .describe(
      'The http or https URL that receives a signed report when it ends, or a chat: `channel:telegram/main/42`',
    ),
  tools: jsonText(inputOptions.tools.unwrap()).describe('The tools of items, as JSON such as `{"allow": ["read"]}`'),
  tags: jsonText(inputOptions.tags.unwrap()).describe('The tags of the items, as JSON such as `{"customer": "42"}`'),
  responseFormat: jsonText(responseFormat).describe('The form of the answers, as JSON'),
  format: z.enum(LINE_FORMATS).exactOptional().describe('The format of the lines; absent: each line may have another'),
  dryRun: z.enum(['true', 'false']).exactOptional().describe('`true`: check and estimate the batch, and store nothing'),
});

export const batchPatch = z.strictObject({
  name: name.nullable().exactOptional().describe('A new name; null: the batch has no name'),
  concurrency: concurrency.exactOptional(),
  weight: weight.exactOptional(),
  maxCostUsd: dollars
    .nullable()
    .exactOptional()
    .describe('It pauses when its ended items have cost this much, in US dollars; null: no limit'),
  maxFailurePercent: percent.exactOptional(),
  deadlineSeconds: deadlineSeconds.exactOptional(),
  via: z.enum(MESSAGE_VIAS).exactOptional().describe('How the remaining calls are made'),
});

export const cancelRequest = z.strictObject({
  running: z.enum(['stop', 'finish']).exactOptional().describe('Whether running turns are aborted or finish'),
  reason,
});

export const retryRequest = z.strictObject({
  code: code.exactOptional(),
  n: z.array(itemNumber).max(NS_MAX).exactOptional().describe('Only items with these numbers'),
  reason,
});

export const resultsQuery = z.strictObject({
  after: z
    .string()
    .regex(/^\d{1,9}$/, 'expected the number of an item')
    .transform(Number)
    .optional()
    .describe('Only items after this number'),
  all: z.enum(['true', 'false']).optional().describe('`true`: include items that have not ended'),
  format: z.enum(['holdfast', 'openai']).optional().describe('The format of the lines; absent: `holdfast`'),
});

export const itemFilter = {
  status: z.enum(ITEM_STATUSES).optional().describe('Only items in this state'),
  code: code.optional(),
  q: name.optional().describe('Only items whose id, session key or text contains this'),
};

export const batchFilter = { status: z.enum(BATCH_STATUSES).optional().describe('Only batches in this state') };
