// Where a message may go that the model sends in the middle of a turn: to the chat that the session
// talks in, and to channels that the configuration opens for it. The model names; this decides
// (G30).
import { channelOf, isDirect, type InboundMessage, threadIdOf, type ChatType } from '../../core/inbound.ts';
import { given } from '../../core/json.ts';

/** The chat of the session, as its last message named it. */
export interface ChatRoute {
  channel: string;
  accountId?: string;
  chatId?: string;
  /** In a direct chat, the person: platforms often name the chat by them. */
  peerId?: string;
  /** The platform's id of the message that the turn answers. */
  messageId?: string;
  /** The address in the form that deliveries carry. */
  address: ReplyAddress;
  /** Where its messages are delivered; absent: nowhere. */
  url?: string;
}

/** The model's request. */
export interface MessageAddress {
  channel?: string | undefined;
  to?: string | undefined;
}

export interface OpenChannels {
  /** The channels that exist. */
  known: readonly string[];
  /** The channels that may receive messages beside the session's own chat; `*`: all. */
  open: readonly string[];
  /** Where messages of other chats are delivered; absent: nowhere. */
  url?: string | undefined;
  /**
   * The address of a chat of a channel that the service itself is connected to, or why there is
   * none; null: it is connected to none of this name.
   */
  addressOf?: (chat: {
    channel: string;
    accountId?: string;
    chatId: string;
  }) => { url: string } | { fault: string } | null;
}

export type MessageTarget =
  | { kind: 'target'; url: string; address: ReplyAddress & { recipient: Recipient }; isOwnChat: boolean }
  /** `field` is the field that the model has to change. */
  | { kind: 'refused'; field: 'channel' | 'to' | 'message'; reason: string };

export function buildChatRoute(message: InboundMessage, defaultUrl: string | undefined): ChatRoute {
  const { accountId, chatId, messageId, deliver, sender } = message;
  const url = deliver === null ? undefined : (deliver?.url ?? defaultUrl);
  return {
    channel: channelOf(message),
    ...given({ accountId, chatId, peerId: isDirect(message) ? sender?.id : undefined, messageId, url }),
    address: toAddress(message),
  };
}

/** True when an address means the session's own chat. */
export function isOwnChat({ channel, to }: MessageAddress, own: ChatRoute): boolean {
  if (channel !== undefined && channel !== own.channel) return false;
  return to === undefined || to === own.chatId || to === own.peerId;
}

/** Decides where a message goes; `own` is null when the session has not received a message yet. */
export function decideTarget(address: MessageAddress, own: ChatRoute | null, channels: OpenChannels): MessageTarget {
  if (own !== null && isOwnChat(address, own)) return toOwnChat(own);
  const { to } = address;
  const channel = address.channel ?? own?.channel;
  const open = openNames(channels);
  if (channel === undefined || !open.includes(channel)) return notOpen({ channel, to }, own, open);
  if (to === undefined) return refused('to', `is needed to write to ${channel}`);
  const accountId = channel === own?.channel ? own.accountId : undefined;
  const found = channels.addressOf?.({ channel, chatId: to, ...given({ accountId }) }) ?? null;
  if (found !== null && 'fault' in found) return refused('channel', found.fault);
  const url = found?.url ?? channels.url;
  if (url === undefined) return nowhere();
  const named = { channel, chatId: to };
  return { kind: 'target', url, address: { ...named, recipient: named }, isOwnChat: false };
}

function openNames({ known, open }: OpenChannels): readonly string[] {
  return open.includes('*') ? known : known.filter((name) => open.includes(name));
}

function toOwnChat({ url, channel, address }: ChatRoute): MessageTarget {
  if (url === undefined) return nowhere();
  return {
    kind: 'target',
    url,
    address: { ...address, recipient: address.recipient ?? { channel } },
    isOwnChat: true,
  };
}

function notOpen({ channel, to }: MessageAddress, own: ChatRoute | null, open: readonly string[]): MessageTarget {
  const others = open.length === 0 ? '' : ` Open channels: ${open.join(', ')}.`;
  if (own === null) {
    const fault = channel === undefined ? 'is missing' : `${JSON.stringify(channel)} is not an open channel`;
    return refused('channel', `${fault}: this session has not received a message yet.${others}`);
  }
  const isOtherChannel = channel !== own.channel;
  const named = JSON.stringify(isOtherChannel ? channel : to);
  return refused(
    isOtherChannel ? 'channel' : 'to',
    `${named} is not open to messages. Without channel and to, the message goes to this chat.${others}`,
  );
}

function nowhere(): MessageTarget {
  return refused(
    'message',
    'cannot be sent: no webhook is configured for messages. Put the text into your reply instead.',
  );
}

function refused(field: 'channel' | 'to' | 'message', reason: string): MessageTarget {
  return { kind: 'refused', field, reason };
}

/** Whether a reply repeats an earlier text, apart from blanks. */
export function saysTheSame(a: string, b: string): boolean {
  return withoutGaps(a) === withoutGaps(b);
}

function withoutGaps(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

// The address of an answer, in the ids of the message's platform: what a receiver of replies needs
// to forward one. It contains only what the message named.

export interface Recipient {
  channel: string;
  accountId?: string;
  chatId?: string;
  /** In a direct chat: the platform's id of the person. */
  id?: string;
}

/** The fields that every delivery has in common, each as far as the message named it. */
export interface ReplyAddress {
  channel?: string;
  accountId?: string;
  chatId?: string;
  chatType?: ChatType;
  threadId?: string;
  /** Absent when nothing names a recipient. */
  recipient?: Recipient;
}

export function toAddress(message: InboundMessage): ReplyAddress {
  const { channel, accountId, chatId, chatType, sender } = message;
  const threadId = threadIdOf(message);
  const id = isDirect(message) ? sender?.id : undefined;
  const isNamed = [channel, accountId, chatId, id].some((part) => part !== undefined);
  return {
    ...given({ channel, accountId, chatId, chatType, threadId }),
    ...(isNamed ? { recipient: { channel: channelOf(message), ...given({ accountId, chatId, id }) } } : {}),
  };
}

/**
 * The address that a stored route names (`chooseRoute`): of an answer to what follows from a
 * message, such as the announcement of a subagent that it had spawned. A route of something else
 * names none.
 */
export function addressOfRoute(route: string): ReplyAddress {
  const parts: unknown = route.startsWith('[') ? JSON.parse(route) : [];
  if (!Array.isArray(parts) || parts.length !== ROUTE_PARTS) return {};
  const [channel, accountId, chatId, thread] = parts.map((part) => (typeof part === 'string' ? part : undefined));
  const [, threadId] = /^(?:id|label):(.*)$/s.exec(thread ?? '') ?? [];
  if (accountId === undefined && chatId === undefined && threadId === undefined && channel === DEFAULT_CHANNEL)
    return {};
  if (channel === undefined) return {};
  return {
    channel,
    ...given({ accountId, chatId, threadId }),
    recipient: { channel, ...given({ accountId, chatId }) },
  };
}

const ROUTE_PARTS = 6;
const DEFAULT_CHANNEL = channelOf({ text: '' });
