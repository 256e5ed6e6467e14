// Batches on the wire: submissions and answers.
import { z } from 'zod';
import { THINKING_LEVELS } from '../config/choices.ts';
import { limitUsd } from '../config/schema-budgets.ts';
import { inputOptions } from '../config/schema-inputs.ts';
import { deliveryUrl } from '../config/schema-scalars.ts';
import {
  BATCH_OUTCOMES,
  BATCH_STATUSES,
  BATCH_VIAS,
  HOP_VIAS,
  ITEM_STATUSES,
  PAUSE_REASONS,
} from '../core/batch/batch.ts';
import { LINE_FORMATS } from '../core/batch/foreign-lines.ts';
import { shownOptions } from './input-options.ts';
import { pacing } from './bulk-actions.ts';
import { fault } from './faults.ts';
import { usage, why } from './views.ts';

const NAME_CHARS_MAX = 200;
const CONCURRENCY_MAX = 100_000;
const WEIGHT_MAX = 100;
const ITEM_NUMBER_MAX = 2_147_483_647;
const NS_MAX = 100_000;
const CODE_CHARS_MAX = 100;
const DOLLARS_MAX = 1_000_000_000;
const SECONDS_MAX = 366 * 86_400;

const concurrency = z.int().min(1).max(CONCURRENCY_MAX);
const weight = z.int().min(1).max(WEIGHT_MAX);
const pilot = z.int().min(1).max(ITEM_NUMBER_MAX);
// A fraction of a micro-dollar would be rounded: to no money at all.
const dollars = z
  .number()
  .min(0)
  .max(DOLLARS_MAX)
  .refine((value) => limitUsd.safeParse(value).success, 'dollars with at most six decimals');
const percent = z.int().min(0).max(100);
const deadlineSeconds = z.int().min(1).max(SECONDS_MAX);
const name = z.string().min(1).max(NAME_CHARS_MAX);

/** The settings of a batch that are text on every way in. */
const texts = {
  name: name.exactOptional(),
  via: z.enum(BATCH_VIAS).exactOptional(),
  agentId: name.exactOptional(),
  model: name.exactOptional(),
  thinking: z.enum(THINKING_LEVELS).exactOptional(),
  promptMode: z.enum(['full', 'minimal', 'none']).exactOptional(),
  fallback: z.enum(['live', 'fail']).exactOptional(),
  cache: z.enum(['auto', '1h', '5m', 'off']).exactOptional(),
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
  deliver: z.strictObject({ url: deliveryUrl }).nullable().exactOptional(),
  ...inputOptions,
});

export type BatchSettings = z.output<typeof settings>;

/** The JSON body. The items are checked one by one, because up to 100 of their faults are listed. */
export const batchRequest = settings.extend({ items: z.array(z.unknown()).exactOptional() });

