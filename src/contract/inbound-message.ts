// The body of an inbound message on the wire, and what it becomes inside. Unknown fields are refused; times may be ISO 8601 or
// epoch milliseconds and are milliseconds inside.
import { z } from 'zod';
import { QUEUE_MODES, THINKING_LEVELS } from '../config/choices.ts';
import { inputOptions } from '../config/schema-inputs.ts';
import { deliveryUrl, timeText } from '../config/schema-scalars.ts';
import { nestOptions } from '../core/input-options.ts';
import { MESSAGE_VIAS, type InboundMessage } from '../core/inbound.ts';
import { TIME_MS_MAX } from '../core/time-range.ts';

/** Names, ids and labels; texts are bounded by the body alone. */
const PRIORITY_MAX = 10;
const NAME_CHARS_MAX = 1000;
const HISTORY_MESSAGES_MAX = 500;
const MEMBERS_MAX = 1000;
const MEDIA_MAX = 100;
const CONTEXT_BLOCKS_MAX = 100;
const URL_CHARS_MAX = 2000;

const name = z.string().max(NAME_CHARS_MAX).exactOptional();
const text = z.string().exactOptional();
const time = z
  .union([timeText.transform((iso) => Date.parse(iso)), z.int().min(0).max(TIME_MS_MAX)], {
    error: 'expected an ISO 8601 time or epoch milliseconds, up to the year 9999',
  })
  .exactOptional();

const sender = z.strictObject({ id: name, name, username: name, tag: name, e164: name });
const group = z.strictObject({
  subject: name,
  channel: name,
  space: name,
  members: z.array(z.string().max(NAME_CHARS_MAX)).max(MEMBERS_MAX).exactOptional(),
});
const replyTo = z.strictObject({ id: name, senderLabel: name, body: text, isQuote: z.boolean().exactOptional() });
const forwarded = z.strictObject({
  from: name,
  type: name,
  username: name,
  title: name,
  signature: name,
  chatType: name,
  date: time,
});
const historyMessage = z.strictObject({ sender: name, timestamp: time, body: z.string() });
const thread = z.strictObject({ id: name, label: name, starterBody: text, historyBody: text });
const media = z.strictObject({
  path: name,
  type: name,
  url: z.string().max(URL_CHARS_MAX).exactOptional(),
  transcript: text,
});

const fields = z.strictObject({
  text: z.string(),
  messageId: z.string().min(1).max(NAME_CHARS_MAX).exactOptional(),
  channel: z.string().min(1).max(NAME_CHARS_MAX).exactOptional(),
  accountId: name,
  chatId: name,
  chatType: z.enum(['direct', 'group', 'channel']).exactOptional(),
  provider: name,
  surface: name,
  timestamp: time,
  sender: sender.exactOptional(),
  group: group.exactOptional(),
  conversationLabel: name,
  wasMentioned: z.boolean().exactOptional(),
  replyTo: replyTo.exactOptional(),
  forwarded: forwarded.exactOptional(),
  history: z.array(historyMessage).max(HISTORY_MESSAGES_MAX).exactOptional(),
  thread: thread.exactOptional(),
  media: z.array(media).max(MEDIA_MAX).exactOptional(),
  untrustedContext: z.array(z.string()).max(CONTEXT_BLOCKS_MAX).exactOptional(),
  groupSystemPrompt: text,
  mode: z.enum(QUEUE_MODES).exactOptional(),
  model: z.string().min(1).max(NAME_CHARS_MAX).exactOptional(),
  thinking: z.enum(THINKING_LEVELS).exactOptional(),
  via: z.enum(MESSAGE_VIAS).exactOptional(),
  deliver: z.strictObject({ url: deliveryUrl }).nullable().exactOptional(),
  ...inputOptions,
  expiresAt: time,
  deliverAt: time,
  priority: z.int().min(-PRIORITY_MAX).max(PRIORITY_MAX).exactOptional(),
});

/** What `POST /v1/sessions/{key}/messages` takes. */
export const inboundMessage = fields
  .refine((message) => message.text !== '' || (message.media?.length ?? 0) > 0, {
    path: ['text'],
    error: 'must not be empty when there is no media',
  })
  .transform(nestOptions) satisfies z.ZodType<InboundMessage>;

const CUSTOM_ID_CHARS_MAX = 200;

/** An item of a batch, which runs as its batch says. */
export const batchItem = fields.omit({ mode: true, via: true, deliverAt: true, priority: true }).extend({
  text: z.string().min(1, 'must not be empty'),
  customId: z.string().min(1).max(CUSTOM_ID_CHARS_MAX).exactOptional(),
  sessionKey: z.string().min(1).max(NAME_CHARS_MAX).exactOptional(),
  agentId: z.string().min(1).max(NAME_CHARS_MAX).exactOptional(),
  mode: z.literal('followup').exactOptional(),
});
