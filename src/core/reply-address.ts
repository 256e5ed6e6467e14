// The address of an answer, in the ids of the message's platform: what a receiver of replies needs to forward one. It contains only what
// the message named.
import { channelOf, isDirect, threadIdOf, type ChatType, type InboundMessage } from './inbound.ts';
import { given } from './given.ts';

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
 * The address that a stored route names (`chooseRoute`): of an answer to what follows from a message, such as the announcement of a subagent
 * that it had spawned. A route of something else names none.
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
