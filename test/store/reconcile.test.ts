// `reconcile`: which sessions are rung again, from the rows alone. The worker's part is tested in
// test/workers/reconciler.test.ts.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SessionId } from '../../src/core/ids.ts';
import { countRings, selectStaleRings } from '../../src/kernel/queue/reconcile.ts';
import { changeDoorbells, readDoorbells } from '../rows/doorbells.ts';
import { changeSessions } from '../rows/sessions.ts';
import { ago, now } from '../rows/table.ts';
import { createStoreRig, type StoreRig } from './store-rig.ts';

let rig: StoreRig;
beforeAll(async () => {
  rig = await createStoreRig();
});
afterAll(() => rig.drop());

async function waiting(): Promise<SessionId> {
  const sessionId = await rig.session();
  await rig.accept(rig.input(sessionId));
  return sessionId;
}

const select = (staleAfterMs: number, room = 100) =>
  selectStaleRings(rig.database, { staleAfterMs, lanes: [{ lane: 'main', room }] });

const ids = ({ stale }: Awaited<ReturnType<typeof select>>): string[] => stale.map(({ sessionId }) => sessionId);

test('an old ring is selected, a recent one is not, and the next deadline is returned (G22)', async () => {
  const sessionId = await waiting();
  const fresh = await select(60_000);
  expect(ids(fresh)).not.toContain(sessionId);
  expect(fresh.nextInMs).toBeGreaterThan(0);
  expect(ids(await select(0))).toContain(sessionId);
  // It now counts as rung.
  expect(ids(await select(60_000))).not.toContain(sessionId);
});

test('a session that a worker holds is not selected before its lease has expired (G10)', async () => {
  const sessionId = await waiting();
  await rig.claimed(sessionId, 'worker-1', 60_000);
  expect(ids(await select(0))).not.toContain(sessionId);
  await changeSessions(rig, { id: sessionId }, { leaseExpiresAt: now });
  const { stale } = await select(60_000);
  expect(stale.find((ring) => ring.sessionId === sessionId)).toMatchObject({ isAbandoned: true });
});

test('a lane gets as many as it has room for, oldest first', async () => {
  await select(0);
  const [older] = [await waiting(), await waiting()];
  await changeDoorbells(rig, { sessionId: older }, { rungAt: ago('1 hour'), dueAt: ago('2 hours') });
  expect(ids(await select(0, 1))).toEqual([older]);
});

test('of two reconcilers that read the same ring one counts it', async () => {
  const sessionId = await waiting();
  const { stale } = await select(0);
  const own = stale.filter((ring) => ring.sessionId === sessionId);
  expect(own).toHaveLength(1);
  const counted = await Promise.all([countRings(rig.database, own), countRings(rig.database, own)]);
  const ring = { kind: 'inbound', sessionId, lane: 'main', ringNo: (own[0]?.ringNo ?? 0) + 1 };
  expect(counted.flatMap(({ after }) => after?.rings)).toEqual([ring]);
});

test('a session that a worker has claimed since it was selected is not rung for again', async () => {
  const sessionId = await waiting();
  const { stale } = await select(0);
  const own = stale.filter((ring) => ring.sessionId === sessionId);
  await rig.claimed(sessionId, 'worker-1', 60_000);
  expect((await countRings(rig.database, own)).rings).toBe(0);
  await changeSessions(rig, { id: sessionId }, { leaseExpiresAt: now });
  expect((await countRings(rig.database, own)).rings).toBe(1);
});

test('of several rings of one statement, each is old later than the one before it', async () => {
  const sessions = [await waiting(), await waiting(), await waiting()];
  const epochs = await Promise.all(sessions.map((id) => rig.claimed(id, 'worker-1', 60_000)));
  // They share a statement.
  await Promise.all(epochs.map(({ session }) => rig.release({ sessionId: session.id, epoch: session.epoch })));
  const [first, second, third] = (await readDoorbells(rig, { sessionId: sessions }, 'rungAt'))
    .map(({ rungAt }) => rungAt.getTime())
    .toSorted((one, other) => one - other);
  expect([second! - first!, third! - second!]).toEqual([2, 2]);
});
