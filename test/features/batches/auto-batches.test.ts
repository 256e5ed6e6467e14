// Batches with `via: "auto"`: the first items go through the provider, and the others take the way
// that was cheaper for them.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agentOf } from '../../../src/config.ts';
import { useApiRig } from '../../api/use-api-rig.ts';
import { changeBatches } from '../../rows/batches.ts';
import { readProviderRequests } from '../../rows/provider-batches.ts';
import { earlier } from '../../rows/table.ts';
import { laneBatchRig } from './lane-batch-rig.ts';

const shared = useApiRig();

/** Conversations of two calls. */
const linesOf = (count: number): string =>
  Array.from({ length: count }, (_, n) =>
    JSON.stringify({ text: `[[tool: echo {"word": "w${n}"}]] [[reply: r${n}]]` }),
  ).join('\n');

test('the first 20 items go through the provider, and the others wait and take the way that was cheaper for these', async () => {
  const { rig } = shared;
  const batches = laneBatchRig(rig);
  const made = await batches.submitLines(linesOf(24), '?via=auto');
  expect(made).toMatchObject({ status: 201, body: { via: 'auto' } });
  await batches.round();
  const counts = async () => (await batches.show(made.body.id)).counts;
  expect(await counts()).toMatchObject({ pending: 4, waiting: 20 });
  await batches.round();
  expect(await counts()).toMatchObject({ pending: 4 });
  const pending = await rig.get(`/v1/batches/${made.body.id}/items?status=pending`);
  expect(pending).toMatchObject({ status: 200, body: { items: [{ why: { code: 'batch_window' } }, {}, {}, {}] } });
  await batches.workAll();
  const [first] = await readProviderRequests(rig, { batchId: made.body.id }, 'reason');
  expect(first).toEqual({ reason: expect.stringContaining('One of the first items') });
  const ended = await batches.runByLane(made.body.id);
  expect(ended).toMatchObject({ outcome: 'completed', counts: { answered: 24 } });
  expect(ended.hops).toMatchObject([
    { n: 1, via: 'provider-batch', requests: 24, reason: expect.stringMatching(/^Cheaper in a batch: .* live/) },
    { n: 2, via: 'provider-batch', requests: 24 },
  ]);
  expect(ended.savedPercent).toBeGreaterThan(30);
});

test('the others are asked live when the first items were more expensive than live calls, and each call says why', async () => {
  const { rig } = shared;
  const batches = laneBatchRig(rig);
  // A long beginning of all prompts, which a live call reads from the cache.
  const { workspaceDir } = agentOf(rig.turns.config, 'main');
  await mkdir(workspaceDir, { recursive: true });
  await writeFile(join(workspaceDir, 'AGENTS.md'), 'Answer in one word. '.repeat(950));
  // The provider finds nothing in its cache.
  const made = await batches.submitLines(linesOf(22), '?via=auto&promptMode=full&cache=off');
  const ended = await batches.runByLane(made.body.id);
  const reason = expect.stringMatching(/^Not cheaper in a batch: .* live/);
  expect(ended.hops).toMatchObject([
    { n: 1, via: 'live', requests: 2, reason },
    { n: 1, via: 'provider-batch', requests: 20 },
    { n: 2, via: 'live', requests: 2, reason },
    { n: 2, via: 'provider-batch', requests: 20 },
  ]);
  const { turnId } = (await batches.results(made.body.id)).at(-1) ?? {};
  expect((await rig.get(`/v1/turns/${turnId}`)).body.steps[0].calls[0]).toMatchObject({ notes: { way: reason } });
});

test('a message with via "auto" that belongs to no batch goes through the provider', async () => {
  const { turns } = shared.rig;
  await turns.send('alone', 'hello', { via: 'auto' });
  expect(await turns.worker().run('alone')).toMatchObject({ kind: 'parked' });
});

test('the others wait for the first items no longer than an hour, and are then asked live', async () => {
  const { rig } = shared;
  const batches = laneBatchRig(rig);
  const made = await batches.submitLines(linesOf(22), '?via=auto&promptMode=full');
  await batches.round();
  await changeBatches(rig, { id: made.body.id }, { probeAt: earlier('61 minutes') });
  await batches.round();
  await batches.round();
  expect((await batches.show(made.body.id)).counts).toMatchObject({ pending: 0, waiting: 22 });
  await batches.workAll();
  expect((await batches.show(made.body.id)).counts).toMatchObject({ parked: 20 });
  expect(await batches.runByLane(made.body.id)).toMatchObject({ counts: { answered: 22 } });
});

test('items that are fed after a change of the way take the new one', async () => {
  const { rig } = shared;
  const batches = laneBatchRig(rig);
  const made = await batches.submitLines(linesOf(2), '?via=provider-batch&concurrency=1');
  await batches.round();
  const changed = await rig.ask('PATCH', `/v1/batches/${made.body.id}`, { payload: { via: 'live' } });
  expect(changed).toMatchObject({ status: 200, body: { via: 'live' } });
  const ended = await batches.runByLane(made.body.id);
  const requests = await readProviderRequests(rig, { batchId: made.body.id }, 'sessionId');
  expect(ended).toMatchObject({ outcome: 'completed' });
  expect(new Set(requests.map(({ sessionId }) => sessionId)).size).toBe(1);
});
