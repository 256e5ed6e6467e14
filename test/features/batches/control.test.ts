// The actions of people and guards on a batch: pilot, failure rate, cost cap, deadline, pause,
// resume, cancel, retry, delete; and its webhook.
import { beforeEach, describe, expect, test } from 'vitest';
import { webhookPayloads } from '../../../src/contract/webhooks.ts';
import { newId } from '../../../src/ids.ts';
import { feedBatches } from '../../../src/features/batches/rounds.ts';
import { useApiRig } from '../../api/use-api-rig.ts';
import { changeBatchItems, changeBatches } from '../../rows/batches.ts';
import { readDeliveries } from '../../rows/deliveries.ts';
import { readEntries } from '../../rows/entries.ts';
import { readEvents } from '../../rows/events.ts';
import { changeInputs, readInputs, readInputsWithTurns } from '../../rows/inputs.ts';
import { changeSessions, readSessions } from '../../rows/sessions.ts';
import { ago, ahead, having, like, now, sumOf } from '../../rows/table.ts';
import { batchRig } from './batch-rig.ts';

const shared = useApiRig();
const items = (count: number, text = 'hello') =>
  Array.from({ length: count }, (_, at) => ({ text: `${text} ${at + 1}` }));
/** The scripted model refuses it for good. */
const BAD = '[[error: 400 times=always]]';

beforeEach(async () => {
  await changeBatches(shared.rig, {}, { status: 'ended', inFlight: 0 });
  await changeInputs(shared.rig, { status: 'waiting' }, { status: 'cancelled', settledAt: now });
});

async function start(body: object): Promise<string> {
  const answer = await batchRig(shared.rig).submit(body);
  expect(answer.status).toBe(201);
  return answer.body.id;
}

describe('a guard', () => {
  test('lets the items of the pilot run alone, and the others when they went well', async () => {
    const batches = batchRig(shared.rig);
    const id = await start({ items: items(5), pilot: 2 });
    await batches.round();
    expect((await batches.show(id)).counts).toMatchObject({ waiting: 2, pending: 3 });
    expect(await batches.run(id)).toMatchObject({ outcome: 'completed', counts: { answered: 5 } });
  });

  test('pauses a batch whose pilot failed, and a resume feeds the rest', async () => {
    const batches = batchRig(shared.rig);
    const id = await start({ items: [...items(2, BAD), ...items(2)], pilot: 2 });
    const paused = await batches.run(id);
    expect(paused).toMatchObject({ status: 'paused', pauseReason: 'pilot_done', counts: { failed: 2, pending: 2 } });
    expect(paused.errors).toEqual([{ code: expect.any(String), count: 2, sample: expect.any(String) }]);
    const list = await shared.rig.get(`/v1/batches/${id}/items?status=pending`);
    expect(list.body.items.map((item: { why: { code: string } }) => item.why.code)).toEqual([
      'batch_paused',
      'batch_paused',
    ]);
    expect((await shared.rig.post(`/v1/batches/${id}/resume`)).body).toMatchObject({
      status: 'running',
      pauseReason: null,
    });
    expect(await batches.run(id)).toMatchObject({
      status: 'ended',
      outcome: 'partly',
      counts: { answered: 2, failed: 2 },
    });
  });

  test('pauses a batch at its cost cap, and a resume needs a higher one', async () => {
    const batches = batchRig(shared.rig);
    const id = await start({ items: items(3), concurrency: 1, maxCostUsd: 0 });
    // A round of the feeder may precede the guard.
    expect(await feedBatches(shared.rig.context.service, new AbortController().signal)).toBe(0);
    await batches.round();
    expect(await batches.show(id)).toMatchObject({ status: 'paused', pauseReason: 'cost_cap' });
    const refused = await shared.rig.post(`/v1/batches/${id}/resume`);
    expect([refused.status, refused.body.detail]).toEqual([409, expect.stringContaining('maxCostUsd')]);
    await shared.rig.ask('PATCH', `/v1/batches/${id}`, { payload: { maxCostUsd: 5 } });
    expect((await shared.rig.post(`/v1/batches/${id}/resume`)).status).toBe(200);
    expect(await batches.run(id)).toMatchObject({ outcome: 'completed' });
  });

  test('ends items that were not fed before the deadline as expired', async () => {
    const batches = batchRig(shared.rig);
    const id = await start({ items: items(3), deadlineSeconds: 3600 });
    await changeBatches(shared.rig, { id }, { deadlineAt: ago('1 second') });
    expect(await batches.run(id)).toMatchObject({ outcome: 'failed', counts: { expired: 3 } });
    expect((await batches.results(id))[0]).toMatchObject({ status: 'expired', error: { code: 'expired' } });
  });
});

