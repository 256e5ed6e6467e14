// What a webhook receives, by the type of the delivery: the schemas of the `webhooks` of the
// OpenAPI document. The payload is made in core/delivery-payload.ts; the channel adds `deliveryId`.
import { z } from 'zod';
import { approval } from './approvals.ts';
import { externalCall } from './external-tools.ts';
import { alertPayload } from '../features/alerts/contract.ts';
import { BATCH_OUTCOMES } from '../features/batches/rules/batch.ts';
import { DELIVERY_TYPES, type DeliveryType } from '../core/delivery-payload.ts';

const recipient = z
  .strictObject({
    channel: z.string().describe('The name of the channel'),
    accountId: z.string().exactOptional().describe('The account of the agent in the channel'),
    chatId: z.string().exactOptional().describe('The id of the chat on the platform'),
    id: z.string().exactOptional().describe('In a direct chat: the id of the person'),
  })
  .describe('The receiver of the delivery');

const common = {
  sessionKey: z.string().describe('The session that it comes from'),
  turnId: z.uuid().nullable().describe('The turn that it comes from; null: a chat command without a turn'),
  messageIds: z.array(z.uuid()).describe('The ids of the messages that it answers'),
  text: z.string().describe('The text to send'),
  channel: z.string().exactOptional().describe('The channel that the message named'),
  accountId: z.string().exactOptional().describe('The account of the agent that the message named'),
  chatId: z.string().exactOptional().describe('The chat that the message named'),
  chatType: z.enum(['direct', 'group', 'channel']).exactOptional().describe('The kind of that chat'),
  threadId: z.string().exactOptional().describe('The id of its thread, else the label of its thread'),
  recipient: recipient.exactOptional().describe('The receiver of the delivery'),
  replyToMessageId: z.string().exactOptional().describe('The platform id of the message to be quoted'),
  deliveryId: z.uuid().describe('The same at every attempt, and equal to the header webhook-id'),
};

const media = z.union([
  z.strictObject({ url: z.string().describe('Where to fetch it') }),
  z.strictObject({
    path: z
      .string()
      .describe('The path of a copy on the machine of the worker, until an hour after the acknowledgement'),
    name: z.string().describe('The name of the file'),
  }),
]);

const button = z.strictObject({
  text: z.string().describe('The label of the button'),
  callback_data: z.string().describe('What the platform sends back when the button is pressed'),
  style: z.enum(['primary', 'success', 'danger']).exactOptional().describe('How the button looks'),
});

/** Beside those of deliveries: what alert destinations receive. */
const alert = { summary: 'Problems that need attention have begun or ended', schema: alertPayload };

export const webhookPayloads = {
  reply: z.strictObject({ type: z.literal('reply').describe('The type of the delivery'), ...common }),
  message: z.strictObject({
    type: z.literal('message').describe('The type of the delivery'),
    ...common,
    media: z.array(media).exactOptional().describe('Files to be sent with it'),
    react: z
      .strictObject({
        emoji: z.string().describe('The emoji of the reaction'),
        messageId: z.string().describe('The platform id of the message that is reacted to'),
      })
      .exactOptional()
      .describe('A reaction to a message; then the text is empty'),
    buttons: z.array(z.array(button)).exactOptional().describe('Rows of inline buttons'),
  }),
  failure: z.strictObject({
    type: z.literal('failure').describe('The type of the delivery'),
    ...common,
    error: z
      .strictObject({
        code: z.string().describe('The error code, for programs'),
        message: z.string().describe('What went wrong, for people'),
      })
      .describe('Why there is no answer'),
  }),
  command: z.strictObject({ type: z.literal('command').describe('The type of the delivery'), ...common }),
  'approval.requested': z.strictObject({
    type: z.literal('approval.requested').describe('The type of the delivery'),
    ...common,
    approval: approval.describe('The request, as `GET /v1/approvals/{id}` answers it'),
  }),
  'tool.requested': z.strictObject({
    type: z.literal('tool.requested').describe('The type of the delivery'),
    ...common,
    toolCall: externalCall.describe('The call, as `GET /v1/tool-calls/{id}` answers it'),
  }),
  batch: z.strictObject({
    type: z.literal('batch').describe('The type of the delivery'),
    ...common,
    batch: z
      .strictObject({
        id: z.uuid().describe('The id of the batch'),
        name: z.string().nullable().describe('The name of the batch; null: it has no name'),
        outcome: z.enum(BATCH_OUTCOMES).describe('How the batch ended'),
        counts: z
          .record(z.enum(['total', 'answered', 'silent', 'failed', 'cancelled', 'expired']), z.int())
          .describe('The number of items by how they ended'),
        costMicros: z.int().nullable().describe('What the batch cost, in whole micro-dollars; null: no price is known'),
      })
      .describe('The batch that has ended'),
  }),
} satisfies Record<DeliveryType, z.ZodType>;

const SUMMARIES: Record<DeliveryType, string> = {
  reply: 'The answer of a turn',
  message: 'A message that an agent sends before its turn ends',
  failure: 'A turn has ended without an answer',
  command: 'The answer to a chat command',
  'approval.requested': 'A tool call waits for an approval',
  'tool.requested': 'A call of an external tool waits for its result',
  batch: 'A batch has ended',
};

const HEADERS = {
  'webhook-id': 'The id of the delivery, the same at every attempt: handle each id once',
  'webhook-timestamp': 'When this attempt was made, in seconds since the epoch; refuse one that is old',
  'webhook-signature': 'v1 and an HMAC-SHA256 of id, timestamp and body, as Standard Webhooks defines it',
};

/** The `webhooks` of the OpenAPI document. */
export function webhooksDocument(): Record<string, object> {
  const replies = DELIVERY_TYPES.map((type) => {
    const description = 'Signed as defined by Standard Webhooks. Delivered at least once, in the order of the session.';
    return [
      type,
      { post: buildOperation(type, { summary: SUMMARIES[type], description, schema: webhookPayloads[type] }) },
    ];
  });
  const description = 'Signed as defined by Standard Webhooks with the secret of the alert destination.';
  return Object.fromEntries([...replies, ['alert', { post: buildOperation('alert', { ...alert, description }) }]]);
}

function buildOperation(
  type: string,
  { summary, description, schema: payload }: { summary: string; description: string; schema: z.ZodType },
): object {
  const { $schema: _schema, ...schema } = z.toJSONSchema(payload);
  return {
    summary,
    description,
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
