// Receives what a platform sends by itself, which any process with the API may be sent.
import { systemClock } from '../../clock.ts';
import { createReceive, type Receive } from './receive.ts';
import { noteReceived, readPause } from './store/accounts.ts';

const NOTED_EVERY_MS = 5_000;

/** The same as `createReceive`, for accounts that no process holds: `lost` while an account is paused. */
export function createPush(process: Parameters<typeof createReceive>[0]): Receive {
  const { database } = process.service;
  const receive = createReceive(process);
  const notedAtMs = new Map<string, number>();
  return async (account, received) => {
    const name = { channel: account.channel, account: account.account };
    // Asked when it is the turn of the message, so that what arrives first is stored first.
    const result = await receive(account, received, async () => !(await readPause(database, name)));
    const key = JSON.stringify(name);
    const now = systemClock.monotonicMs();
    // Each request would write the row of the account otherwise.
    if (result.kind === 'done' && now - (notedAtMs.get(key) ?? Number.NEGATIVE_INFINITY) > NOTED_EVERY_MS) {
      notedAtMs.set(key, now);
      noteReceived(database, name).catch(() => undefined);
    }
    return result;
  };
}
