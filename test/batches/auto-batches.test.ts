// Batches with `via: "auto"`: the cheaper way of each call, from the measured effect of the provider's cache, and the probe that measures it first.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agentOf } from '../../src/config.ts';
import { modelOfRef } from '../../src/core/model-ref.ts';
import { useApiRig } from '../api/use-api-rig.ts';
import { laneBatchRig } from './lane-batch-rig.ts';

const shared = useApiRig();

/** Conversations of two calls. */
const linesOf = (count: number): string =>
  Array.from({ length: count }, (_, n) =>
    JSON.stringify({ text: `[[tool: echo {"word": "w${n}"}]] [[reply: r${n}]]` }),
  ).join('\n');

/** The effect of the cache on batches, as if it had just been measured. */
async function measured(hitRate: number | null): Promise<void> {
  const { rig } = shared;
  await rig.rows('delete from holdfast.cache_rates');
  if (hitRate === null) return;
  await rig.rows(
    `insert into holdfast.cache_rates (account, model, provider_batch_id, read_tokens, readable_tokens, took_ms)
      select 'measured', $1, '01900000-0000-7000-8000-000000000000', $2::float8 * 1e9, 1e9, 1000`,
    [modelOfRef(agentOf(rig.turns.config, 'main').model).model, hitRate],
  );
}

test('calls of a batch take the cheaper way by the last measurement, and each round says why', async () => {
  const batches = laneBatchRig(shared.rig);
  await measured(1);
  const cheap = await batches.submitLines(linesOf(2), '?via=auto');
  expect(cheap).toMatchObject({ status: 201, body: { via: 'auto' } });
  const byBatch = await batches.runByLane(cheap.body.id);
  expect(byBatch.hops).toMatchObject([
    { n: 1, via: 'provider-batch', requests: 2, reason: expect.stringMatching(/^Cheaper in a batch: .* 100 %/) },
    { n: 2, via: 'provider-batch', requests: 2 },
  ]);
  expect(byBatch.savedPercent).toBeGreaterThan(30);

  await measured(0);
  // A long beginning of all prompts, which a live call reads from the cache.
  const { workspaceDir } = agentOf(shared.rig.turns.config, 'main');
  await mkdir(workspaceDir, { recursive: true });
  await writeFile(join(workspaceDir, 'AGENTS.md'), 'Answer in one word. '.repeat(950));
  const dear = await batches.submitLines(linesOf(2), '?via=auto&promptMode=full');
  const live = await batches.runByLane(dear.body.id);
  expect(live.hops).toMatchObject([
    { n: 1, via: 'live', requests: 2, reason: expect.stringMatching(/^Not cheaper in a batch: .* 0 %/) },
    { n: 2, via: 'live', requests: 2 },
  ]);
  expect(live).toMatchObject({ savedPercent: 0, liveCostUsd: live.costUsd });
}, 120_000);

test('without a recent measurement, 20 items go through the provider first and the others wait for the result', async () => {
  const batches = laneBatchRig(shared.rig);
  await measured(null);
  const made = await batches.submitLines(linesOf(24), '?via=auto');
  await batches.round();
  const counts = async () => (await batches.show(made.body.id)).counts;
  expect(await counts()).toMatchObject({ pending: 4, waiting: 20 });
  await batches.round();
  expect(await counts()).toMatchObject({ pending: 4 });
  const pending = await shared.rig.get(`/v1/batches/${made.body.id}/items?status=pending`);
  expect(pending).toMatchObject({ status: 200, body: { items: [{ why: { code: 'batch_window' } }, {}, {}, {}] } });
  const ended = await batches.runByLane(made.body.id);
  expect(ended).toMatchObject({ outcome: 'completed', counts: { answered: 24 } });
  expect(ended.hops[0]).toMatchObject({ n: 1, via: 'provider-batch', reason: expect.stringContaining('probe') });
  expect(await shared.rig.rows('select read_tokens > 0 as is from holdfast.cache_rates')).toEqual([{ is: true }]);
}, 240_000);

test('the others wait for the first items no longer than an hour, and are then asked live', async () => {
  const { rig } = shared;
  const batches = laneBatchRig(rig);
  await measured(null);
  const made = await batches.submitLines(linesOf(22), '?via=auto&promptMode=full');
  await batches.round();
  await rig.rows(`update holdfast.batches set probe_at = probe_at - interval '61 minutes' where id = $1`, [
    made.body.id,
  ]);
  await batches.round();
  await batches.round();
  expect((await batches.show(made.body.id)).counts).toMatchObject({ pending: 0, waiting: 22 });
  await batches.workAll();
  expect((await batches.show(made.body.id)).counts).toMatchObject({ parked: 20 });
  expect(await batches.runByLane(made.body.id)).toMatchObject({ counts: { answered: 22 } });
}, 240_000);

test('the others wait no longer than until the first items have ended, also when these show nothing of the cache', async () => {
  const batches = laneBatchRig(shared.rig);
  await measured(null);
  const made = await batches.submitLines(linesOf(22), '?via=auto&cache=off');
  expect(await batches.runByLane(made.body.id)).toMatchObject({ outcome: 'completed', counts: { answered: 22 } });
  expect(await shared.rig.rows('select model from holdfast.cache_rates')).toEqual([]);
}, 240_000);

test('items that are fed after a change of the way take the new one', async () => {
  const { rig } = shared;
  const batches = laneBatchRig(rig);
  const made = await batches.submitLines(linesOf(2), '?via=provider-batch&concurrency=1');
  await batches.round();
  const changed = await rig.ask('PATCH', `/v1/batches/${made.body.id}`, { payload: { via: 'live' } });
  expect(changed).toMatchObject({ status: 200, body: { via: 'live' } });
  const ended = await batches.runByLane(made.body.id);
  const requests = await rig.rows('select distinct session_id from holdfast.provider_requests where batch_id = $1', [
    made.body.id,
  ]);
  expect(ended).toMatchObject({ outcome: 'completed' });
  expect(requests).toHaveLength(1);
}, 120_000);
