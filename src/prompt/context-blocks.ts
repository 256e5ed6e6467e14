// The untrusted metadata of a message: labelled JSON blocks before its body, in the user's role, never the system's (G29).
// Everything in them is untrusted, so it is included as JSON strings only, bounded, and cannot close its fence.
import { isDirect, type InboundMessage } from '../core/inbound.ts';
import { formatMessageTime, type EnvelopeZone } from './envelope-time.ts';
import { toIdentifier, fencedJson, quoted, quotedAll } from './literal.ts';

const HISTORY_MESSAGES_MAX = 20;
const GROUP_MEMBERS_MAX = 50;

export interface ContextOptions {
  zone: EnvelopeZone;
  /** True in the first turn of a session, which is shown the thread instead of the chat history. */
  isNewSession: boolean;
}

type Block = (message: InboundMessage, options: ContextOptions) => { label: string; value: object } | null;

// The order is what the model sees.
const BLOCKS: readonly Block[] = [conversationInfo, sender, repliedMessage, forwardedMessage, chatHistory];

/** The blocks that a message has, in order; none for a bare direct message. */
export function contextBlocks(message: InboundMessage, options: ContextOptions): string[] {
  return BLOCKS.map((block) => block(message, options))
    .filter((block) => block !== null)
    .filter(({ value }) => JSON.stringify(value) !== '{}')
    .map(({ label, value }) => `${label}\n${fencedJson(value)}`);
}

function conversationInfo(message: InboundMessage, options: ContextOptions): { label: string; value: object } {
  const { sender: from, replyTo, forwarded, thread, timestamp } = message;
  const history = isHistoryShown(message, options) ? (message.history ?? []) : [];
  const time = timestamp === undefined ? null : formatMessageTime(timestamp, options.zone);
  return {
    label: 'Conversation info (untrusted metadata):',
    value: {
      ...strangeNames(message),
      message_id: quoted(message.messageId),
      reply_to_id: quoted(replyTo?.id),
      sender_id: quoted(from?.id),
      conversation_label: isDirect(message) ? undefined : quoted(message.conversationLabel),
      sender: quoted(from?.name) ?? quoted(from?.e164) ?? quoted(from?.id) ?? quoted(from?.username),
      timestamp: time ?? undefined,
      ...(isDirect(message) ? {} : groupFacts(message)),
      was_mentioned: message.wasMentioned === true ? true : undefined,
      has_reply_context: hasText(replyTo?.body) ? true : undefined,
      has_forwarded_context: hasText(forwarded?.from) ? true : undefined,
      has_thread_starter: hasText(thread?.starterBody) ? true : undefined,
      is_group_chat: isDirect(message) ? undefined : true,
      history_count: history.length > 0 ? Math.min(history.length, HISTORY_MESSAGES_MAX) : undefined,
      history_truncated: history.length > HISTORY_MESSAGES_MAX ? true : undefined,
    },
  };
}

// Names of the chat that are not identifiers: only identifiers are included in the system's role.
function strangeNames({ chatId, channel, provider, surface }: InboundMessage): object {
  const strange = (value: string | undefined) => (toIdentifier(value) === null ? quoted(value) : undefined);
  return {
    chat_id: strange(chatId),
    channel: strange(channel),
    provider: strange(provider),
    surface: strange(surface),
  };
}

function groupFacts({ group, thread }: InboundMessage): object {
  return {
    group_subject: quoted(group?.subject),
    group_channel: quoted(group?.channel),
    group_space: quoted(group?.space),
    group_members: quotedAll(group?.members?.slice(0, GROUP_MEMBERS_MAX)),
    thread_label: quoted(thread?.label),
  };
}

// In a direct chat the sender is part of the conversation info.
function sender(message: InboundMessage): { label: string; value: object } | null {
  const { name, username, tag, e164, id } = message.sender ?? {};
  const label = senderLabel(quoted(name) ?? quoted(username) ?? quoted(tag), quoted(e164) ?? quoted(id));
  if (isDirect(message) || label === undefined) return null;
  return {
    label: 'Sender (untrusted metadata):',
    value: { label, name: quoted(name), username: quoted(username), tag: quoted(tag), e164: quoted(e164) },
  };
}

function senderLabel(name: string | undefined, address: string | undefined): string | undefined {
  return name !== undefined && address !== undefined && name !== address ? `${name} (${address})` : (name ?? address);
}

function repliedMessage({ replyTo }: InboundMessage): { label: string; value: object } | null {
  if (!hasText(replyTo?.body)) return null;
  return {
    label: 'Replied message (untrusted, for context):',
    value: {
      sender_label: quoted(replyTo?.senderLabel),
      is_quote: replyTo?.isQuote === true ? true : undefined,
      body: quoted(replyTo?.body),
    },
  };
}

function forwardedMessage({ forwarded }: InboundMessage): { label: string; value: object } | null {
  if (forwarded === undefined) return null;
  return {
    label: 'Forwarded message context (untrusted metadata):',
    value: {
      from: quoted(forwarded.from),
      type: quoted(forwarded.type),
      username: quoted(forwarded.username),
      title: quoted(forwarded.title),
      signature: quoted(forwarded.signature),
      chat_type: quoted(forwarded.chatType),
      date_ms: forwarded.date,
    },
  };
}

function chatHistory(message: InboundMessage, options: ContextOptions): { label: string; value: object } | null {
  const history = message.history ?? [];
  if (history.length === 0 || !isHistoryShown(message, options)) return null;
  return {
    label: 'Chat history since last reply (untrusted, for context):',
    value: history.slice(-HISTORY_MESSAGES_MAX).map((item) => ({
      sender: quoted(item.sender),
      timestamp_ms: item.timestamp,
      body: quoted(item.body),
    })),
  };
}

function isHistoryShown({ thread }: InboundMessage, { isNewSession }: ContextOptions): boolean {
  return !(isNewSession && hasText(thread?.historyBody));
}

function hasText(text: string | undefined): boolean {
  return text !== undefined && text.trim() !== '';
}
