// The accounts of bots that the configuration names: the platform of each, what is known of it, and
// tests of it. The code of a platform is loaded when an account of it is first used.
import { readFileSync } from 'node:fs';
import { processEnvironment, type Config } from '../../config.ts';
import { CHANNEL_ADAPTERS } from '../../config/schema-channels.ts';
import { given } from '../../core/json.ts';
import { parseChannelUrl, type ChannelAddress } from '../../core/channel-address.ts';
import type { ChannelAccountView, ChannelTest, ChannelView } from '../../contract/channels.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import type { ViewDatabase } from '../../database/page.ts';
import type { Process, ProcessPart } from '../../kernel/process-part.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { PlatformError, type AccountSettings, type Destination, type OpenPlatform, type Platform } from './platform.ts';
import { pauseAccount, readAccountStates, readWaitingParts, type AccountName } from './store/accounts.ts';

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

/**
 * The platform of an account, the same object for one configuration. Rejects with what is wrong
 * with its settings.
 */
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

/** How long the platform of a test may take, in milliseconds. */
const TEST_MS = 15_000;

/** The channels that have an adapter, in the order of the configuration. */
export async function viewChannels(config: Config, db: ViewDatabase): Promise<ChannelView[]> {
  const accounts = listAccounts(config);
  if (accounts.length === 0) return [];
  const [stored, waiting] = await Promise.all([readAccountStates(db), readWaitingParts(db)]);
  const isOf = (account: BotAccount) => (row: AccountName) =>
    row.channel === account.channel && row.account === account.account;
  return [...new Set(accounts.map(({ channel }) => channel))].map((name) => {
    const own = accounts.filter(({ channel }) => channel === name);
    const { adapter, mode } = own[0]!;
    const views = own.map((account): ChannelAccountView => {
      const row = stored.find(isOf(account));
      return {
        accountId: account.account,
        state: stateOf(mode, row),
        botId: row?.botId ?? null,
        connectedAt: row?.connectedAt ?? null,
        lastReceivedAt: row?.lastReceivedAt ?? null,
        lastError: row?.lastError ?? lostText(mode, row),
        waitingParts: waiting.find(isOf(account))?.count ?? 0,
      };
    });
    return { name, adapter, mode, accounts: views };
  });
}

type StoredRow = Awaited<ReturnType<typeof readAccountStates>>[number] | undefined;

/**
 * An account that was connected and that no process holds any more is lost: its process has
 * crashed, and no other one has taken it over.
 */
function stateOf(mode: BotAccount['mode'], row: StoredRow): ChannelAccountView['state'] {
  if (row === undefined) return 'waiting';
  if (row.isPaused) return 'paused';
  if (row.lastError !== null || lostText(mode, row) !== null) return 'lost';
  return row.connectedAt !== null || row.lastReceivedAt !== null ? 'connected' : 'waiting';
}

function lostText(mode: BotAccount['mode'], row: StoredRow): string | null {
  if (mode === 'webhook' || row === undefined || row.isPaused || row.connectedAt === null || row.isHeld) return null;
  return 'no process holds its connection: start a process with the role "worker"';
}

/** Pauses an account, or ends its pause. */
export function pauseOrResume(
  { database }: Service,
  pause: { channel: string; account: string; isPaused: boolean },
  idempotency: KeyedRequest | null,
): Promise<{ paused: boolean }> {
  return pauseAccount(database, pause, idempotency);
}

/**
 * Asks the platform of an account who it is and what is wrong. Changes nothing, and never rejects.
 */
export async function testAccount(config: Config, account: BotAccount): Promise<ChannelTest> {
  const signal = AbortSignal.timeout(TEST_MS);
  try {
    const platform = await platformOf(config, account);
    const { id, name } = await platform.identify(signal);
    const problems = (await platform.check?.(signal)) ?? [];
    return { botId: id, botName: name, error: null, problems };
  } catch (error) {
    return { botId: null, botName: null, error: (error as Error).message, problems: [] };
  }
}

/**
 * Loads the platforms that send requests when a process with the API starts, so that the first
 * request does not wait for it: Slack gives it 3 s. Never rejects: what is wrong with an account is
 * the answer to its requests.
 */
export async function loadWebhooks({ service: { config } }: Pick<Process, 'service'>): Promise<ProcessPart> {
  const accounts = listAccounts(config).filter(({ mode }) => mode === 'webhook');
  await Promise.allSettled(accounts.map((account) => platformOf(config, account)));
  return {};
}
