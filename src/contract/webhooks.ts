// What a webhook receives, by the type of the delivery: the schemas of the `webhooks` of the OpenAPI document. The payload is made in
// core/delivery-payload.ts; the channel adds `deliveryId`.
import { z } from 'zod';
import { BATCH_OUTCOMES } from '../core/batch/batch.ts';
import { DELIVERY_TYPES, type DeliveryType } from '../core/delivery-payload.ts';

const recipient = z
  .strictObject({
    channel: z.string(),
    accountId: z.string().exactOptional(),
    chatId: z.string().exactOptional(),
    id: z.string().exactOptional().describe('In a direct chat: the id of the person'),
  })
  .describe('The receiver of the delivery');

const common = {
  sessionKey: z.string().describe('The session that it comes from'),
  turnId: z.uuid().nullable().describe('The turn that it comes from; null for a chat command without a turn'),
  messageIds: z.array(z.uuid()).describe('Ids of the messages that it answers, as the API returned them'),
  text: z.string().describe('The text to send'),
  channel: z.string().exactOptional().describe('The channel that the message named'),
  accountId: z.string().exactOptional().describe('The account of the agent that the message named'),
  chatId: z.string().exactOptional().describe('The chat that the message named'),
  chatType: z.enum(['direct', 'group', 'channel']).exactOptional().describe('The kind of that chat'),
  threadId: z.string().exactOptional().describe('The id of its thread, else the label of its thread'),
  recipient: recipient.exactOptional(),
  replyToMessageId: z.string().exactOptional().describe('The platform id of the message to be quoted'),
  deliveryId: z.uuid().describe('The same at every attempt, and equal to the header webhook-id'),
};

const media = z.union([
  z.strictObject({ url: z.string().describe('Where to fetch it') }),
  z.strictObject({ path: z.string().describe('Its path on the machine of the worker'), name: z.string() }),
]);

const button = z.strictObject({
  text: z.string(),
  callback_data: z.string(),
  style: z.enum(['primary', 'success', 'danger']).exactOptional(),
});

/** The body of each type of delivery. */
export const webhookPayloads = {
  reply: z.strictObject({ type: z.literal('reply'), ...common }),
  message: z.strictObject({
    type: z.literal('message'),
    ...common,
    media: z.array(media).exactOptional().describe('Files to be sent with it'),
    react: z
      .strictObject({ emoji: z.string().describe('The reaction'), messageId: z.string() })
      .exactOptional()
      .describe('A reaction to the message with this platform id; then the text is empty'),
    buttons: z.array(z.array(button)).exactOptional().describe('Rows of inline buttons'),
  }),
  failure: z.strictObject({
    type: z.literal('failure'),
    ...common,
    error: z.strictObject({ code: z.string(), message: z.string() }).describe('Why there is no answer'),
  }),
  command: z.strictObject({ type: z.literal('command'), ...common }),
  batch: z.strictObject({
    type: z.literal('batch'),
    ...common,
    batch: z
      .strictObject({
        id: z.uuid().describe('The id of the batch'),
        name: z.string().nullable().describe('Its name'),
        outcome: z.enum(BATCH_OUTCOMES).describe('How it ended'),
        counts: z
          .record(z.enum(['total', 'answered', 'silent', 'failed', 'cancelled', 'expired']), z.int())
          .describe('How many items ended in which way'),
        costMicros: z.int().nullable().describe('What it cost in micro-dollars; null: no price is known'),
      })
      .describe('The batch'),
  }),
} satisfies Record<DeliveryType, z.ZodType>;

const SUMMARIES: Record<DeliveryType, string> = {
  reply: 'The answer of a turn',
  message: 'A message that an agent sends before its turn ends',
  failure: 'A turn has ended without an answer',
  command: 'The answer to a chat command',
  batch: 'A batch has ended',
};

const HEADERS = {
  'webhook-id': 'The id of the delivery, the same at every attempt: handle each id once',
  'webhook-timestamp': 'When this attempt was made, in seconds since the epoch; refuse one that is old',
  'webhook-signature': 'v1 and an HMAC-SHA256 of id, timestamp and body, as Standard Webhooks defines it',
};

/** The `webhooks` of the OpenAPI document. */
export function webhooksDocument(): Record<string, object> {
  return Object.fromEntries(DELIVERY_TYPES.map((type) => [type, { post: operationOf(type) }]));
}

function operationOf(type: DeliveryType): object {
  const { $schema: _schema, ...schema } = z.toJSONSchema(webhookPayloads[type]);
  return {
    summary: SUMMARIES[type],
    description: 'Signed as defined by Standard Webhooks. Delivered at least once, in the order of the session.',
    operationId: `${type}Webhook`,
    tags: ['webhooks'],
    parameters: Object.entries(HEADERS).map(([name, description]) => ({
      name,
      in: 'header',
      required: true,
      description,
      schema: { type: 'string' },
    })),
    requestBody: { required: true, content: { 'application/json': { schema } } },
    responses: {
      '2XX': { description: 'Received: it is not sent again' },
      '4XX': { description: 'Refused permanently, apart from 408, 409, 425 and 429, which request another attempt' },
      '5XX': { description: 'Another attempt follows' },
    },
  };
}
