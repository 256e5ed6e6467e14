// The address of a chat on a chat platform, in the form of a URL, so that it goes wherever the URL
// of a receiver goes: into messages, routes, crons and the outbox. A request body cannot contain
// one: there, URLs are http or https.
import { given } from './json.ts';

/** A chat that an account of the service is in. The ids are the platform's. */
export interface ChannelAddress {
  /** The key below `channels` in the configuration. */
  channel: string;
  /** The key below its `accounts`. */
  accountId: string;
  chatId: string;
  /** A topic or thread of the chat; absent: the chat itself. */
  threadId?: string;
}

const SCHEME = 'channel:';
const WEBHOOK = 'webhook';

/** The address as a URL: `channel:telegram/main/-100123/7`. Equal addresses have equal URLs. */
export function formatChannelUrl({ channel, accountId, chatId, threadId }: ChannelAddress): string {
  const parts = [channel, accountId, chatId, ...(threadId === undefined ? [] : [threadId])];
  return SCHEME + parts.map(encodeURIComponent).join('/');
}

/** The address that a URL of this form names; null for another URL. */
export function parseChannelUrl(url: string): ChannelAddress | null {
  if (!url.startsWith(SCHEME)) return null;
  const [channel, accountId, chatId, threadId, ...rest] = url.slice(SCHEME.length).split('/').map(decodeURIComponent);
  if (!channel || !accountId || !chatId || threadId === '' || rest.length > 0) return null;
  return { channel, accountId, chatId, ...given({ threadId }) };
}

/** Where something is delivered, as requests have it: a URL, or the address of a chat. */
export function parseReceiver(where: string): { url: string } | ({ mode: 'channel' } & ChannelAddress) {
  const chat = parseChannelUrl(where);
  return chat === null ? { url: where } : { mode: 'channel', ...chat };
}

/**
 * The channel of a delivery to this URL: `webhook`, or the name of the channel that it addresses.
 */
export function channelOfUrl(url: string): string {
  return parseChannelUrl(url)?.channel ?? WEBHOOK;
}

/** SQL of the channel of a target. */
export function channelOfTargetSql(target: string): string {
  return `coalesce(substring(${target} ->> 'url', '^${SCHEME}([^/]+)/'), '${WEBHOOK}')`;
}

/**
 * SQL of the names below which limits of a platform are kept: of the chat and of the account that a
 * URL of this form names.
 */
export function placesOfUrlSql(url: string): { chat: string; account: string } {
  return {
    chat: `substring(${url}, '^${SCHEME}([^/]+/[^/]+/[^/]+)')`,
    account: `substring(${url}, '^${SCHEME}([^/]+/[^/]+)')`,
  };
}

/** SQL of the conversation of a target: its address without the scheme; null for a webhook. */
export function conversationOfTargetSql(target: string): string {
  return `substring(${target} ->> 'url', '^${SCHEME}(.+)$')`;
}

/** SQL of what receives a target: the account that sends to a chat, or the host of a webhook. */
export function destinationOfTargetSql(target: string): string {
  const url = `${target} ->> 'url'`;
  return `coalesce(${placesOfUrlSql(url).account}, substring(${url}, '^https?://(?:[^/?#]*@)?([^/?#]+)'), '${WEBHOOK}')`;
}
