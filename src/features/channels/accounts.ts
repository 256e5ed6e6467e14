// The accounts of bots that the configuration names, and the platform of each. The code of a platform is loaded when an account of it is first used.
import { readFileSync } from 'node:fs';
import { processEnvironment, type Config } from '../../config.ts';
import { CHANNEL_ADAPTERS } from '../../config/channel-adapters.ts';
import { given } from '../../core/json.ts';
import { parseChannelUrl, type ChannelAddress } from '../../core/channel-address.ts';
import { PlatformError, type AccountSettings, type Destination, type OpenPlatform, type Platform } from './platform.ts';

/** How long an account waits whose token is not valid, or whose settings are wrong. */
export const UNAUTHORIZED_MS = 60_000;

type ChannelSettings = Config['channels']['platforms'][string];

/** An account with the settings of its channel. */
export interface BotAccount {
  channel: string;
  account: string;
  adapter: string;
  mode: AccountSettings['mode'];
  settings: NonNullable<ChannelSettings['accounts']>[string];
  ofChannel: ChannelSettings;
}

const ADAPTERS: Readonly<Record<string, () => Promise<{ openPlatform: OpenPlatform }>>> = {
  telegram: () => import('./platforms/telegram.ts'),
  signal: () => import('./platforms/signal.ts'),
  slack: () => import('./platforms/slack.ts'),
  discord: () => import('./platforms/discord.ts'),
};

const opened = new WeakMap<Config, Map<string, Promise<Platform>>>();

/** The enabled accounts of the channels that have an adapter, in the order of the file. */
export function listAccounts(config: Config): BotAccount[] {
  return Object.entries(config.channels.platforms).flatMap(([channel, ofChannel]) => {
    const { adapter, enabled = true, accounts = {} } = ofChannel;
    if (adapter === undefined || !enabled) return [];
    const mode = ofChannel.mode ?? defaultMode(adapter);
    return Object.entries(accounts)
      .filter(([, settings]) => settings.enabled !== false)
      .map(([account, settings]) => ({ channel, account, adapter, mode, settings, ofChannel }));
  });
}

/** How messages come in, if the configuration does not say. */
export function defaultMode(adapter: string): BotAccount['mode'] {
  return CHANNEL_ADAPTERS[adapter]?.modes[0] ?? 'socket';
}

/** The account of these names; undefined: none is configured, or it is disabled. */
export function findAccount(config: Config, channel: string, account: string): BotAccount | undefined {
  return listAccounts(config).find((each) => each.channel === channel && each.account === account);
}

/** The platform of an account, the same object for one configuration. Rejects with what is wrong with its settings. */
export function platformOf(config: Config, account: BotAccount): Promise<Platform> {
  const platforms = opened.get(config) ?? new Map<string, Promise<Platform>>();
  opened.set(config, platforms);
  const name = JSON.stringify([account.channel, account.account]);
  const known = platforms.get(name) ?? openPlatformOf(account);
  platforms.set(name, known);
  // A file with a token may be there at the next try.
  known.catch(() => platforms.delete(name));
  return known;
}

/** An account as it writes to a chat. */
export interface OpenedChat {
  platform: Platform;
  account: BotAccount;
  to: Destination;
}

/** The platform of a chat. Rejects with `PlatformError`. */
export async function openChat(config: Config, url: string): Promise<OpenedChat> {
  const { channel, accountId, ...to } = parseChannelUrl(url) as ChannelAddress;
  const account = findAccount(config, channel, accountId);
  if (account === undefined) {
    throw new PlatformError(
      'later',
      `There is no account channels.${channel}.accounts.${accountId}, or it is disabled.`,
      {
        retryAfterMs: UNAUTHORIZED_MS,
      },
    );
  }
  try {
    return { platform: await platformOf(config, account), account, to };
  } catch (cause) {
    const { message } = cause as Error;
    throw new PlatformError('later', message, { retryAfterMs: UNAUTHORIZED_MS, cause });
  }
}

async function openPlatformOf({ channel, account, adapter, mode, settings }: BotAccount): Promise<Platform> {
  const where = `channels.${channel}.accounts.${account}`;
  // The name of a package is that of a module with the same function.
  const load = ADAPTERS[adapter] ?? (() => import(adapter) as Promise<{ openPlatform?: OpenPlatform }>);
  const { openPlatform } = await load();
  if (typeof openPlatform !== 'function')
    throw new Error(`channels.${channel}.adapter: the package "${adapter}" exports no function openPlatform`);
  const { signingSecret, secretToken, appToken, baseUrl } = settings;
  const token = readToken(settings, where);
  return openPlatform({ channel, account, mode, token, ...given({ signingSecret, secretToken, appToken, baseUrl }) });
}

function readToken({ token, tokenEnv, tokenFile }: BotAccount['settings'], where: string): string {
  if (token !== undefined) return token;
  if (tokenEnv !== undefined) {
    const value = processEnvironment()[tokenEnv]?.trim();
    if (value) return value;
    throw new Error(`${where}.tokenEnv names ${tokenEnv}, which is not set: set it, or give another variable`);
  }
  if (tokenFile === undefined) throw new Error(`${where} has no token: give one of token, tokenEnv and tokenFile`);
  try {
    return readFileSync(tokenFile, 'utf8').trim();
  } catch (cause) {
    throw new Error(`${where}.tokenFile names ${tokenFile}, which cannot be read`, { cause });
  }
}
