// Goal: a worker that is killed, or paused past its lease, at any round trip of reading a chat
// platform loses no message, keeps none twice and leaves the order of each chat (G1, G2). Method:
// record the round trips of a worker that claims an account of a scripted Telegram, reads it and
// leaves it, then play that again for each of them.
import { expect, test } from 'vitest';
import { startScriptedTelegram, type ScriptedTelegram } from '../../scripted-platform/telegram/scripted-telegram.ts';
import { GROUP, telegramChannel } from '../features/channels/channel-rig.ts';
import { pauseTelegram, readChats, readTelegram } from '../rows/channels.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { startCrashRig, type CrashRig } from './rig/crash-rig.ts';
import { kindOf } from './rig/statement-kinds.ts';
import { nameOfAny, strikeAny, type AnyPoint } from './rig/strike-any.ts';
import { everyPoint, isFullSweep, printPoints } from './rig/sweep-points.ts';
import { waitUntil } from './rig/wait-until.ts';

const SOON_MS = 240_000;
const PERSON = 77;
/**
 * What the worker does with the account and with what was received; the turns that follow have
 * sweeps of their own.
 */
const OF_CHANNELS = /channel|accept|session|paired/;

let rig: CrashRig;
let telegram: ScriptedTelegram;
let plays = 0;
/** The texts of each chat in the order in which they were written. */
const said = new Map<string, string[]>();

shareAmongTests(async (onEnd) => {
  telegram = await startScriptedTelegram();
  onEnd(() => telegram.close());
  const testDatabase = await withTestDatabase();
  onEnd(() => testDatabase.drop());
  const settings = { channels: telegramChannel(telegram, 'poll') };
  const made = await startCrashRig({ databaseUrl: testDatabase.url, workers: 2, settings });
  onEnd(() => made.close());
  rig = made;
});

function say(chat: number, text: string): void {
  telegram.say({ from: PERSON, ...(chat === PERSON ? {} : { chat }), text });
  if (chat !== PERSON && !text.startsWith('@')) return;
  said.set(String(chat), [...(said.get(String(chat)) ?? []), text]);
}

/**
 * The account is left and claimed; then people write. Resolves when Telegram has nothing more that
 * is not confirmed.
 */
async function play(): Promise<void> {
  plays += 1;
  await pauseTelegram(rig.database, true);
  await waitUntil('the account is left', SOON_MS, async () => (await readTelegram(rig.database)).isLeft);
  say(PERSON, `one ${plays}`);
  say(GROUP, `aside ${plays}`);
  await pauseTelegram(rig.database, false);
  say(GROUP, `@scripted_bot two ${plays}`);
  say(PERSON, `three ${plays}`);
  await waitUntil('everything is confirmed', SOON_MS, () => telegram.pendingUpdates().length === 0);
}

async function judge(): Promise<string[]> {
  const rows = await readChats(rig.database);
  return [...said].flatMap(([chat, texts]) => {
    const kept = rows.find((row) => row.chat === chat)?.texts ?? [];
    return JSON.stringify(kept) === JSON.stringify(texts)
      ? []
      : [`chat ${chat} has ${JSON.stringify(kept.slice(-4))} instead of ${JSON.stringify(texts.slice(-4))}`];
  });
}

// Other forms strike the main statements of every platform instead (channel-in.test.ts).
test.runIf(isFullSweep())(
  'a worker that dies or is paused while it reads an account loses and repeats no message',
  async () => {
    await play();
    expect(await judge()).toEqual([]);
    const trips = new Map<string, number>();
    const stops = rig.workers.map((worker) =>
      worker.proxy.onRoundTrip((trip) => {
        const isCounted =
          trip.outcome === 'pending' && trip.label.startsWith('holdfast:') && OF_CHANNELS.test(kindOf(trip));
        if (isCounted) trips.set(kindOf(trip), 1);
      }),
    );
    await play();
    for (const stop of stops) stop();
    expect([...trips.keys()]).toEqual(
      expect.arrayContaining(['claim-channel-account', 'note-channel-connected', 'store-channel-position']),
    );
    const all = (['kill', 'freeze'] as const).flatMap((fault) => everyPoint(trips, fault));
    printPoints('reading an account of a channel', all, all);
    const faults: string[] = [];
    let struck = 0;
    for (const point of all as AnyPoint[]) {
      const report = await strikeAny(rig.workers, point, { play, judge });
      if (report.isStruck) struck += 1;
      faults.push(...report.faults.map((fault) => `${nameOfAny(point)}: ${fault}`));
    }
    expect(faults).toEqual([]);
    expect(struck).toBeGreaterThanOrEqual(Math.floor(all.length * 0.75));
  },
);
