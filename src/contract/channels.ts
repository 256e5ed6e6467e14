// Channels and the accounts of their bots on the wire.
import { z } from 'zod';
import { CHANNEL_MODES } from '../config/schema-channels.ts';
import { count, iso, text, wholeList } from './fields.ts';

export const ACCOUNT_STATES = ['connected', 'waiting', 'paused', 'lost'] as const;

const channelAccount = z.strictObject({
  accountId: text.describe('The name of the account in the configuration'),
  state: z
    .enum(ACCOUNT_STATES)
    .describe(
      '`waiting`: it has not been connected yet, or no request of the platform has come; `lost`: see `lastError`',
    ),
  botId: text.nullable().describe("The platform's id of the bot; null: not known yet"),
  connectedAt: iso.nullable().describe('Since when it is connected; null: it is not, or the platform calls it'),
  lastReceivedAt: iso.nullable().describe('When something was received last; null: never'),
  lastError: text.nullable().describe('Why it was not reached; null: it was'),
  waitingParts: count.describe('Messages that wait to be sent, up to 10,000'),
});
export type ChannelAccountView = z.output<typeof channelAccount>;

const channel = z.strictObject({
  name: text.describe('Its key below `channels` in the configuration'),
  adapter: text.describe('The platform, or the package that connects it'),
  mode: z.enum(CHANNEL_MODES).describe('How messages come in'),
  accounts: z.array(channelAccount).describe('Its accounts that are enabled'),
});
export type ChannelView = z.output<typeof channel>;

export const channels = wholeList(channel, 'The channels of the configuration that have an adapter');

export const pausedAccount = z.strictObject({
  channel: text.describe('The name of the channel'),
  accountId: text.describe('The name of the account'),
  paused: z.boolean().describe('Whether it neither reads nor sends'),
});

export const channelTest = z.strictObject({
  botId: text.nullable().describe("The platform's id of the bot; null: the platform did not accept the token"),
  botName: text.nullable().describe('What the platform calls the bot; null: as above'),
  error: text.nullable().describe('Why the platform did not answer; null: it did'),
  problems: z.array(text).describe('What is wrong with the rights or the settings of the bot, each with what to do'),
});
export type ChannelTest = z.output<typeof channelTest>;
