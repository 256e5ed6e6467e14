// The body of an inbound message on the wire, and what it becomes inside. Unknown fields are
// refused; times may be ISO 8601 or epoch milliseconds and are milliseconds inside.
import { z } from 'zod';
import { QUEUE_MODES } from '../core/queue-mode.ts';
import { THINKING_LEVELS } from '../core/models.ts';
import { messageTools, messageVia, turnOptions } from '../config/schema-inputs.ts';
import { count, timeText } from '../config/schema-scalars.ts';
import { nestOptions } from '../core/input-options.ts';
import type { InboundMessage } from '../core/inbound.ts';
import { TIME_MS_MAX } from '../core/time.ts';
import { deliverTo } from './fields.ts';

/** Names, ids and labels; texts are bounded by the body alone. */
const PRIORITY_MAX = 10;
const NAME_CHARS_MAX = 1000;
const HISTORY_MESSAGES_MAX = 500;
const MEMBERS_MAX = 1000;
const MEDIA_MAX = 100;
const CONTEXT_BLOCKS_MAX = 100;
const URL_CHARS_MAX = 2000;

const name = z.string().max(NAME_CHARS_MAX).exactOptional();
const word = z.string().min(1).max(NAME_CHARS_MAX).exactOptional();
const text = z.string().exactOptional();
const time = z
  .union([timeText.transform((iso) => Date.parse(iso)), count(0, TIME_MS_MAX)], {
    error: 'expected an ISO 8601 time or epoch milliseconds, up to the year 9999',
  })
  .exactOptional();

const sender = z.strictObject({
  id: name.describe('The id of the sender on the platform'),
  name: name.describe('The name of the sender'),
  username: name.describe('The user name of the sender on the platform'),
  tag: name.describe('The tag of the sender on the platform'),
  e164: name.describe('The phone number of the sender, as +491701234567'),
});
const group = z.strictObject({
  subject: name.describe('The name of the group'),
  channel: name.describe('The name of the channel of the group'),
  space: name.describe('The name of the space or server'),
  members: z
    .array(z.string().max(NAME_CHARS_MAX))
    .max(MEMBERS_MAX)
    .exactOptional()
    .describe('The names of its members'),
});
const replyTo = z.strictObject({
  id: name.describe('The platform id of the message that this one replies to'),
  senderLabel: name.describe('The name of the sender of the quoted message'),
  body: text.describe('The text of the quoted message'),
  isQuote: z.boolean().exactOptional().describe('Whether only a part of the message is quoted'),
});
const forwarded = z.strictObject({
  from: name.describe('The sender of the original message'),
  type: name.describe('What the origin is, such as a user, a chat or a channel'),
  username: name.describe('The user name of the origin on the platform'),
  title: name.describe('The title of the chat or channel of the original message'),
  signature: name.describe('The signature of the author of the original message'),
  chatType: name.describe('The type of the chat of the original message'),
  date: time.describe('When the original message was sent'),
});
const historyMessage = z.strictObject({
  sender: name.describe('The name of its sender'),
  timestamp: time.describe('When the message was sent, as ISO 8601 or epoch milliseconds'),
  body: z.string().describe('The text of the earlier message'),
});
const thread = z.strictObject({
  id: name.describe('The id of the thread on the platform'),
  label: name.describe('The name of the thread'),
  starterBody: text.describe('The first message of the thread'),
  historyBody: text.describe('The messages of the thread before this one'),
});
export const inboundMedia = z.strictObject({
  path: name.describe('The path of the file in the workspace'),
  type: name.describe('The MIME type of the file'),
  url: z.string().max(URL_CHARS_MAX).exactOptional().describe('Where the file is, as an http or https URL'),
  transcript: text.describe('The transcript of a voice message'),
});

const fields = z.strictObject({
  text: z.string().describe('The text of the message; it may be empty if there is media'),
  messageId: word.describe('Its id on the platform, unique per channel, account and chat forever'),
  channel: word.describe('The channel that the message came from, such as telegram'),
  accountId: name.describe('The account of the bot on the platform'),
  chatId: name.describe('The id of the chat on the platform'),
  chatType: z.enum(['direct', 'group', 'channel']).exactOptional().describe('What kind of chat it is'),
  provider: name.describe('The platform of the channel'),
  surface: name.describe('The part of the platform that the message was sent from'),
  timestamp: time.describe('When the message was sent, as ISO 8601 or epoch milliseconds'),
  sender: sender.exactOptional().describe('Who sent the message'),
  group: group.exactOptional().describe('The group chat that the message belongs to'),
  conversationLabel: name.describe('The name of the conversation, as the platform shows it'),
  wasMentioned: z.boolean().exactOptional().describe('Whether the agent was mentioned in a group'),
  replyTo: replyTo.exactOptional().describe('The message that this one replies to'),
  forwarded: forwarded.exactOptional().describe('The origin of a forwarded message, whose text has no chat commands'),
  history: z
    .array(historyMessage)
    .max(HISTORY_MESSAGES_MAX)
    .exactOptional()
    .describe('Messages that the agent has not seen, oldest first'),
  thread: thread.exactOptional().describe('The thread that the message belongs to'),
  media: z.array(inboundMedia).max(MEDIA_MAX).exactOptional().describe('Files and images of the message'),
  untrustedContext: z
    .array(z.string())
    .max(CONTEXT_BLOCKS_MAX)
    .exactOptional()
    .describe('Texts of others, which the agent treats as data'),
  groupSystemPrompt: text.describe("The operator's instructions to the agent for this group"),
  mode: z
    .enum(QUEUE_MODES)
    .exactOptional()
    .describe('What happens to it while the session is busy; absent: as configured'),
  model: word.describe('The model, as provider/model or an alias; absent: as configured'),
  thinking: z.enum(THINKING_LEVELS).exactOptional().describe('The thinking level of its turn; absent: as configured'),
  via: messageVia.exactOptional(),
  deliver: deliverTo.describe('Where the reply is delivered; null: nowhere; absent: as configured'),
  ...turnOptions,
  tools: messageTools,
  expiresAt: time.describe('If its answer has not started by this time, the message fails with the code `expired`'),
  deliverAt: time.describe('When it arrives in its session, as if it were sent then; until then it is `delayed`'),
  priority: count(-PRIORITY_MAX, PRIORITY_MAX)
    .exactOptional()
    .describe('Above 0: before others of its lane; below 0: after them'),
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
  tools: turnOptions.tools,
  text: z.string().min(1, 'must not be empty'),
  customId: z.string().min(1).max(CUSTOM_ID_CHARS_MAX).exactOptional(),
  sessionKey: word,
  agentId: word,
  mode: z.literal('followup').exactOptional(),
});
