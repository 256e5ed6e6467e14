// One delivery with its attempts, and how many there are, on the wire.
import { z } from 'zod';
import { DELIVERY_STATUSES } from '../../core/statuses.ts';
import { ofService } from '../../contract/guarded.ts';
import { text, flag, uuid, iso, count, sessionKey, sessionTitle, createdAt, reason } from '../../contract/fields.ts';

const status = z.enum(DELIVERY_STATUSES);

export const delivery = z.strictObject({
  id: uuid.describe('The id of the delivery'),
  title: text.describe('What it says, in one line; without words, its type'),
  sessionKey,
  sessionTitle,
  turnId: uuid.nullable().describe('The turn that it comes from; null: it comes from none'),
  seq: count.describe('Its place in the order of its session'),
  channel: text.describe('The channel that it is sent through'),
  conversation: text
    .nullable()
    .describe('The chat that it is sent to, as channel/account/chat, with /thread in a thread; null: it is a webhook'),
  part: count.describe('Its place among the parts of one delivery to a chat, from 1'),
  parts: count.describe('The number of parts; a notice about a part that was not sent is one part more'),
  platformId: text.nullable().describe('The id that the platform gave the message; null: it was not sent to a chat'),
  target: ofService(
    z.looseObject({ url: text.optional().describe('The URL of the receiver') }),
    'Where it is sent, without credentials',
  ),
  payload: z
    .looseObject({
      type: text.optional().describe('The type of the delivery'),
      sessionKey: text.optional().describe('The key of the session'),
      turnId: uuid.nullish().describe('The turn that it comes from; null: a chat command without a turn'),
      messageIds: z.array(uuid).optional().describe('The ids of the messages that it answers'),
      text: text.optional().describe('The text to send'),
    })
    .describe('The body that is sent'),
  status: z.enum(DELIVERY_STATUSES).describe('Whether it waits, was sent, or how it failed'),
  attempts: count.describe('The number of attempts so far'),
  dueAt: iso.describe('When the next attempt is due'),
  expiresAt: iso.describe('When no further attempts to deliver are made'),
  lastStatus: z.int().nullable().describe('The HTTP status of the last answer; null: there was no answer'),
  lastError: ofService(text, 'Why the last attempt failed; null: it did not fail, or there was no attempt'),
  createdAt,
  settledAt: iso.nullable().describe('When it was sent or given up; null: neither yet'),
});
export type DeliveryView = z.output<typeof delivery>;

export const deliveryDetails = delivery.extend({
  log: z
    .array(
      z.strictObject({
        attempt: count.describe('The number of the attempt, counted from 1; it starts again after a redrive'),
        at: iso.describe('When the result was stored'),
        status: status.describe('The state of the delivery after the attempt; `pending`: another attempt follows'),
        httpStatus: z.int().nullable().describe('The HTTP status of the answer; null: there was no answer'),
      }),
    )
    .describe('The results of its attempts, oldest first, as far back as the event log reaches'),
});
export type DeliveryDetails = z.output<typeof deliveryDetails>;

export const deliveryCount = z.strictObject({
  status: status.describe('The state of these deliveries'),
  count: count.describe('The number of deliveries in the state, up to a limit'),
  isCapped: flag.describe('Whether the limit of the count was reached, so that there may be more'),
  oldestAt: iso.nullable().describe('When the oldest of them was created; null: there is none'),
});
export type DeliveryCount = z.output<typeof deliveryCount>;

/** The body of a discard; it may be absent. */
export const discardRequest = z.strictObject({ reason });
