// Reads the accounts that are polled or have a socket, in workers, because what is downloaded must
// lie where turns read it. One process reads an account: the one that holds its lease. It stores
// how far it has read after everything before is committed, with its epoch, so a process that was
// paused past its lease stores nothing and asks nothing more, except what its platform would not
// send again (`readsOnce`).
import { systemClock, pause } from '../../clock.ts';
import { cutHead } from '../../core/text.ts';
import { newId } from '../../ids.ts';
import type { Process, ProcessPart } from '../../kernel/process-part.ts';
import { keepLease, type Lease } from '../../lease-keeper.ts';
import { every, trims } from '../../kernel/queue/start-rounds.ts';
import { listAccounts, platformOf, type BotAccount } from './accounts.ts';
import { removeLeftOver } from './live/finish-preview.ts';
import { PlatformError, type Platform, type Received } from './platform.ts';
import { type ReceiveResult, createReceive, type Receive } from './receive.ts';
import {
  claimAccount,
  IS_FREE_SQL,
  noteAccounts,
  noteConnected,
  noteLost,
  releaseAccount,
  renewAccount,
  storePosition,
  type AccountHold,
} from './store/accounts.ts';
import { trimContext } from './store/context.ts';
import { trimPreviews } from './store/previews.ts';
import { trimFiles } from './message-body.ts';

const PAUSE_MS = { first: 0, min: 200, max: 2_000 };
const BACKOFF_MS = { min: 1_000, max: 60_000 };
const IDENTIFY_MS = 10_000;
const ERROR_CHARS_MAX = 1_000;
/** How long commits of what the platform will not send again are repeated. */
const KEEP_MS_MAX = 60 * 60_000;
const TRIM_MS = 10 * 60_000;
/** How often previews are removed that a crash has left. */
const LEFT_OVER_MS = 10_000;

type Polling = Pick<Process, 'service' | 'logger' | 'identity'>;

/** Without such an account nothing runs. */
export async function openChannels(process: Polling): Promise<ProcessPart> {
  const { config, database } = process.service;
  const accounts = listAccounts(config);
  if (accounts.length === 0) return {};
  const read = accounts.filter(({ mode }) => mode !== 'webhook');
  const receive = createReceive(process);
  if (read.length > 0) await noteAccounts(database, read);
  return {
    rounds: [
      trims('messages that were kept as context', () => trimContext(database), TRIM_MS),
      trims('previews', () => trimPreviews(database), TRIM_MS),
      {
        round: () => trimFiles(process.service),
        pauseMs: every(TRIM_MS),
        failure: 'Old files of chats could not be deleted; the next round retries',
      },
      {
        work: { sql: 'exists (select from holdfast.channel_previews p where not p.is_final)' },
        round: () => removeLeftOver({ config, database }, null),
        pauseMs: every(LEFT_OVER_MS),
        failure: 'Previews that were left could not be removed; the next round retries',
      },
      ...read.map((account) => ({
        work: { sql: IS_FREE_SQL, values: () => nameOf(account) },
        round: (signal: AbortSignal) => readAccount({ ...process, receive }, account, signal),
        pauseMs: PAUSE_MS,
        failure: `Account ${account.channel}/${account.account} could not be read; the next round retries`,
      })),
    ],
  };
}

/**
 * One round: reads the account until the lease is lost, the process drains, or a statement fails.
 * Answers whether this process held it.
 */
async function readAccount(
  process: Polling & { receive: Receive },
  account: BotAccount,
  draining: AbortSignal,
): Promise<boolean> {
  const { database, config } = process.service;
  const { leaseMs } = config.runtime;
  const owner = `${process.identity.name}:${newId<string>()}`;
  const { channel, account: name } = account;
  const askedAtMs = systemClock.monotonicMs();
  const epoch = await claimAccount(database, { channel, account: name, owner, leaseMs });
  if (epoch === null) return false;
  const hold = { channel, account: name, owner, epoch };
  const { lease, stop } = keepLease({
    id: `${channel}/${name}`,
    leaseMs,
    askedAtMs,
    clock: systemClock,
    of: 'accounts of channels',
    outages: database.outages,
    renew: () => renewAccount(database, hold, leaseMs),
    release: () => releaseAccount(database, hold),
  });
  try {
    const signal = AbortSignal.any([draining, lease.signal]);
    const mayRead = (): boolean => !draining.aborted && lease.isTrusted;
    await readUntilLost({ ...process, account, hold, lease, signal, mayRead });
  } finally {
    await stop();
  }
  return true;
}

interface Reading extends Polling {
  receive: Receive;
  account: BotAccount;
  hold: AccountHold;
  /** What was received may be committed while it can be trusted, also while the process drains. */
  lease: Lease;
  /** Aborts when the lease is lost, or the process drains. */
  signal: AbortSignal;
  /** Whether it may ask for more. */
  mayRead: () => boolean;
}

