// Decisions on the same dead letter at the same time: on all letters, and on the delivery of one.
// Method: a third transaction holds the second letter, so that the decision on all waits with the
// locks that it has until then; the other decision begins, and then the letter is freed.
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import pg from 'pg';
import type { DeliveryId } from '../../src/core/ids.ts';
import { newId } from '../../src/ids.ts';
import { discardLetters } from '../../src/features/dead-letters/letters.ts';
import { discardDelivery, redriveDelivery } from '../../src/features/deliveries/decide.ts';
import { claimDelivery } from '../../src/features/deliveries/store/claims.ts';
import { settleDelivery } from '../../src/features/deliveries/store/settle.ts';
import { readDeadLetters } from '../rows/dead-letters.ts';
import { readDeliveries } from '../rows/deliveries.ts';
import { lockRow } from '../rows/whole-tables.ts';
import { createStoreRig, goodEnd, type StoreRig } from './store-rig.ts';

let rig: StoreRig;
beforeAll(async () => {
  rig = await createStoreRig();
});
afterAll(() => rig.drop());

interface Letter {
  id: string;
  deliveryId: string;
}

/** The letter of a delivery that failed. */
async function failedDelivery(): Promise<Letter> {
  const sessionId = await rig.session();
  await rig.accept(rig.input(sessionId));
  const { write } = await rig.opened(sessionId);
  const reply = { id: newId<DeliveryId>(), channel: 'webhook', target: {}, payload: {}, expiresMs: 60_000 };
  await rig.finishTurn(goodEnd(write, { deliveries: [reply] }));
  const delivery = await claimDelivery(rig.database, { sessionId, owner: 'relay', leaseMs: 60_000 });
  const failed = { status: 'failed', lastStatus: 410, lastError: 'gone' } as const;
  await settleDelivery(rig.database, { delivery: delivery!, owner: 'relay', ...failed });
  const [letter] = await readDeadLetters(rig, { deliveryId: reply.id }, 'id', 'deliveryId');
  return letter as Letter;
}

async function connected(): Promise<{ client: pg.Client; pid: number }> {
  const client = new pg.Client({ connectionString: rig.url });
  await client.connect();
  onTestFinished(() => client.end());
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return { client, pid: rows[0]!.pid };
}

async function blockersOf(pid: number): Promise<number[]> {
  return (await rig.rows('select pg_blocking_pids($1) as pids', [pid]))[0]?.pids;
}

test.each([
  { decision: redriveDelivery, delivery: 'pending' },
  { decision: discardDelivery, delivery: 'discarded' },
])(
  'letters are discarded while $decision.name decides on one of them: one waits for the other',
  async ({ decision, delivery }) => {
    const letters = [await failedDelivery(), await failedDelivery()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
    const [first, second] = letters as [Letter, Letter];
    const [holder, all, one] = [await connected(), await connected(), await connected()];
    await holder.client.query('begin');
    await lockRow(holder.client, 'dead_letters', 'id', second.id);

    const keyless = [null, null, null];
    const ids = letters.map(({ id }) => id);
    const discarded = all.client.query<{ n: number }>(discardLetters.prepared([ids, null, null, ...keyless]));
    await expect.poll(() => blockersOf(all.pid)).toEqual([holder.pid]);
    const decided = one.client.query(decision.prepared([first.deliveryId, ...keyless]));
    await expect.poll(() => blockersOf(one.pid)).toEqual([all.pid]);
    await holder.client.query('commit');

    expect(await Promise.all([discarded, decided])).toMatchObject([
      { rows: [{ n: 2 }] },
      { rows: [{ is_changed: true }] },
    ]);
    const states = await readDeadLetters(rig, { id: ids }, 'state', 'deliveryId');
    expect(states.map(({ state }) => state)).toEqual(['discarded', 'discarded']);
    const statuses = states.map(({ deliveryId }) => readDeliveries(rig, { id: deliveryId! }, 'status'));
    expect((await Promise.all(statuses)).flat()).toEqual([{ status: delivery }, { status: 'discarded' }]);
  },
);