describe('a person', () => {
  test('pauses and resumes a batch; both can be repeated', async () => {
    const batches = batchRig(shared.rig);
    const id = await start({ items: items(3) });
    for (const _ of [1, 2]) {
      expect((await shared.rig.post(`/v1/batches/${id}/pause`)).body).toMatchObject({
        status: 'paused',
        pauseReason: 'manual',
      });
    }
    await batches.round();
    expect((await batches.show(id)).counts.pending).toBe(3);
    for (const _ of [1, 2]) expect((await shared.rig.post(`/v1/batches/${id}/resume`)).body.status).toBe('running');
    expect(await batches.run(id)).toMatchObject({ outcome: 'completed' });
    const late = await shared.rig.post(`/v1/batches/${id}/pause`);
    expect([late.status, late.body.code, late.body.detail]).toEqual([
      409,
      'conflict',
      expect.stringContaining('ended'),
    ]);
  });

  test('cancels a batch: fed items finish, or are withdrawn with running stop', async () => {
    const batches = batchRig(shared.rig);
    const finish = await start({ items: items(3), concurrency: 1 });
    await batches.round();
    expect((await shared.rig.post(`/v1/batches/${finish}/cancel`)).body.status).toBe('cancelling');
    expect(await batches.run(finish)).toMatchObject({ outcome: 'cancelled', counts: { answered: 1, cancelled: 2 } });
    const stop = await start({ items: items(3), concurrency: 1 });
    await batches.round();
    await shared.rig.post(`/v1/batches/${stop}/cancel`, { running: 'stop' });
    await batches.round();
    expect(await batches.waitingSessions()).toEqual([]);
    expect(await batches.run(stop)).toMatchObject({ outcome: 'cancelled', counts: { answered: 0, cancelled: 3 } });
    const sessions = await readSessions(shared.rig, { kind: 'batch' }, 'waiting');
    expect(sessions.length).toBeGreaterThan(0);
    expect(sumOf(sessions, 'waiting')).toBe(0);
  });

  test('cancels no item whose session a worker has claimed: its turn is stopped when it is open', async () => {
    const batches = batchRig(shared.rig);
    const id = await start({ items: items(1) });
    await batches.round();
    const [session] = await batches.waitingSessions();
    await changeSessions(shared.rig, { id: session! }, { owner: newId(), leaseExpiresAt: ahead('1 minute') });
    await shared.rig.post(`/v1/batches/${id}/cancel`, { running: 'stop' });
    await batches.round();
    expect(await batches.waitingSessions()).toEqual([session]);
    await changeSessions(shared.rig, { id: session! }, { owner: null, leaseExpiresAt: null });
    expect(await batches.run(id)).toMatchObject({ outcome: 'cancelled', counts: { cancelled: 1 } });
  });

  test('retries failed items, all or by code or by number, and each attempt is another input', async () => {
    const batches = batchRig(shared.rig);
    const id = await start({ items: [...items(2, BAD), ...items(1)], maxFailurePercent: 100 });
    const ended = await batches.run(id);
    expect(ended).toMatchObject({ status: 'ended', outcome: 'partly', counts: { failed: 2 } });
    const [{ code }] = ended.errors;
    expect((await shared.rig.post(`/v1/batches/${id}/retry-failed`, { code: 'other' })).body.status).toBe('ended');
    await shared.rig.post(`/v1/batches/${id}/retry-failed`, { n: [2] });
    expect((await batches.show(id)).counts).toMatchObject({ failed: 1, pending: 1 });
    await batches.run(id);
    await shared.rig.post(`/v1/batches/${id}/retry-failed`, { code });
    await batches.run(id);
    const attempts = (await batches.results(id)).map(({ n, attempt }) => [n, attempt]);
    expect(attempts).toEqual([
      [1, 2],
      [2, 3],
      [3, 1],
    ]);
    const rows = await readInputs(shared.rig, { causeKey: like(`batch:${id}:%`) }, 'causeKey');
    expect(rows).toHaveLength(6);
  });

  test('deletes an ended batch alone', async () => {
    const batches = batchRig(shared.rig);
    const id = await start({ items: items(1) });
    expect((await shared.rig.ask('DELETE', `/v1/batches/${id}`)).status).toBe(409);
    await batches.run(id);
    expect((await shared.rig.ask('DELETE', `/v1/batches/${id}`)).body).toEqual({ deleted: true });
    expect((await shared.rig.get(`/v1/batches/${id}`)).status).toBe(404);
  });
});

