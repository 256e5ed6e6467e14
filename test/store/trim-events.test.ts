// Old events are deleted from the beginning of the log, and a mark stores up to which id.
import { beforeEach, expect, test } from 'vitest';
import { trimEvents } from '../../src/store/trim-events.ts';
import { findTrimmed, readEvents } from '../../src/store/views/events.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { createStoreRig, type StoreRig } from './store-rig.ts';

const HOUR_MS = 3_600_000;

let rig: StoreRig;
shareAmongTests(async (onEnd) => {
  const made = await createStoreRig();
  rig = made;
  onEnd(() => made.drop());
});

beforeEach(async () => {
  await rig.database.views.query('delete from holdfast.events');
  await rig.database.views.query('update holdfast.roll_up_cursor set after_id = 1000');
});

/** Writes events with these ids and ages. */
async function writeEvents(hoursById: Record<number, number>): Promise<void> {
  await rig.database.views.query(
    `insert into holdfast.events (id, type, data, created_at)
     select key::bigint, 'turn.started', '{"kept": true}', now() - value::int * interval '1 hour' from json_each_text($1)`,
    [JSON.stringify(hoursById)],
  );
}

const trim = () => trimEvents(rig.database, HOUR_MS);
const left = () => rig.rows('select id::int, type, data from holdfast.events order by id');
const mark = (id: number) => ({ id, type: 'log.trimmed', data: {} });
const event = (id: number) => ({ id, type: 'turn.started', data: { kept: true } });

test('the newest of the deleted events becomes a mark, which the next trim moves on', async () => {
  await writeEvents({ 1: 9, 2: 8, 3: 7, 4: 0 });
  expect(await trim()).toBe(false);
  expect(await left()).toEqual([mark(3), event(4)]);
  await writeEvents({ 5: 0 });
  await trim();
  expect(await left()).toEqual([mark(3), event(4), event(5)]);
  await rig.database.views.query(`update holdfast.events set created_at = now() - interval '2 hours' where id < 5`);
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
  const idsAfter = async (after: bigint) => (await readEvents(db, {}, { after, limit: 10 })).events.map(({ id }) => id);
  expect([await idsAfter(0n), await findTrimmed(db, 0n)]).toEqual([[1n, 2n, 3n], null]);
  await trim();
  expect(await idsAfter(0n)).toEqual([3n]);
  const trimmed = await Promise.all([0n, 1n, 2n, 3n, 4n].map((after) => findTrimmed(db, after)));
  expect(trimmed).toEqual([expect.any(String), expect.any(String), null, null, null]);
});

test('a trim deletes a bounded number of events, and returns whether there may be more', async () => {
  await rig.database.views.query(
    `insert into holdfast.events (id, type, data, created_at)
     select n, 'turn.started', '{}', now() - interval '9 hours' from generate_series(1, 6000) n`,
  );
  await rig.database.views.query('update holdfast.roll_up_cursor set after_id = 10000');
  expect(await trim()).toBe(true);
  expect((await left())[0]).toEqual(mark(5000));
  expect(await trim()).toBe(false);
  expect(await left()).toEqual([mark(6000)]);
});
