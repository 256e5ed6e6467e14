// The same file by live calls and by batches of the provider: the results are equal, line by line, but for ids and costs.
import { expect, test } from 'vitest';
import { collectRequests } from '../../workers/provider-lane/collect-requests.ts';
import { useApiRig } from '../api/use-api-rig.ts';
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
  const requests = await shared.rig.rows('select distinct batch_id, status from holdfast.provider_requests');
  expect(requests).toEqual([{ batch_id: lane.body.id, status: 'answered' }]);
  // Its rounds, and what they cost beside live calls.
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
  const [{ data } = { data: null }] = await shared.rig.rows(
    `select data from holdfast.events where type = 'batch.hop' order by id limit 1`,
  );
  expect(data).toMatchObject({ batchId: lane.body.id, n: 1, via: 'provider-batch', requests: 3 });
  const [item] = await batches.results(lane.body.id);
  // The request as it was sent can still be derived.
  expect((await shared.rig.get(`/v1/turns/${item.turnId}/requests/2`)).body).toMatchObject({ matches: true });
}, 60_000);

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
}, 60_000);