describe('items', () => {
  test('of one session run in input order, one after the other, each in its own turn', async () => {
    const batches = batchRig(shared.rig);
    const shared2 = items(3).map((item) => ({ ...item, sessionKey: 'crm:17' }));
    const id = await start({ items: shared2 });
    await batches.round();
    expect((await batches.show(id)).counts).toMatchObject({ waiting: 1, pending: 2 });
    await batches.run(id);
    const inputs = await readInputsWithTurns(shared.rig, { sessionKey: 'agent:main:crm:17' });
    expect(inputs).toMatchObject(
      [1, 2, 3].map((n) => ({ text: `hello ${n}`, turn: { lane: 'batch', kind: 'batch' } })),
    );
    const turnIds = inputs.map(({ turnId }) => turnId!);
    expect(new Set(turnIds).size).toBe(3);
    expect(turnIds.toSorted()).toEqual(turnIds);
  });

  test('are never commands: their text stays as it was written', async () => {
    const batches = batchRig(shared.rig);
    const texts = ['/new features in Python 3.13?', 'high\nwater', '/stop', 'Is it /think low or not?'];
    const id = await start({ items: texts.map((text) => ({ text, sessionKey: 'crm:commands' })) });
    await batches.run(id);
    expect(
      await readEntries(shared.rig, { sessionKey: 'agent:main:crm:commands', kind: 'prompt' }, 'transcriptNo', 'text'),
    ).toEqual(texts.map((text) => ({ transcriptNo: 1, text })));
  });

  test('without a session get one of their own, with the minimal prompt', async () => {
    const batches = batchRig(shared.rig);
    const id = await start({ items: items(1) });
    await batches.run(id);
    const [result] = await batches.results(id);
    expect(result.sessionKey).toBe(`agent:main:batch:${id}:1`);
    const [session] = await readSessions(shared.rig, { key: result.sessionKey }, 'kind', 'lane');
    expect(session).toEqual({ kind: 'batch', lane: 'batch' });
    const request = (await shared.rig.get(`/v1/turns/${result.turnId}/requests/1`)).body;
    const plain = await shared.rig.post('/v1/sessions/plain/messages', { text: 'hello' });
    await shared.rig.work('plain');
    const message = (await shared.rig.get(`/v1/messages/${plain.body.message.id}`)).body;
    const full = (await shared.rig.get(`/v1/turns/${message.turnId}/requests/1`)).body;
    expect(JSON.stringify(request).length).toBeLessThan(JSON.stringify(full).length);
  });

  test('end when their inputs are settled, and are counted once, in however many rounds', async () => {
    const batches = batchRig(shared.rig);
    const id = await start({ items: items(2), concurrency: 1 });
    for (let rounds = 0; rounds < 3; rounds += 1) await batches.round();
    expect((await batches.show(id)).counts).toMatchObject({ waiting: 1, pending: 1, answered: 0, failed: 0 });
    await batches.workAll();
    for (let rounds = 0; rounds < 3; rounds += 1) await batches.round();
    expect((await batches.show(id)).counts).toMatchObject({ waiting: 1, pending: 0, answered: 1, failed: 0 });
  });

  test('that were fed get no second input, even if their rows say that they wait to be fed', async () => {
    const batches = batchRig(shared.rig);
    const id = await start({ items: items(2) });
    await batches.round();
    await changeBatchItems(shared.rig, { batchId: id }, { status: 'pending' });
    await changeBatches(shared.rig, { id }, { inFlight: 0 });
    await batches.round();
    const inputs = await readInputs(shared.rig, { causeKey: like(`batch:${id}:%`) }, 'causeKey');
    expect(inputs.map(({ causeKey }) => String(causeKey)).toSorted()).toEqual([`batch:${id}:1:1`, `batch:${id}:2:1`]);
  });

  test('that are fed while another batch is large are fed in turn with it, and few of its items wait before them', async () => {
    const batches = batchRig(shared.rig);
    const large = await start({ items: items(200), concurrency: 100 });
    const small = await start({ items: items(10) });
    await batches.round();
    expect((await batches.show(small)).counts).toMatchObject({ waiting: 10, pending: 0 });
    expect((await batches.show(large)).counts).toMatchObject({ waiting: 32, pending: 168 });
    await batches.round();
    expect((await batches.show(large)).counts).toMatchObject({ waiting: 32, pending: 168 });
  });
});

