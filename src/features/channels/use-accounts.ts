// The accounts of the configuration with what is known of them, what people do with them, and tests of them.
import type { ChannelAccountView, ChannelTest, ChannelView } from '../../contract/channels.ts';
import type { Config } from '../../config.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import type { ViewDatabase } from '../../database/page.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { listAccounts, platformOf, type BotAccount } from './accounts.ts';
import { pauseAccount, readAccountStates, readWaitingParts } from './store/account-states.ts';
import type { AccountName } from './store/accounts.ts';

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

/** An account that was connected and that no process holds any more is lost: its process has crashed, and no other one has taken it over. */
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

/** Asks the platform of an account who it is and what is wrong. Changes nothing, and never rejects. */
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
