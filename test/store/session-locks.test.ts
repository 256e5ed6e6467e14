import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TurnId } from '../../src/core/ids.ts';
import { newId } from '../../src/ids.ts';
import { renewLocks } from '../../src/kernel/sessions/session-locks.ts';
import { readEntries } from '../rows/entries.ts';
import { countSessions, expireLeases } from '../rows/sessions.ts';
import { above, ahead } from '../rows/table.ts';
import { answer, createStoreRig, goodEnd, newTurn, writeAfter, type StoreRig } from './store-rig.ts';

let rig: StoreRig;
beforeAll(async () => {
  rig = await createStoreRig();
});
afterAll(() => rig.drop());

/** Makes a lease expire without waiting for it. */
async function expire(sessionId: string): Promise<void> {
  await expireLeases(rig.database.views, { id: sessionId });
}

test('of many workers that claim simultaneously one gets the session (G7)', async () => {
  const sessionId = await rig.session();
  await rig.accept(rig.input(sessionId));
  const claims = await Promise.all(
    Array.from({ length: 16 }, (_, index) =>
      rig.claim({ sessionId, owner: `worker-${index}`, leaseMs: 60_000, known: { version: -1, seq: 0 } }),
    ),
  );
  expect(claims.filter((one) => one.kind === 'claimed')).toHaveLength(1);
});

test('a session without work is idle', async () => {
  const sessionId = await rig.session();
  const claim = await rig.claim({ sessionId, owner: 'w', leaseMs: 1000, known: { version: -1, seq: 0 } });
  expect(claim).toEqual({ kind: 'idle' });
});

test('every claim raises the epoch, and only the newest may write (G7)', async () => {
  const sessionId = await rig.session();
  await rig.accept(rig.input(sessionId));
  const zombie = await rig.opened(sessionId, 'zombie');
  await expire(sessionId);
  const heir = await rig.claimed(sessionId, 'heir');
  expect(heir.session.epoch).toBe(zombie.taken.session.epoch + 1);

  const verdicts = [
    await rig.commitStep({ ...zombie.write, entries: [answer('from beyond')] }),
    await rig.finishTurn(goodEnd(zombie.write)),
  ];
  expect(verdicts).toEqual([{ kind: 'fenced' }, { kind: 'fenced' }]);
  expect(await renewLocks(rig.database, 'zombie', 1000, [{ sessionId, epoch: zombie.taken.session.epoch }])).toEqual(
    new Set(),
  );
  expect(await rig.release({ sessionId, epoch: zombie.taken.session.epoch })).toEqual({
    after: { changed: [], rings: [] },
  });
  const entries = await readEntries(rig, { sessionId }, 'kind');
  expect(entries).toEqual([{ kind: 'prompt' }]);
});

test('a worker that was paused between claim and opening opens nothing (G7)', async () => {
  const sessionId = await rig.session();
  await rig.accept(rig.input(sessionId));
  const slept = await rig.claimed(sessionId, 'sleeper');
  await expire(sessionId);
  await rig.claimed(sessionId, 'heir');
  expect(await rig.openTurn(newTurn(slept, newId<TurnId>()))).toEqual({ kind: 'fenced' });
});

test('the lease is judged by the clock of the database (G8)', async () => {
  const sessionId = await rig.session();
  await rig.accept(rig.input(sessionId));
  await rig.claimed(sessionId, 'holder', 60_000);
  expect(await countSessions(rig, { id: sessionId, leaseExpiresAt: above(ahead('50 seconds')) })).toBe(1);
});

test('a crashed worker is counted when the next one claims its turn, a released turn is not (G17)', async () => {
  const sessionId = await rig.session();
  await rig.accept(rig.input(sessionId));
  await rig.opened(sessionId, 'first');
  await expire(sessionId);
  const second = await rig.claimed(sessionId, 'second');
  expect(second.openTurn).toMatchObject({ attempt: 2, deaths: 1 });
  await rig.release({ sessionId, epoch: second.session.epoch });
  const third = await rig.claimed(sessionId, 'third');
  expect(third.openTurn).toMatchObject({ attempt: 3, deaths: 1 });
});

test('a claim contains the last answer of a turn that ends at the same time', async () => {
  // Goal: a claim that waited for the row must not read the transcript as it was before the wait.
  for (let round = 0; round < 40; round += 1) {
    const sessionId = await rig.session();
    await rig.accept(rig.input(sessionId));
    const { write } = await rig.opened(sessionId, 'first');
    await rig.accept(rig.input(sessionId));
    const [, claim] = await Promise.all([
      rig.finishTurn(goodEnd(write)),
      rig.claim({ sessionId, owner: 'second', leaseMs: 1000, known: { version: -1, seq: 0 } }),
    ]);
    if (claim.kind !== 'claimed') continue;
    expect(claim.entries.map((entry) => entry.kind)).toEqual(['prompt', 'answer']);
    expect(claim.inputs).toHaveLength(1);
  }
});

test('a worker that remembers a transcript receives only the new entries', async () => {
  const sessionId = await rig.session();
  await rig.accept(rig.input(sessionId));
  const { write, taken } = await rig.opened(sessionId);
  await rig.finishTurn(goodEnd(write));
  await rig.accept(rig.input(sessionId));
  const known = { version: taken.session.transcriptVersion, seq: 1 };
  const claim = await rig.claim({ sessionId, owner: 'worker-1', leaseMs: 1000, known });
  expect(claim).toMatchObject({ kind: 'claimed', isWhole: false, entries: [{ seq: 2, kind: 'answer' }] });
});

test('a write that is sent again after an unknown COMMIT is in the journal once (G23)', async () => {
  const sessionId = await rig.session();
  await rig.accept(rig.input(sessionId));
  const { write, taken, turnId } = await rig.opened(sessionId);
  const step = { ...write, entries: [answer('once')] };
  expect([await rig.commitStep(step), await rig.commitStep(step)]).toMatchObject([{ kind: 'ok' }, { kind: 'ok' }]);
  const next = writeAfter(taken, turnId);
  const end = goodEnd({ ...next, fence: { ...next.fence, baseSeq: next.fence.baseSeq + 1 } });
  expect([await rig.finishTurn(end), await rig.finishTurn(end)]).toMatchObject([{ kind: 'ok' }, { kind: 'ok' }]);
  const entries = await readEntries(rig, { sessionId }, 'seq', 'kind');
  expect(entries).toEqual([
    { seq: 1, kind: 'prompt' },
    { seq: 2, kind: 'answer' },
    { seq: 3, kind: 'answer' },
  ]);
});
