// Old events are deleted from the beginning of the log, and a mark stores up to which id.
import { beforeEach, expect, test } from 'vitest';
import { trimEvents } from '../../../src/features/retention/rounds.ts';
import { findTrimmed, readEvents as pageOfEvents } from '../../../src/kernel/views/events.ts';
import { addEvents, changeEvents, readEvents, removeEvents } from '../../rows/events.ts';
import { ago, below } from '../../rows/table.ts';
import { changeRollUpCursor } from '../../rows/usage.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';
import { createStoreRig, type StoreRig } from '../../store/store-rig.ts';
import { EVERYTHING } from '../../../src/core/scope.ts';

const HOUR_MS = 3_600_000;

let rig: StoreRig;
shareAmongTests(async (onEnd) => {
  const made = await createStoreRig();
  rig = made;
  onEnd(() => made.drop());
});

beforeEach(async () => {
  await removeEvents(rig.database.views);
  await changeRollUpCursor(rig.database.views, {}, { afterId: 1000 });
});

/** Writes events with these ids and ages. */
async function writeEvents(hoursById: Record<number, number>): Promise<void> {
  const started = { type: 'turn.started', data: { kept: true } };
  const ages = Object.entries(hoursById);
  await addEvents(
    rig,
    ...ages.map(([id, hours]) => ({ id: Number(id), ...started, createdAt: ago(`${hours} hours`) })),
  );
}

const trim = () => trimEvents(rig.database, HOUR_MS);
const left = () => readEvents(rig, {}, 'id', 'type', 'data');
const mark = (id: number) => ({ id, type: 'log.trimmed', data: {} });
const event = (id: number) => ({ id, type: 'turn.started', data: { kept: true } });

test('the newest of the deleted events becomes a mark, which the next trim moves on', async () => {
  await writeEvents({ 1: 9, 2: 8, 3: 7, 4: 0 });
  expect(await trim()).toBe(false);
  expect(await left()).toEqual([mark(3), event(4)]);
  await writeEvents({ 5: 0 });
  await trim();
  expect(await left()).toEqual([mark(3), event(4), event(5)]);
  await changeEvents(rig.database.views, { id: below(5) }, { createdAt: ago('2 hours') });
  await trim();
  expect(await left()).toEqual([mark(4), event(5)]);
});

test('nothing after an event that is kept is deleted, so a reader misses nothing above the mark', async () => {
  await writeEvents({ 1: 9, 2: 0, 3: 9 });
  await trim();
  expect(await left()).toEqual([mark(1), event(2), event(3)]);
});

test('readers get no mark, and learn whether events after their last id were deleted', async () => {
  await writeEvents({ 1: 9, 2: 8, 3: 0 });
  const db = rig.database.views;
  const idsAfter = async (after: bigint) =>
    (await pageOfEvents(db, { scope: EVERYTHING }, { after, limit: 10 })).events.map(({ id }) => id);
  expect([await idsAfter(0n), await findTrimmed(db, 0n)]).toEqual([[1n, 2n, 3n], null]);
  await trim();
  expect(await idsAfter(0n)).toEqual([3n]);
  const trimmed = await Promise.all([0n, 1n, 2n, 3n, 4n].map((after) => findTrimmed(db, after)));
  expect(trimmed).toEqual([expect.any(String), expect.any(String), null, null, null]);
});

test('a trim deletes a bounded number of events, and returns whether there may be more', async () => {
  const started = { type: 'turn.started', data: {}, createdAt: ago('9 hours') };
  await addEvents(rig, ...Array.from({ length: 6000 }, (_, n) => ({ id: n + 1, ...started })));
  await changeRollUpCursor(rig.database.views, {}, { afterId: 10000 });
  expect(await trim()).toBe(true);
  expect((await left())[0]).toEqual(mark(5000));
  expect(await trim()).toBe(false);
  expect(await left()).toEqual([mark(6000)]);
});
