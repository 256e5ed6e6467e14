// The same file by live calls and by batches of the provider: the results are equal, line by line,
// but for ids and costs.
import { expect, test } from 'vitest';
import { NO_FAULTS } from '../../../scripted-model/batches/batch-faults.ts';
import type { SessionId } from '../../../src/core/ids.ts';
import { leaveLane } from '../../../src/features/provider-batches/store/store-results.ts';
import { collectRequests } from '../../../src/features/provider-batches/collect-requests.ts';
import { useApiRig } from '../../api/use-api-rig.ts';
import { readEvents } from '../../rows/events.ts';
import { changeProviderBatches, changeProviderRequests, countProviderRequests } from '../../rows/provider-batches.ts';
import { now } from '../../rows/table.ts';
import { QUICK } from '../provider-batches/lane-rig.ts';
import { laneBatchRig } from './lane-batch-rig.ts';

const shared = useApiRig();

const lines = ['a', 'b', 'c']
  .map((word) => JSON.stringify({ text: `[[tool: echo {"word": "${word}"}]] [[reply: ${word}]]`, customId: word }))
  .join('\n');

test('a file gives the same results by batches of the provider as by live calls', async () => {
  const batches = laneBatchRig(shared.rig);
  const live = await batches.submitLines(lines, '?via=live');
  await batches.run(live.body.id);
  const lane = await batches.submitLines(lines, '?via=provider-batch');
  expect(lane.body).toMatchObject({ via: 'provider-batch', concurrency: 10_000 });
  const ended = await batches.runByLane(lane.body.id);
  expect(ended).toMatchObject({ status: 'ended', outcome: 'completed', counts: { answered: 3 } });
  const shown = async (id: string) =>
    (await batches.results(id)).map(({ n, customId, status, reply, error, attempt }) => [
      n,
      customId,
      status,
      reply,
      error,
      attempt,
    ]);
  expect(await shown(lane.body.id)).toEqual(await shown(live.body.id));
  const answered = { batchId: lane.body.id, status: 'answered' };
  const requests = await countProviderRequests(shared.rig);
  expect(requests).toBeGreaterThan(0);
  expect(await countProviderRequests(shared.rig, answered)).toBe(requests);
  // Its rounds, and their cost compared with live calls.
  expect(ended.hops).toMatchObject([
    { n: 1, via: 'provider-batch', requests: 3, cacheHitRate: expect.any(Number), endedAt: expect.any(String) },
    { n: 2, via: 'provider-batch', requests: 3, cacheHitRate: expect.any(Number), endedAt: expect.any(String) },
  ]);
  const listed = await shared.rig.get('/v1/provider-batches');
  const ids = ended.hops.flatMap((hop: { providerBatchIds: string[] }) => hop.providerBatchIds);
  expect(ids).toEqual(listed.body.items.map((item: { providerId: string }) => item.providerId).toReversed());
  const cost = ended.hops.reduce((sum: number, hop: { costUsd: number }) => sum + hop.costUsd, 0);
  expect(cost).toBeCloseTo(ended.costUsd, 9);
  expect(ended.savedPercent).toBeCloseTo((1 - ended.costUsd / ended.liveCostUsd) * 100, 0);
  const [{ data } = { data: null }] = await readEvents(shared.rig, { type: 'batch.hop' }, 'data');
  expect(data).toMatchObject({ batchId: lane.body.id, n: 1, via: 'provider-batch', requests: 3 });
  const [item] = await batches.results(lane.body.id);
  // The request as it was sent can still be derived.
  expect((await shared.rig.get(`/v1/turns/${item.turnId}/requests/2`)).body).toMatchObject({ matches: true });
});

test('requests of a paused batch are submitted when it runs again', async () => {
  const { rig } = shared;
  const batches = laneBatchRig(rig);
  const made = await batches.submitLines(lines, '?via=provider-batch');
  await batches.round();
  await batches.workAll();
  await rig.post(`/v1/batches/${made.body.id}/pause`);
  expect(await collectRequests(batches.laneParts())).toBe(false);
  expect((await batches.show(made.body.id)).counts).toMatchObject({ parked: 3 });
  await rig.post(`/v1/batches/${made.body.id}/resume`);
  expect(await batches.runByLane(made.body.id)).toMatchObject({ outcome: 'completed' });
});

