// A chat of a channel as people write it, checked: where the results of crons, subagents and batches go.
import { z } from 'zod';
import { formatChannelUrl, type ChannelAddress } from '../core/channel-address.ts';
import { given } from '../core/json.ts';
import { word } from './schema-scalars.ts';

/** `mode: "channel"` in a request or the configuration. */
export const chatDelivery = z.strictObject({
  mode: z.literal('channel').describe('It is sent to a chat of a channel'),
  channel: word.describe('The key of the channel below `channels`'),
  accountId: word
    .exactOptional()
    .describe('The key of the account below its `accounts`; absent: the only one of the channel'),
  chatId: word.describe('The id of the chat on the platform'),
  threadId: word.exactOptional().describe('The id of a topic or thread; absent: the chat itself'),
});
export type ChatDelivery = z.output<typeof chatDelivery>;

/** The part of the configuration that is asked. */
interface ConfiguredChats {
  channels: {
    platforms: Readonly<
      Record<string, { adapter?: string | undefined; accounts?: Readonly<Record<string, object>> | undefined }>
    >;
  };
}

/** A part of it that names nothing. */
export interface ChatFault {
  field: 'channel' | 'accountId';
  message: string;
  /** What it can be. */
  allowed: string;
}

/** The complete address, or what is wrong with it: the channel and the account must be configured. */
export function resolveChat(
  { channels: { platforms } }: ConfiguredChats,
  { channel, accountId, chatId, threadId }: Omit<ChatDelivery, 'mode'>,
): { address: ChannelAddress } | { fault: ChatFault } {
  const adapted = Object.entries(platforms).filter(([, { adapter }]) => adapter !== undefined);
  const settings = adapted.find(([name]) => name === channel)?.[1];
  if (settings === undefined) {
    const known = adapted.map(([name]) => name).join(', ') || 'none';
    return {
      fault: {
        field: 'channel',
        message: `${JSON.stringify(channel)} is not a channel with an adapter; known: ${known}`,
        allowed: `a channel with an adapter; known: ${known}`,
      },
    };
  }
  const names = Object.keys(settings.accounts ?? {});
  const account = accountId ?? (names.length === 1 ? names[0] : undefined);
  if (account === undefined || !names.includes(account)) {
    const fault =
      accountId === undefined
        ? 'is needed: the channel has several accounts, or none'
        : `${JSON.stringify(accountId)} is not an account of ${channel}`;
    const known = names.join(', ') || 'none';
    const allowed = `an account of ${channel}; known: ${known}`;
    return { fault: { field: 'accountId', message: `${fault}; known: ${known}`, allowed } };
  }
  return { address: { channel, accountId: account, chatId, ...given({ threadId }) } };
}

/** The address of a chat that an agent writes to, for `OpenChannels`. */
export function addressOfChat(config: ConfiguredChats, chat: Omit<ChatDelivery, 'mode'>) {
  if (config.channels.platforms[chat.channel]?.adapter === undefined) return null;
  const resolved = resolveChat(config, chat);
  return 'fault' in resolved ? { fault: resolved.fault.message } : { url: formatChannelUrl(resolved.address) };
}
