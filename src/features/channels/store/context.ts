// What was said in chats and not for the agent, until the next message that is: its history.
import { literalQuery } from '../../../database/literal-query.ts';

/**
 * The most messages that are kept of a chat or a thread, and for how long. A prompt shows the
 * newest 20.
 */
const KEPT_MAX = 50;
const KEPT = '7 days';
const DELETED_AT_ONCE = 1_000;

export interface ContextPlace {
  channel: string;
  account: string;
  chatId: string;
  /** Empty: the chat itself. */
  threadId: string;
}

export interface ContextMessage {
  messageId: string;
  sender: string | null;
  body: string;
  /** Epoch milliseconds. */
  saidAt: number;
}

const OF_PLACE_SQL =
  'c.channel = $channel and c.account = $account and c.chat_id = $chatId and c.thread_id = $threadId';

export const keepContext = literalQuery({
  name: 'keep-channel-context',
  purpose:
    'Keep a message that is not for the agent, or what became of it by an edit. The oldest above the bound is deleted.',
  locking: 'The messages of the chat that are deleted, and the one that is stored.',
  text: `with crowd as materialized (
  select c.message_id from holdfast.channel_context c where ${OF_PLACE_SQL} and c.message_id <> $messageId
  order by c.said_at desc, c.message_id desc offset ${KEPT_MAX - 1}
),
deleted as (delete from holdfast.channel_context c using crowd where ${OF_PLACE_SQL} and c.message_id = crowd.message_id)
insert into holdfast.channel_context (channel, account, chat_id, thread_id, message_id, sender, body, said_at)
values ($channel, $account, $chatId, $threadId, $messageId, $sender, $body, to_timestamp($saidAt::float8 / 1000))
on conflict (channel, account, chat_id, thread_id, message_id) do update set body = excluded.body`,
  values: (message: ContextPlace & ContextMessage) => message,
});

export const readContext = literalQuery({
  name: 'read-channel-context',
  purpose: 'Read what was said in a chat since the last message for the agent, oldest first.',
  text: `select c.message_id as "messageId", c.sender, c.body, extract(epoch from c.said_at)::float8 * 1000 as "saidAt"
from holdfast.channel_context c where ${OF_PLACE_SQL} and c.said_at <= to_timestamp($until::float8 / 1000)
order by c.said_at, c.message_id limit ${KEPT_MAX}`,
  // A message that comes again must not take what was said after it.
  values: (place: ContextPlace, until: number) => ({ ...place, until }),
  answer: (rows: ContextMessage[]) => rows,
});

export const dropContext = literalQuery({
  name: 'drop-channel-context',
  purpose: 'Delete what a message for the agent has as its history.',
  locking: 'These messages.',
  text: `delete from holdfast.channel_context c where ${OF_PLACE_SQL} and c.message_id = any ($messageIds::text[])`,
  values: (place: ContextPlace & { messageIds: readonly string[] }) => place,
});

export const trimContext = literalQuery({
  name: 'trim-channel-context',
  purpose: 'Delete a portion of what is too old to be the history of a message. Answers whether there may be more.',
  locking: 'These messages, but none that another process has locked.',
  text: `delete from holdfast.channel_context where ctid = any (array(
  select ctid from holdfast.channel_context where said_at < clock_timestamp() - interval '${KEPT}' limit ${DELETED_AT_ONCE} for update skip locked
)) returning true`,
  answer: (rows: object[]) => rows.length === DELETED_AT_ONCE,
});
