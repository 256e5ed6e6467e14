// What workers claim of a rate limit, in the database.
import { beforeAll, afterAll, expect, test } from 'vitest';
import { noCalls } from '../../src/features/limits/rules/share-calls.ts';
import { openRateWindows, claimRates, type RateAsk } from '../../src/features/limits/claim-rates.ts';
import { changeRateWindows } from '../rows/pauses.ts';
import { earlier } from '../rows/table.ts';
import { createStoreRig, type StoreRig } from './store-rig.ts';

let rig: StoreRig;
beforeAll(async () => (rig = await createStoreRig()));
afterAll(() => rig.drop());

/** Without a refill, so that the result does not depend on time. */
function ask(limitId: string, wanted: number, more: Partial<RateAsk> = {}): RateAsk {
  return {
    limitId,
    unit: 'requests',
    capacity: 100,
    perSecond: 0,
    wanted,
    owed: 0,
    remaining: null,
    demand: noCalls(),
    ...more,
  };
}

const take = async (worker: string, one: RateAsk) => (await claimRates(rig.database, worker, [one]))[0];

test('many workers together take no more than the limit has', async () => {
  await Promise.all(Array.from({ length: 4 }, () => openRateWindows(rig.database, [ask('shared', 0)])));
  const shares = await Promise.all(Array.from({ length: 16 }, (_, worker) => take(`w${worker}`, ask('shared', 7))));
  const claimed = shares.map((share) => share?.claimed ?? 0);
  expect(claimed.reduce((sum, amount) => sum + amount, 0)).toBe(100);
  expect(claimed.filter((amount) => amount === 7)).toHaveLength(14);
  expect(await take('late', ask('shared', 7))).toMatchObject({ claimed: 0, left: 0 });
});

test('what is returned is available to others, up to the size of the limit', async () => {
  await openRateWindows(rig.database, [ask('returned', 0)]);
  await take('one', ask('returned', 60));
  expect(await take('one', ask('returned', -50))).toMatchObject({ left: 90 });
  expect(await take('other', ask('returned', -50))).toMatchObject({ left: 100 });
});

test('what calls used beyond what was claimed for them is subtracted from the following ones', async () => {
  await openRateWindows(rig.database, [ask('owed', 0)]);
  expect(await take('one', ask('owed', 10, { owed: 120 }))).toMatchObject({
    claimed: 0,
    left: -20,
  });
});

test("the remaining amount that the provider reports lowers the limit's, and never raises it", async () => {
  await openRateWindows(rig.database, [ask('said', 0)]);
  expect(await take('one', ask('said', 0, { remaining: 3 }))).toMatchObject({ left: 3 });
  expect(await take('one', ask('said', 0, { remaining: 50 }))).toMatchObject({ left: 3 });
});

test('a limit refills by the clock of the database', async () => {
  await openRateWindows(rig.database, [ask('refilled', 0)]);
  await take('one', ask('refilled', 100));
  await changeRateWindows(rig, { limitId: 'refilled' }, { refilledAt: earlier('10 seconds') });
  const share = await take('one', ask('refilled', 100, { perSecond: 2 }));
  expect(share?.claimed).toBeGreaterThanOrEqual(20);
  expect(share?.claimed).toBeLessThan(60);
});

test('each worker learns the demand of the others, by lane', async () => {
  await openRateWindows(rig.database, [ask('wanted', 0)]);
  await take('one', ask('wanted', 0, { demand: { ...noCalls(), main: 2, batch: 5 } }));
  await take('two', ask('wanted', 0, { demand: { ...noCalls(), batch: 1 } }));
  const share = await take('three', ask('wanted', 0, { demand: { ...noCalls(), cron: 9 } }));
  expect(share).toMatchObject({ main: 2, subagent: 0, cron: 0, batch: 6 });
});
