// Bindings of chats to agents on the wire.
import { z } from 'zod';
import { word } from '../config/schema-scalars.ts';
import { count, text } from './fields.ts';

export const binding = z.strictObject({
  index: count.describe('Its place in `bindings` of the configuration, from 0'),
  agent: text.describe('The id of the agent that the chats are bound to'),
  match: z
    .strictObject({
      channel: text.exactOptional().describe('The key below `channels`'),
      accountId: text.exactOptional().describe('The key below its `accounts`'),
      guild: text.exactOptional().describe('The id of a server of Discord'),
      team: text.exactOptional().describe('The id of a workspace of Slack'),
      chatId: text.exactOptional().describe('The id of a chat'),
      threadId: text.exactOptional().describe('The id of a thread or topic'),
    })
    .describe('What a chat must have to be bound by it'),
});
export type BindingView = z.output<typeof binding>;

export const bindings = z.strictObject({
  defaultAgent: text.describe('The agent of chats that no binding matches'),
  items: z.array(binding).describe('The bindings in the order of the configuration'),
});

export const explainQuery = z.strictObject({
  channel: word.describe('The key below `channels`'),
  accountId: word.exactOptional().describe('The key below its `accounts`'),
  chatId: word.exactOptional().describe('The id of the chat'),
  threadId: word.exactOptional().describe('The id of the thread or topic'),
  guild: word.exactOptional().describe('The id of the server of Discord'),
  team: word.exactOptional().describe('The id of the workspace of Slack'),
});

export const boundAgent = z.strictObject({
  agent: text.describe('The agent that gets the messages of the chat'),
  binding: binding.nullable().describe('The binding that decides; null: none matches, so it is the first agent'),
  candidates: z.array(binding).describe('All bindings that match, the most specific first'),
});
