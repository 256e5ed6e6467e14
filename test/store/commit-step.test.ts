// `commit-step`: one step in the middle of a turn, alone and in a statement with the steps of other
// turns.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EntryId } from '../../src/core/ids.ts';
import { readEntries } from '../rows/entries.ts';
import { readToolCalls } from '../rows/calls.ts';
import { createCommitStep, type KeepHeld } from '../../src/kernel/turn/journal/commit-step.ts';
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

test('a step is stored with what features keep of its held calls, or neither is, and is fenced before that (G7, G36)', async () => {
  const { turnId, write } = await running();
  const held = { step: 1, ordinal: 1, callId: 'call', name: 'tool', isIdempotent: false, forMs: 1000, events: [] };
  const heldIntents = [{ ...held, code: 'approval' as const, isNoticed: false }];
  const step = { ...write, entries: [answer('held')], heldIntents };
  const kept: string[] = [];
  const committing = (keep: KeepHeld) => createCommitStep(rig.database, new Map([['approval', keep]]));
  const refused = committing(async () => {
    throw new Error('refused');
  });
  await expect(refused(step)).rejects.toThrow('refused');
  expect([await entriesOf(turnId), await readToolCalls(rig, { turnId }, 'heldFor')]).toEqual([
    [{ kind: 'prompt', seq: 1 }],
    [],
  ]);
  // A fault that passes: all of it is sent again.
  const lost = Object.assign(new Error('lost'), { code: '08006' });
  const commit = committing(async (_tx, id, calls) => {
    if (kept.push(`${id} ${calls.length}`) === 1) throw lost;
  });
  expect(await commit(step)).toMatchObject({ kind: 'ok' });
  expect(kept).toEqual([`${turnId} 1`, `${turnId} 1`]);
  expect(await readToolCalls(rig, { turnId }, 'heldFor', 'runs')).toEqual([{ heldFor: 'approval', runs: 0 }]);
  const stale = { ...step, fence: { ...step.fence, epoch: step.fence.epoch - 1 } };
  expect(await commit(stale)).toEqual({ kind: 'fenced' });
  expect(kept).toHaveLength(2);
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
