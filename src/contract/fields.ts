// What the fields of many things have in common: their types, and fields that mean the same
// everywhere.
import { z } from 'zod';
import { LANES } from '../core/session-key.ts';
import { chatDelivery } from '../config/schema-channels.ts';
import { deliveryUrl } from '../config/schema-scalars.ts';

export const uuid = z.uuid();
export const iso = z.iso.datetime();
export const count = z.int().min(0);
export const text = z.string();
export const flag = z.boolean();
/** Null: not known, or there is none. */
export const amount = z.number().nullable();

export const sessionKey = text.describe('The key of the session');
export const sessionTitle = text.describe(
  'The session for people: by its label, its cron, its task, its chat or who writes in it',
);
export const lane = z.enum(LANES).describe('The lane: a class of turns with its own concurrency');
export const createdAt = iso.describe('When it was created');
export const startedAt = iso.describe('When it began');
export const endedAt = iso.nullable().describe('When it ended; null: it has not');

export const deliverTo = z
  .strictObject({ url: deliveryUrl.describe('An http or https URL') })
  .nullable()
  .exactOptional();

/** The same, and chats of channels: of the results of subagents and batches. */
export const deliverToAny = z
  .union([z.strictObject({ url: deliveryUrl.describe('An http or https URL') }), chatDelivery])
  .nullable()
  .exactOptional();

export const tokens = z.strictObject({
  input: count.describe('Tokens of the prompts'),
  output: count.describe('Tokens of the answers'),
});

const REASON_CHARS_MAX = 500;
export const reason = z
  .string()
  .trim()
  .min(1)
  .max(REASON_CHARS_MAX)
  .exactOptional()
  .describe('Why; stored in the audit log');

/** A list that is answered as a whole. */
export function wholeList<Item extends z.ZodType>(item: Item, description: string) {
  return z.strictObject({
    items: z.array(item).describe(description),
    nextCursor: z.null().describe('Always null: the list has one page'),
  });
}
