// The shape of `channels`: where replies go (`webhook`), and the chat platforms that messages come
// from, each under its own name. Also the shape of one chat, where results go.
import { z } from 'zod';
import {
  choice,
  count,
  flag,
  headerValue,
  hosts,
  httpUrl,
  LIST_MAX,
  names,
  optional,
  path,
  section,
  storedMs,
  timerMs,
  word,
} from './schema-scalars.ts';
import { formatChannelUrl, type ChannelAddress } from '../core/channel-address.ts';
import { given } from '../core/json.ts';

interface AdapterFacts {
  /** How messages can come in; the first is the default. */
  modes: readonly ('webhook' | 'poll' | 'socket')[];
  /** What its messages can have in addition to text: see `channels.<name>.capabilities`. */
  capabilities: readonly string[];
  /** The largest file that it takes from a bot. */
  fileBytesMax: number;
}

/** The largest file that is sent at all: on most platforms it is in memory meanwhile. */
export const FILE_BYTES_MAX = 100_000_000;

/**
 * The chat platforms that Holdfast connects to itself, and what holds for each without asking it.
 * `channels.<name>.adapter` is one of these, or a package.
 */
export const CHANNEL_ADAPTERS: Readonly<Record<string, AdapterFacts>> = {
  telegram: {
    modes: ['poll', 'webhook'],
    capabilities: ['inlineButtons', 'media', 'reactions'],
    fileBytesMax: 50_000_000,
  },
  signal: { modes: ['socket'], capabilities: ['media', 'reactions'], fileBytesMax: FILE_BYTES_MAX },
  // It takes 1 GB.
  slack: {
    modes: ['socket', 'webhook'],
    capabilities: ['inlineButtons', 'media', 'reactions'],
    fileBytesMax: FILE_BYTES_MAX,
  },
  // It takes more in servers that are boosted.
  discord: {
    modes: ['socket'],
    capabilities: ['inlineButtons', 'media', 'reactions'],
    fileBytesMax: 10 * 1024 * 1024,
  },
};

const CHANNELS_MAX = 100;

const WEBHOOK_SECRETS_MAX = 5;

const webhookSecret = z
  .string()
  .max(512)
  .regex(/^whsec_[A-Za-z0-9+/]{16,}={0,2}$/, '"whsec_" and at least 12 bytes in base64');

const webhook = section({
  url: optional(httpUrl).describe('where replies without a `deliver.url` go; none: they are not sent'),
  secret: z
    .union([webhookSecret, z.array(webhookSecret).min(1).max(WEBHOOK_SECRETS_MAX)])
    .exactOptional()
    .describe(
      'the Standard Webhooks secret (`whsec_...`), or up to 5 of them: deliveries then have a signature for each. None: generated once, in `secrets/` of the data directory',
    ),
  allowPrivate: hosts.describe(
    'hosts that messages and crons may name in `deliver.url` although their addresses are not public. While `HOLDFAST_HOST` is a loopback address, all addresses of this machine are allowed too',
  ),
  timeoutMs: timerMs(1).default(10_000).describe('longest time for a receiver to respond'),
  maxAttempts: count(1, 1000).default(10).describe('maximum number of attempts per delivery'),
  expiresAfter: storedMs(1000).default(86_400_000).describe('deliveries older than this are no longer sent'),
});

const HINTS_MAX = 20;
const HINT_CHARS_MAX = 500;

const singleLine = (charsMax: number) =>
  z
    .string()
    .min(1)
    .max(charsMax)
    .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]+$/u, 'a text of one line');

const line = singleLine(200);

export const DM_POLICIES = ['pairing', 'allowlist', 'open', 'off'] as const;
export const GROUP_POLICIES = ['allowlist', 'open', 'off'] as const;
export const CHANNEL_MODES = ['webhook', 'poll', 'socket'] as const;
export const UNKNOWN_POLICIES = ['resend', 'park'] as const;

const account = z.strictObject({
  name: optional(line).describe('the name of this account in prompts'),
  details: optional(z.array(line).max(20)).describe('notes about it in prompts, such as `dm:allowlist`'),
  enabled: optional(z.boolean()).describe('`false`: it neither reads nor sends; none: true'),
  token: optional(headerValue).describe("the bot's token; or one of `tokenEnv` and `tokenFile`"),
  tokenEnv: optional(word).describe('the environment variable that holds the token'),
  tokenFile: optional(path).describe('the file that holds the token'),
  signingSecret: optional(headerValue).describe('Slack: the secret that signs its requests, with `mode: "webhook"`'),
  secretToken: optional(headerValue).describe('Telegram: the secret that its requests contain, with `mode: "webhook"`'),
  appToken: optional(headerValue).describe('Slack: the token for `mode: "socket"`, `xapp-...`'),
  baseUrl: optional(httpUrl).describe("where the platform's API is; none: its public address"),
  dm: choice(DM_POLICIES, 'pairing').describe(
    'who may write in direct chats: people who were [paired](channels.md#who-may-write), those of `allowFrom`, everybody, or no one',
  ),
  groups: choice(GROUP_POLICIES, 'allowlist').describe(
    'in which groups it answers: those of `groupAllow`, all, or none',
  ),
  allowFrom: names.default([]).describe("ids of people who may write to it; they are the platform's ids, never names"),
  groupAllow: names.default([]).describe('ids of groups and channels in which it answers'),
  requireMention: flag(true).describe('in groups, only messages that mention it or answer it are for the agent'),
});

