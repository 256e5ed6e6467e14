// `commit-step`: one step in the middle of a turn, alone and in a statement with the steps of other turns.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EntryId } from '../../src/core/ids.ts';
import { readEntries } from '../rows/entries.ts';
import { answer, createStoreRig, type StoreRig } from './store-rig.ts';

let rig: StoreRig;
beforeAll(async () => {
  rig = await createStoreRig();
});
afterAll(() => rig.drop());

async function running() {
  const sessionId = await rig.session();
  await rig.accept(rig.input(sessionId));
  return { sessionId, ...(await rig.opened(sessionId)) };
}

const entriesOf = (turnId: string) => readEntries(rig, { turnId }, 'kind', 'seq');

test('a step appends its entries after the prompt and returns the number of waiting messages', async () => {
  const { sessionId, turnId, write } = await running();
  await rig.accept(rig.input(sessionId));
  const verdict = await rig.commitStep({ ...write, entries: [answer('one'), answer('two')] });
  expect(verdict).toMatchObject({ kind: 'ok', stop: null, waiting: 1 });
  expect(await entriesOf(turnId)).toEqual([
    { kind: 'prompt', seq: 1 },
    { kind: 'answer', seq: 2 },
    { kind: 'answer', seq: 3 },
  ]);
});

test('a step that is sent again is stored once (G23)', async () => {
  const { turnId, write } = await running();
  const step = { ...write, entries: [answer('once')] };
  expect(await rig.commitStep(step)).toMatchObject({ kind: 'ok' });
  expect(await rig.commitStep(step)).toMatchObject({ kind: 'ok' });
  expect(await entriesOf(turnId)).toHaveLength(2);
});

test('a step of an earlier epoch is fenced, and the other turns of its statement are stored (G7)', async () => {
  const [stale, current] = [await running(), await running()];
  const old = { ...stale.write, fence: { ...stale.write.fence, epoch: stale.write.fence.epoch - 1 } };
  const verdicts = await Promise.all([
    rig.commitStep({ ...old, entries: [answer('late')] }),
    rig.commitStep({ ...current.write, entries: [answer('in time')] }),
  ]);
  expect(verdicts).toMatchObject([{ kind: 'fenced' }, { kind: 'ok' }]);
  expect(await entriesOf(stale.turnId)).toHaveLength(1);
  expect(await entriesOf(current.turnId)).toHaveLength(2);
});

test('a step that PostgreSQL refuses fails alone, although it shares a statement with others', async () => {
  const turns = [await running(), await running(), await running()];
  const [first, bad, last] = await Promise.allSettled(
    turns.map(({ write }, index) => {
      const entry = answer(`step ${index}`);
      // The second has an id that is not a UUID.
      return rig.commitStep({ ...write, entries: [index === 1 ? { ...entry, id: 'no uuid' as EntryId } : entry] });
    }),
  );
  expect(first).toMatchObject({ status: 'fulfilled', value: { kind: 'ok' } });
  expect(last).toMatchObject({ status: 'fulfilled', value: { kind: 'ok' } });
  expect(bad).toMatchObject({ status: 'rejected', reason: { code: '22P02' } });
  const stored = await Promise.all(turns.map(({ turnId }) => entriesOf(turnId)));
  expect(stored.map((entries) => entries.length)).toEqual([2, 1, 2]);
});