test('requests are submitted before the window ends when no other turn of their batch can still join', async () => {
  const { rig } = shared;
  const batches = laneBatchRig(rig);
  const lane = batches.laneParts({ config: { ...rig.turns.config, batches: { ...QUICK, windowMs: 3_600_000 } } });
  const made = await batches.submitLines(lines, '?via=provider-batch&concurrency=2');
  await batches.round();
  const worker = rig.turns.worker();
  const [first, second] = await batches.waitingSessions();
  await worker.runSession(first as SessionId);
  // The turn of the second item has not begun.
  expect(await collectRequests(lane)).toBe(false);
  await worker.runSession(second as SessionId);
  // A third item is not fed before one of them has ended.
  expect(await collectRequests(lane)).toBe(true);
  // A single message may be followed by others: it waits for the window.
  await rig.turns.send('single', 'hello', { via: 'provider-batch' });
  await worker.run('single');
  expect(await collectRequests(lane)).toBe(false);
  expect(await batches.runByLane(made.body.id)).toMatchObject({ outcome: 'completed', counts: { answered: 3 } });
});

test('a batch whose key the provider refuses is paused, and completes after a person has resumed it', async () => {
  const { rig } = shared;
  const batches = laneBatchRig(rig);
  const made = await batches.submitLines(lines, '?via=provider-batch');
  await batches.round();
  await batches.workAll();
  rig.turns.scripted.batches.faults = { ...NO_FAULTS, refusals: 1, refuseStatus: 401 };
  expect(await collectRequests(batches.laneParts())).toBe(true);
  expect(await batches.show(made.body.id)).toMatchObject({
    status: 'paused',
    pauseReason: 'provider_refused',
    pauseDetail: expect.stringContaining('401'),
  });
  // The next try of the account is due.
  await changeProviderBatches(rig, { status: 'failed' }, { dueAt: now });
  expect(await collectRequests(batches.laneParts())).toBe(false);
  await rig.post(`/v1/batches/${made.body.id}/resume`);
  expect(await batches.runByLane(made.body.id)).toMatchObject({ outcome: 'completed', counts: { answered: 3 } });
});

test('an item that the provider has not answered by its deadline expires with fallback "fail"', async () => {
  const { rig } = shared;
  const batches = laneBatchRig(rig);
  const made = await batches.submitLines(lines, '?via=provider-batch&fallback=fail&deadlineSeconds=3600');
  await batches.round();
  await batches.workAll();
  await changeProviderRequests(rig, { batchId: made.body.id }, { leaveAt: now });
  rig.context.service.publish(await leaveLane(rig.turns.database));
  expect(await batches.runByLane(made.body.id)).toMatchObject({ outcome: 'failed', counts: { expired: 3 } });
});

test('a submission that a person gives up is not followed any more, and its requests go into another one', async () => {
  const { rig } = shared;
  const batches = laneBatchRig(rig);
  const made = await batches.submitLines(lines, '?via=provider-batch');
  await batches.round();
  await batches.workAll();
  expect(await collectRequests(batches.laneParts())).toBe(true);
  const [submission] = (await rig.get('/v1/provider-batches?limit=1')).body.items;
  const forget = () => rig.post(`/v1/provider-batches/${submission.id}/forget`);
  expect(await forget()).toMatchObject({ status: 200, body: { status: 'failed', requestCount: 3 } });
  expect((await forget()).status).toBe(200);
  expect(await batches.runByLane(made.body.id)).toMatchObject({ outcome: 'completed', counts: { answered: 3 } });
  const [second] = (await rig.get('/v1/provider-batches?status=read&limit=1')).body.items;
  expect(await rig.post(`/v1/provider-batches/${second.id}/forget`)).toMatchObject({
    status: 409,
    body: { detail: expect.stringContaining('is read') },
  });
  expect((await rig.post('/v1/provider-batches/01900000-0000-7000-8000-000000000000/forget')).status).toBe(404);
});