const historyLimit = count(0, 1_000_000).exactOptional();

const platform = z
  .strictObject({
    adapter: optional(word).describe(
      `how it is connected: ${Object.keys(CHANNEL_ADAPTERS)
        .map((name) => `\`${name}\``)
        .join(', ')} or the name of a package; none: other programs send its messages to the API`,
    ),
    mode: optional(z.enum(CHANNEL_MODES)).describe(
      'how messages come in: the platform calls (`webhook`), or a process asks it (`poll`) or holds a connection (`socket`). None: `poll` for Telegram, otherwise `socket`',
    ),
    onUnknown: optional(
      z.strictObject({
        reply: choice(UNKNOWN_POLICIES, 'resend').describe('for replies and other results'),
        message: choice(UNKNOWN_POLICIES, 'park').describe('for messages of the tool `message`'),
      }),
    ).describe(
      'what happens to a part whose sender died while sending, where the platform cannot say whether it arrived: `resend`, or `park` it for a person to decide; for replies, and for messages of the tool `message`',
    ),
    mediaBytesMax: optional(count(1, 104_857_600)).describe('the largest file that is downloaded; none: 20 MiB'),
    previews: optional(z.boolean()).describe(
      '`false`: the text of an answer is not shown while it is written; none: it is, where the platform can change messages',
    ),
    enabled: optional(z.boolean()).describe(
      '`false`: its accounts neither read nor send, and prompts do not mention it; none: true',
    ),
    label: optional(line).describe('its name in prompts; none: `<name>`, which messages give as `channel`'),
    phone: optional(word).describe("the agent's own number there"),
    capabilities: optional(z.array(word).max(50)).describe(
      'features that it supports: `inlineButtons`, `media`, `reactions`; none: those of its adapter. Without `media` and `reactions`, neither the prompt nor the `message` tool offers them; Telegram and Signal have reactions by default',
    ),
    messageHints: z
      .array(singleLine(HINT_CHARS_MAX))
      .max(HINTS_MAX)
      .exactOptional()
      .describe('hints for the `message` tool there, one line each'),
    reactions: optional(z.enum(['off', 'minimal', 'extensive'])).describe('as `reactions.mode`, for this channel'),
    groupActivation: optional(z.enum(['mention', 'always'])).describe(
      'which messages of a group reach the agent, as prompts say it; none: all with `requireMention: false` of the account, otherwise those that mention it',
    ),
    accounts: z.record(word, account).exactOptional(),
    historyLimit: historyLimit.describe('as `session.historyLimit`, for this channel'),
    dmHistoryLimit: historyLimit.describe('as `session.dmHistoryLimit`, for this channel'),
    dms: z
      .record(word, z.strictObject({ historyLimit: historyLimit.describe('the same for the chat with one person') }))
      .refine((dms) => Object.keys(dms).length <= LIST_MAX, `at most ${LIST_MAX} people`)
      .exactOptional(),
  })
  .superRefine(({ adapter = '', mode }, context) => {
    const { modes } = CHANNEL_ADAPTERS[adapter] ?? {};
    if (mode !== undefined && modes?.includes(mode) === false)
      context.addIssue({
        code: 'custom',
        path: ['mode'],
        message: `${modes.map((known) => `"${known}"`).join(' or ')} with the adapter "${adapter}"`,
        input: mode,
      });
  });

/** `channels` of the file. Output: `webhook`, and all others as `platforms`. */
export const channelsSchema = z
  .object({
    webhook: optional(webhook.unwrap()).meta({ reload: 'used by deliveries that start later' }),
  })
  .catchall(platform)
  .refine((channels) => Object.keys(channels).length <= CHANNELS_MAX, `at most ${CHANNELS_MAX} channels`)
  // The schema of `webhook` is its own, so what is left has that of a platform.
  .transform(({ webhook: own, ...platforms }) => ({
    webhook: own ?? webhook.parse({}),
    platforms: platforms as Record<string, z.output<typeof platform>>,
  }))
  .prefault({});

const bindingMatch = z
  .strictObject({
    channel: optional(word).describe('the key below `channels`'),
    accountId: optional(word).describe('the key below its `accounts`'),
    guild: optional(word).describe('the id of a server of Discord'),
    team: optional(word).describe('the id of a workspace of Slack'),
    chatId: optional(word).describe('the id of a chat'),
    threadId: optional(word).describe('the id of a thread or topic'),
  })
  .refine((match) => Object.keys(match).length > 0, 'at least one of its keys');

/** `bindings` of the file. */
export const bindingsSchema = z
  .array(z.strictObject({ agent: word.describe('the id of the agent'), match: bindingMatch }))
  .max(LIST_MAX)
  .default([]);

// A chat of a channel as people write it, checked: where the results of crons, subagents and
// batches go.

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

/**
 * The complete address, or what is wrong with it: the channel and the account must be configured.
 */
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
