// A round of the reconciler reads only due rows. The test compares the pages that its statement
// reads, not times.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { selectStaleRings } from '../../src/kernel/queue/reconcile.ts';
import { addManyDoorbells, addManySessions } from '../rows/many-rows.ts';
import { createStoreRig, type StoreRig } from './store-rig.ts';

let rig: StoreRig;
beforeAll(async () => {
  rig = await createStoreRig();
});
afterAll(() => rig.drop());

test('a round of the reconciler reads at most twice as many pages with 100,000 parked turns as with none', async () => {
  const pagesRead = async (): Promise<number> => {
    const { text, values } = selectStaleRings.prepared([60_000, ['main'], [100]]);
    const [row] = await rig.rows(`explain (analyze, buffers, format json) ${text}`, values);
    const [{ Plan: plan }] = (row as { 'QUERY PLAN': [{ Plan: Record<string, number> }] })['QUERY PLAN'];
    return (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);
  };
  // The sessions exist before, because the size of their table changes the plan.
  await addManySessions(rig, 'due', 100);
  await addManySessions(rig, 'parked', 100_000);
  await addManyDoorbells(rig, 'due', 100, '0 s');
  // The first reading after a change sets hint bits and reads the catalogue.
  await pagesRead();
  const before = await pagesRead();
  // Half of them wait for a known time; the others have no doorbell.
  await addManyDoorbells(rig, 'parked', 50_000, '1 hour');
  await pagesRead();
  expect(await pagesRead()).toBeLessThanOrEqual(2 * before);
});