async function readUntilLost(reading: Reading): Promise<void> {
  const { service, logger, account, hold, signal, mayRead } = reading;
  for (let failures = 0; mayRead();) {
    try {
      await readPlatform(reading, { isNew: failures === 0, worked: () => (failures = 0) });
      return;
    } catch (error) {
      if (!mayRead()) return;
      if (!(error instanceof PlatformError)) throw error;
      failures += 1;
      await noteLost(service.database, { ...hold, error: cutHead(error.message, ERROR_CHARS_MAX) });
      if (failures === 1)
        logger.warn({ err: error, ...nameOf(account) }, 'Channel cannot be reached; it is tried again');
      await pause(delayMs(failures, error), signal);
    }
  }
}

function nameOf({ channel, account }: BotAccount) {
  return { channel, account };
}

// Without a valid token, asking often is of no use.
function delayMs(failures: number, { kind, retryAfterMs = 0 }: PlatformError): number {
  const grown = kind === 'unauthorized' ? BACKOFF_MS.max : BACKOFF_MS.min * 2 ** Math.min(failures - 1, 10);
  return Math.max(Math.min(grown, BACKOFF_MS.max), retryAfterMs);
}

/**
 * Reads until the account is not held any more. After a failure, it counts as connected again when
 * it was read: a platform may only say who the bot is.
 */
async function readPlatform(
  reading: Reading,
  { isNew, worked }: { isNew: boolean; worked: () => void },
): Promise<void> {
  const { service, account, hold, signal, mayRead } = reading;
  const platform = await openAccount(reading);
  const opened = { ...reading, platform };
  const { id: botId } = await platform.identify(AbortSignal.any([signal, AbortSignal.timeout(IDENTIFY_MS)]));
  const begun = await noteConnected(service.database, { ...hold, botId, isWorking: isNew });
  if (begun === null) return;
  let isNoted = isNew;
  const noteWork = async (): Promise<void> => {
    worked();
    if (!isNoted) await noteConnected(service.database, { ...hold, botId, isWorking: true });
    isNoted = true;
  };
  let { position } = begun;
  if (account.mode === 'socket' && platform.listen !== undefined) {
    const commit = async (received: Received[], next: string | null): Promise<void> => {
      while (!(await commitReceived(opened, received, next)).isDone);
      await noteWork();
    };
    return platform.listen(position, commit, signal);
  }
  if (platform.poll === undefined) throw new PlatformError('refused', `${platform.name} has no mode "${account.mode}"`);
  while (mayRead()) {
    const { received, position: next } = await platform.poll(position, signal);
    await noteWork();
    if (received.length === 0 && next === position) continue;
    if ((await commitReceived(opened, received, next)).isDone) position = next;
  }
}

/** The settings of an account can be wrong, which is no fault of the database. */
async function openAccount({ service, account }: Reading): Promise<Platform> {
  try {
    return await platformOf(service.config, account);
  } catch (error) {
    throw new PlatformError('unauthorized', (error as Error).message, { cause: error });
  }
}

type Opened = Reading & { platform: Platform };

/**
 * Commits what was received, and then the position. Not done: too many messages wait. Rejects when
 * the lease is over.
 */
async function commitReceived(
  opened: Opened,
  received: Received[],
  position: string | null,
): Promise<{ isDone: boolean }> {
  const { service, receive, account, platform, hold, lease, signal, mayRead } = opened;
  const result = await (platform.readsOnce
    ? receiveOnce(opened, received)
    : receive(account, received, () => lease.isTrusted));
  if (result.kind === 'full' && mayRead()) {
    await pause(result.retryAfterMs, signal);
    return { isDone: false };
  }
  const read = { ...hold, position, isNew: received.length > 0 };
  const isHeld = result.kind === 'done' && lease.isTrusted && (await storePosition(service.database, read));
  if (!isHeld) throw new PlatformError('later', 'the lease of the account is over');
  return { isDone: true };
}

/**
 * The platform will not send it again, so it is committed also when another process holds the
 * account by now, and tried again while the database is away.
 */
async function receiveOnce({ receive, account, logger }: Opened, received: Received[]): Promise<ReceiveResult> {
  const untilMs = systemClock.monotonicMs() + KEEP_MS_MAX;
  for (let tries = 1; ; tries += 1) {
    const isLast = systemClock.monotonicMs() > untilMs;
    try {
      const result = await receive(account, received);
      if (result.kind !== 'full' || isLast) return result;
    } catch (error) {
      if (isLast) throw error;
      if (tries === 1)
        logger.warn(
          { err: error, ...nameOf(account) },
          'Message of a channel cannot be committed yet; it is tried again',
        );
    }
    await pause(BACKOFF_MS.min);
  }
}
