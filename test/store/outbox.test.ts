// The outbox as rows: order, leases and the end of a delivery. Sending is tested in
// test/workers/outbox-relay.test.ts.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DeliveryId, SessionId } from '../../src/core/ids.ts';
import { newId } from '../../src/ids.ts';
import { redriveDelivery } from '../../src/features/deliveries/store/redrive-delivery.ts';
import {
  claimDelivery,
  readDueDeliveries,
  settleDelivery,
  type ClaimedDelivery,
  type DeliverySettlement,
} from '../../src/features/deliveries/store/outbox.ts';
import { readDeadLetters } from '../rows/dead-letters.ts';
import { readDeliveries } from '../rows/deliveries.ts';
import { createStoreRig, goodEnd, type StoreRig } from './store-rig.ts';

let rig: StoreRig;
beforeAll(async () => {
  rig = await createStoreRig();
});
afterAll(() => rig.drop());

/** A session with these many replies in its outbox. */
async function withReplies(count: number, expiresMs = 60_000) {
  const sessionId = await rig.session();
  await rig.accept(rig.input(sessionId));
  const { write } = await rig.opened(sessionId);
  const ids = Array.from({ length: count }, () => newId<DeliveryId>());
  const deliveries = ids.map((id) => ({ id, channel: 'webhook', target: {}, payload: {}, expiresMs }));
  await rig.finishTurn(goodEnd(write, { deliveries }));
  return { sessionId, ids };
}

const claim = (sessionId: SessionId, owner = 'relay', leaseMs = 60_000) =>
  claimDelivery(rig.database, { sessionId, owner, leaseMs });

const settle = (delivery: ClaimedDelivery | null, more: Partial<DeliverySettlement>) =>
  settleDelivery(rig.database, {
    delivery: delivery!,
    owner: 'relay',
    status: 'sent',
    lastStatus: 200,
    lastError: null,
    delayMs: 0,
    ...more,
  });

const statusOf = async (id: string | undefined): Promise<unknown> =>
  (await readDeliveries(rig, { id }, 'status'))[0]?.status;

test('a later reply cannot be claimed before the earlier one is settled (G21)', async () => {
  const { sessionId, ids } = await withReplies(2);
  const first = await claim(sessionId);
  expect(first).toMatchObject({ id: ids[0], attempts: 1 });
  expect(await claim(sessionId, 'another relay')).toBeNull();
  await settle(first, {});
  expect(await claim(sessionId)).toMatchObject({ id: ids[1] });
});

test('a reply that has to wait is not claimed early, and no later one overtakes it (G21)', async () => {
  const { sessionId, ids } = await withReplies(2);
  await settle(await claim(sessionId), { status: 'pending', lastStatus: 503, delayMs: 60_000 });
  expect(await statusOf(ids[0])).toBe('pending');
  expect(await claim(sessionId)).toBeNull();
});

test('after the lease another relay claims the reply, and the first one writes nothing more', async () => {
  const { sessionId, ids } = await withReplies(1);
  const slow = await claim(sessionId, 'relay', 0);
  expect(await claim(sessionId, 'another relay')).toMatchObject({ id: ids[0], attempts: 2 });
  await settle(slow, {});
  expect(await statusOf(ids[0])).toBe('sending');
});

test('a reply that fails permanently is a dead letter, and the next one is due', async () => {
  const { sessionId, ids } = await withReplies(2);
  await settle(await claim(sessionId), { status: 'failed', lastStatus: 410, lastError: 'gone' });
  expect(await readDeadLetters(rig, { deliveryId: ids[0] }, 'kind', 'reason')).toEqual([
    { kind: 'delivery', reason: 'gone' },
  ]);
  expect((await readDueDeliveries(rig.database)).rings.map((due) => due.sessionId)).toContain(sessionId);
});

test('a reply that is too old is not claimed: it expires, once, and is a dead letter that can be redriven', async () => {
  const { sessionId, ids } = await withReplies(1, 0);
  expect(await claim(sessionId)).toBeNull();
  const { expired } = await readDueDeliveries(rig.database);
  expect(expired).toEqual([
    { id: ids[0], sessionId, turnId: expect.any(String), channel: 'webhook', attempts: 0, lastStatus: null },
  ]);
  expect((await readDueDeliveries(rig.database)).expired).toEqual([]);
  expect(await statusOf(ids[0])).toBe('expired');

  expect(await readDeadLetters(rig, { deliveryId: ids[0] }, 'code', 'state', 'reason')).toEqual([
    { code: 'delivery_expired', state: 'open', reason: 'It expired before it could be sent.' },
  ]);
  expect(await redriveDelivery(rig.database, String(ids[0]))).toBe('done');
  expect(await statusOf(ids[0])).toBe('pending');
  expect(await readDeadLetters(rig, { deliveryId: ids[0] }, 'code', 'state', 'reason')).toMatchObject([
    { state: 'redriven' },
  ]);
});