function numberText<Schema extends z.ZodNumber>(schema: Schema) {
  return z
    .string()
    .regex(/^\d+(?:\.\d+)?$/, 'expected a number such as 12 or 0.5, without a sign or an exponent')
    .transform(Number)
    .pipe(schema)
    .exactOptional();
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

/** The same in the query of an upload of lines. */
export const batchQuery = z.strictObject({
  ...texts,
  concurrency: numberText(concurrency),
  weight: numberText(weight),
  pilot: numberText(pilot),
  maxCostUsd: numberText(dollars),
  maxFailurePercent: numberText(percent),
  deadlineSeconds: numberText(deadlineSeconds),
  deliver: deliveryUrl.exactOptional(),
  tools: jsonText(inputOptions.tools.unwrap()),
  tags: jsonText(inputOptions.tags.unwrap()),
  format: z.enum(LINE_FORMATS).exactOptional(),
  dryRun: z.enum(['true', 'false']).exactOptional(),
});

export const batchPatch = z.strictObject({
  name: name.nullable().exactOptional(),
  concurrency: concurrency.exactOptional(),
  weight: weight.exactOptional(),
  maxCostUsd: dollars.nullable().exactOptional(),
  maxFailurePercent: percent.exactOptional(),
  deadlineSeconds: deadlineSeconds.exactOptional(),
  via: z.enum(BATCH_VIAS).exactOptional(),
});

export const cancelRequest = z.strictObject({
  running: z.enum(['stop', 'finish']).exactOptional(),
  reason: pacing.reason,
});

export const retryRequest = z.strictObject({
  code: z.string().min(1).max(CODE_CHARS_MAX).exactOptional(),
  n: z.array(z.int().min(1).max(ITEM_NUMBER_MAX)).max(NS_MAX).exactOptional(),
  reason: pacing.reason,
});

export const resultsQuery = z.strictObject({
  after: z
    .string()
    .regex(/^\d{1,9}$/, 'expected the number of an item')
    .transform(Number)
    .optional(),
  all: z.enum(['true', 'false']).optional(),
  format: z.enum(['holdfast', 'openai']).optional(),
});

export const itemFilter = {
  status: z.enum(ITEM_STATUSES).optional(),
  code: z.string().min(1).max(CODE_CHARS_MAX).optional(),
  q: z.string().min(1).max(NAME_CHARS_MAX).optional(),
};

export const batchFilter = { status: z.enum(BATCH_STATUSES).optional() };

const count = z.int().min(0);
const time = z.string();
const counts = z.strictObject({
  total: count,
  pending: count,
  waiting: count,
  running: count,
  parked: count,
  answered: count,
  silent: count,
  failed: count,
  cancelled: count,
  expired: count,
});

const hop = z.strictObject({
  n: count,
  via: z.enum(HOP_VIAS),
  reason: z.string(),
  requests: count,
  submittedAt: time.nullable(),
  endedAt: time.nullable(),
  cacheHitRate: z.number().nullable(),
  costUsd: z.number().nullable(),
  providerBatchIds: z.array(z.string()),
});

const amount = z.number().nullable();

export const batch = z.strictObject({
  id: z.uuid(),
  name: z.string().nullable(),
  status: z.enum(BATCH_STATUSES),
  outcome: z.enum(BATCH_OUTCOMES).nullable(),
  pauseReason: z.enum(PAUSE_REASONS).nullable(),
  pauseDetail: z.string().nullable(),
  via: z.enum(BATCH_VIAS),
  agentId: z.string(),
  ...shownOptions,
  concurrency: count,
  slots: count,
  weight: count,
  pilot: count.nullable(),
  maxFailurePercent: count,
  deadlineAt: time.nullable(),
  counts,
  followUps: count,
  ratePerMinute: z.number().nullable(),
  eta: z.strictObject({ from: time, to: time }).nullable(),
  usage,
  costUsd: amount,
  costMicros: z.int().nullable(),
  unpricedCalls: count,
  simulated: z.boolean(),
  reservedUsd: z.number(),
  wastedUsd: z.number(),
  maxCostUsd: amount,
  expectedCostUsd: amount,
  liveCostUsd: amount,
  savedPercent: amount,
  cacheHitRate: amount,
  hops: z.array(hop),
  errors: z.array(z.strictObject({ code: z.string(), count, sample: z.string() })),
  createdBy: z.string(),
  createdAt: time,
  startedAt: time.nullable(),
  endedAt: time.nullable(),
});
export type BatchView = z.output<typeof batch>;

export const batchItemView = z.strictObject({
  n: count,
  customId: z.string().nullable(),
  sessionKey: z.string(),
  status: z.enum(ITEM_STATUSES),
  attempt: count,
  messageId: z.uuid().nullable(),
  turnId: z.uuid().nullable(),
  error: fault,
  costUsd: amount,
  simulated: z.boolean(),
  why: why.nullable(),
});
export type BatchItemView = z.output<typeof batchItemView>;

/** A line of the results. */
export const batchResult = z.strictObject({
  n: count,
  customId: z.string().nullable(),
  status: z.enum(ITEM_STATUSES),
  reply: z.string().nullable(),
  error: fault,
  sessionKey: z.string(),
  messageId: z.uuid().nullable(),
  turnId: z.uuid().nullable(),
  attempt: count,
  usage,
  costUsd: amount,
  simulated: z.boolean(),
});
export type ItemResult = z.output<typeof batchResult>;

const tokens = z.strictObject({ input: count, output: count });

/** What `dryRun` answers. */
export const batchEstimate = z.strictObject({
  items: count,
  tokens,
  costUsd: z.strictObject({
    live: amount,
    providerBatch: z.strictObject({ at100: amount, at90: amount, at50: amount }),
  }),
  recommended: z.enum(['live', 'provider-batch']),
});
export type BatchEstimateView = z.output<typeof batchEstimate>;

export const deletedBatch = z.strictObject({ deleted: z.literal(true) });
