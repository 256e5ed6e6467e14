// Requests about batches on the wire: submissions, changes and filters.
import { z } from 'zod';
import { THINKING_LEVELS } from '../core/models.ts';
import { limitUsd } from '../config/schema-service.ts';
import { inputOptions, responseFormat, turnOptions } from '../config/schema-inputs.ts';
import { count, deliveryUrl } from '../config/schema-scalars.ts';
import { parseChannelUrl } from '../core/channel-address.ts';
import { BATCH_STATUSES, ITEM_STATUSES } from '../features/batches/rules/batch.ts';
import { LINE_FORMATS } from '../features/batches/rules/foreign-lines.ts';
import { MESSAGE_VIAS } from '../core/inbound.ts';
import { pacing } from './bulk-actions.ts';
import { deliverToAny } from './fields.ts';

const NAME_CHARS_MAX = 200;
const CONCURRENCY_MAX = 100_000;
const WEIGHT_MAX = 100;
const ITEM_NUMBER_MAX = 2_147_483_647;
const NS_MAX = 100_000;
const CODE_CHARS_MAX = 100;
const DOLLARS_MAX = 1_000_000_000;
const SECONDS_MAX = 366 * 86_400;

const concurrency = count(1, CONCURRENCY_MAX).describe('The maximum number of items in flight');
const weight = count(1, WEIGHT_MAX).describe('The share of this batch while several batches run');
const itemNumber = count(1, ITEM_NUMBER_MAX);
const pilot = itemNumber.describe('Run this many items first; the others start if these succeed');
// A fraction of a micro-dollar would be rounded: to no money at all.
const dollars = z
  .number()
  .min(0)
  .max(DOLLARS_MAX)
  .refine((value) => limitUsd.safeParse(value).success, 'dollars with at most six decimals')
  .describe('It pauses when its ended items have cost this much, in US dollars');
const percent = count(0, 100).describe(
  'It pauses when a larger percentage of its last 50 ended items, or of its pilot, failed',
);
const deadlineSeconds = count(1, SECONDS_MAX).describe('Items that have not started after this time expire');
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

/** The same in the query of an upload of lines. */
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
  reason: pacing.reason,
});

export const retryRequest = z.strictObject({
  code: code.exactOptional(),
  n: z.array(itemNumber).max(NS_MAX).exactOptional().describe('Only items with these numbers'),
  reason: pacing.reason,
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