test('the end of a batch is delivered once, signed, to where it asks for it', async () => {
  const batches = batchRig(shared.rig);
  const id = await start({ items: items(2), deliver: { url: 'https://example.com/done' }, name: 'nightly' });
  await batches.run(id);
  await batches.round();
  const sent = await readDeliveries(shared.rig, { payload: having({ type: 'batch' }) }, 'target', 'payload');
  webhookPayloads.batch.parse({ ...(sent[0]?.['payload'] as object), deliveryId: crypto.randomUUID() });
  expect(sent).toEqual([
    {
      target: { url: 'https://example.com/done' },
      payload: expect.objectContaining({
        text: 'Batch nightly ended: completed. 2 of 2 items were answered.',
        batch: expect.objectContaining({ id, outcome: 'completed', counts: expect.objectContaining({ answered: 2 }) }),
      }),
    },
  ]);
});

test('results continue after a number, include open items on request, and can have the format of OpenAI', async () => {
  const batches = batchRig(shared.rig);
  const id = await start({ items: items(4), concurrency: 2 });
  await batches.round();
  expect(await batches.results(id)).toEqual([]);
  expect((await batches.results(id, '?all=true')).map(({ status }) => status)).toEqual([
    'waiting',
    'waiting',
    'pending',
    'pending',
  ]);
  await batches.run(id);
  expect((await batches.results(id, '?after=2')).map(({ n }) => n)).toEqual([3, 4]);
  expect((await batches.results(id, '?format=openai'))[0]).toMatchObject({
    custom_id: '1',
    response: { status_code: 200, body: { object: 'chat.completion' } },
    error: null,
  });
});

test('events report a batch from its creation to its end', async () => {
  const batches = batchRig(shared.rig);
  const id = await start({ items: items(1) });
  await shared.rig.post(`/v1/batches/${id}/pause`);
  await shared.rig.post(`/v1/batches/${id}/resume`);
  await batches.run(id);
  const rows = await readEvents(shared.rig, { data: having({ batchId: id }) }, 'type');
  expect(rows.map((row) => row['type'])).toEqual([
    'batch.created',
    'batch.paused',
    'batch.resumed',
    'batch.progress',
    'batch.ended',
  ]);
});
