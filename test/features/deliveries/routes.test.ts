// The outbox as a list: its filters, its counts, one delivery with its attempts, and the reason of
// a discard.
import { describe, expect, test } from 'vitest';
import { newId } from '../../../src/ids.ts';
import { claimDelivery } from '../../../src/features/deliveries/store/claims.ts';
import { settleDelivery } from '../../../src/features/deliveries/store/settle.ts';
import type { SessionId } from '../../../src/core/ids.ts';
import { changeDeliveries, readDeliveries } from '../../rows/deliveries.ts';
import { useApiRig } from '../../api/use-api-rig.ts';

const holder = useApiRig();

/** A session with one delivery, on this channel. */
async function delivered(session: string): Promise<{ id: string; turnId: string; sessionId: string }> {
  const { rig } = holder;
  const deliver = { url: 'http://127.0.0.1:9/replies' };
  await rig.settle(session, '[[reply: Hello.]]', { deliver });
  const [row] = await readDeliveries(rig, { sessionKey: `agent:main:${session}` }, 'id', 'turnId', 'sessionId');
  return row as { id: string; turnId: string; sessionId: string };
}

/** Tries to send a delivery, without success. */
async function fail(sessionId: string, status: 'pending' | 'failed', httpStatus: number): Promise<void> {
  const { database } = holder.rig.turns;
  const owner = 'relay';
  const delivery = await claimDelivery(database, { sessionId: sessionId as SessionId, owner, leaseMs: 60_000 });
  if (delivery === null) throw new Error('no delivery is due');
  const lastError = `the receiver answered ${httpStatus}`;
  await settleDelivery(database, { delivery, owner, status, lastStatus: httpStatus, lastError });
}

async function idsOf(query: string): Promise<string[]> {
  return (await holder.rig.get(`/v1/deliveries?${query}`)).body.items.map(({ id }: { id: string }) => id);
}

describe('deliveries', () => {
  test('are found by status, channel, turn, and by q: an id, a session key or a part of an error', async () => {
    const one = await delivered('found');
    const other = await delivered('other');
    await fail(one.sessionId, 'failed', 410);
    expect(await idsOf('')).toEqual([other.id, one.id]);
    expect(await idsOf('status=failed')).toEqual([one.id]);
    expect(await idsOf('status=failed,pending&channel=webhook')).toEqual([other.id, one.id]);
    expect(await idsOf('channel=telegram')).toEqual([]);
    expect(await idsOf(`turn=${other.turnId}`)).toEqual([other.id]);
    for (const q of [one.id, one.turnId, 'found', 'agent:main:found', 'FOUN', 'answered 410'])
      expect(await idsOf(`q=${encodeURIComponent(q)}`), q).toEqual([one.id]);
    expect(await idsOf(`q=${newId()}`)).toEqual([]);
    expect(await idsOf('limit=1')).toEqual([other.id]);
  });

  test('are counted by status, with the time of the oldest', async () => {
    await changeDeliveries(holder.rig, {}, { status: 'sent' });
    const one = await delivered('counted');
    await delivered('counted-too');
    await fail(one.sessionId, 'failed', 500);
    const { items } = (await holder.rig.get('/v1/deliveries/count')).body;
    const { createdAt } = (await holder.rig.get(`/v1/deliveries/${one.id}`)).body;
    expect(items).toContainEqual({ status: 'failed', count: 1, isCapped: false, oldestAt: createdAt });
    expect(items).toContainEqual(expect.objectContaining({ status: 'pending', count: 1 }));
    expect(items).toContainEqual({ status: 'expired', count: 0, isCapped: false, oldestAt: null });
  });

  test('in the detail view have the results of their attempts', async () => {
    const one = await delivered('tried');
    await fail(one.sessionId, 'pending', 503);
    await fail(one.sessionId, 'failed', 410);
    const { body } = await holder.rig.get(`/v1/deliveries/${one.id}`);
    expect(body).toMatchObject({ attempts: 2, lastStatus: 410, payload: { text: 'Hello.' } });
    expect(body.log).toMatchObject([
      { attempt: 1, status: 'pending', httpStatus: 503 },
      { attempt: 2, status: 'failed', httpStatus: 410 },
    ]);
    expect((await holder.rig.get(`/v1/deliveries/${newId()}`)).status).toBe(404);
  });

  test('that wait are sent now; a status that does not allow a decision says what is possible', async () => {
    const { rig } = holder;
    const { id, sessionId } = await delivered('impatient');
    const decide = (verb: string) => rig.post(`/v1/deliveries/${id}/${verb}`);
    await fail(sessionId, 'pending', 503);
    expect((await decide('redrive')).body).toMatchObject({
      status: 409,
      detail: expect.stringMatching(/waits for its next attempt at .*"holdfast deliveries send /),
    });
    expect(await decide('send')).toMatchObject({ status: 200, body: { status: 'pending', attempts: 1 } });
    for (const [status, advice] of [
      ['sending', 'Wait for the result'],
      ['unknown', `deliveries redrive ${id}`],
      ['failed', `deliveries redrive ${id}`],
      ['sent', 'has acknowledged'],
    ] as const) {
      await changeDeliveries(rig, { id }, { status });
      expect((await decide('send')).body).toMatchObject({ status: 409, detail: expect.stringContaining(advice) });
    }
    expect((await rig.post(`/v1/deliveries/${newId()}/send`)).status).toBe(404);
  });

  test('are discarded with a reason, which the audit log keeps; and in bulk by channel and text', async () => {
    const { rig } = holder;
    const one = await delivered('given-up');
    const path = `/v1/deliveries/${one.id}/discard`;
    expect((await rig.post(path, { reason: 'the receiver is gone' })).body).toMatchObject({ status: 'discarded' });
    const { items } = (await rig.get('/v1/audit')).body;
    expect(items[0]).toMatchObject({ reason: 'the receiver is gone', outcome: 'ok' });
    expect((await rig.post(path)).status).toBe(200);
    const filter = { channel: 'webhook', q: 'given-up' };
    const bulk = { action: 'redrive', target: 'deliveries', filter, dryRun: true };
    expect((await rig.post('/v1/bulk-actions', bulk)).body).toEqual({ total: 1, ids: [one.id] });
    const none = { ...bulk, filter: { ...filter, channel: 'telegram' } };
    expect((await rig.post('/v1/bulk-actions', none)).body).toEqual({ total: 0, ids: [] });
    // It is discarded already.
    expect((await rig.post('/v1/bulk-actions', { ...bulk, action: 'discard' })).body.total).toBe(0);
  });
});
