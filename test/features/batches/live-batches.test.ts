// A live batch from its submission to its results, over the API, with real turns.
import { expect, test } from 'vitest';
import { useApiRig } from '../../api/use-api-rig.ts';
import { addBatchHops, changeBatchMinutes, changeBatches, readBatchMinutes } from '../../rows/batches.ts';
import { addProviderBatches } from '../../rows/provider-batches.ts';
import { ago, ahead, earlier, now, sumOf } from '../../rows/table.ts';
import { addWorkers, removeWorkers } from '../../rows/workers.ts';
import { batchRig } from './batch-rig.ts';

const shared = useApiRig();

test('a batch of lines is fed, answered and settled, and its results are in input order', async () => {
  const batches = batchRig(shared.rig);
  const lines = ['{"text":"first","customId":"a"}', '', '{"text":"second","customId":"b"}', '{"text":"third"}'].join(
    '\n',
  );
  const made = await batches.submitLines(lines, '?name=tickets');
  expect(made.status).toBe(201);
  expect(made.body).toMatchObject({ name: 'tickets', status: 'running', counts: { total: 3, pending: 3 } });
  const ended = await batches.run(made.body.id);
  expect(ended).toMatchObject({ status: 'ended', outcome: 'completed', counts: { total: 3, answered: 3, pending: 0 } });
  const results = await batches.results(made.body.id);
  expect(results.map(({ n, customId, status }) => [n, customId, status])).toEqual([
    [1, 'a', 'answered'],
    [2, 'b', 'answered'],
    [3, null, 'answered'],
  ]);
  expect(results[0].reply).toContain('first');
  expect(results[0].usage.outputTokens).toBeGreaterThan(0);
});

test('the items of a batch that classifies are one small call each, and results have their values', async () => {
  const batches = batchRig(shared.rig);
  const category = { enum: ['bug', 'billing'] };
  const schema = { type: 'object', properties: { category }, required: ['category'], additionalProperties: false };
  const items = Array.from({ length: 100 }, (_, n) => ({
    customId: `t${n}`,
    text: `Classify: ticket ${n} [[reply: {"category": "${n % 2 === 0 ? 'bug' : 'billing'}"}]]`,
  }));
  const own = { type: 'json_schema', schema: { ...schema, properties: { category: { const: 'spam' } } } };
  items.push({ customId: 'own', text: 'Classify: [[reply: {"category": "spam"}]]', responseFormat: own } as never);
  const made = await batches.submit({
    items,
    promptMode: 'none',
    tools: { allow: [] },
    responseFormat: { type: 'json_schema', schema },
  });
  const ended = await batches.run(made.body.id);
  expect(ended).toMatchObject({ outcome: 'completed', counts: { answered: items.length } });
  const results = await batches.results(made.body.id);
  expect(results.map(({ output }) => output?.category)).toEqual([
    ...Array.from({ length: 100 }, (_, n) => (n % 2 === 0 ? 'bug' : 'billing')),
    'spam',
  ]);
  for (const { usage } of results)
    expect(usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens).toBeLessThan(300);
  const { turnId } = results[0];
  expect((await shared.rig.get(`/v1/turns/${turnId}`)).body).toMatchObject({
    output: { category: 'bug' },
    stepCount: 1,
  });
});

test('the sessions of a batch are listed only when their kind is asked for', async () => {
  const made = await batchRig(shared.rig).submit({ items: [{ text: 'listed' }] });
  await batchRig(shared.rig).run(made.body.id);
  const keys = async (query: string): Promise<string[]> =>
    (await shared.rig.get(`/v1/sessions${query}`)).body.items.map((item: { key: string }) => item.key);
  const own = expect.stringContaining(`batch:${made.body.id}`);
  expect(await keys('')).not.toContainEqual(own);
  expect(await keys('?kind=batch')).toContainEqual(own);
  expect((await shared.rig.get('/v1/sessions?kind=batches')).status).toBe(400);
});

test('a batch shows how many slots all live workers have for items of batches', async () => {
  const batches = batchRig(shared.rig);
  const { id } = (await batches.submit({ items: [{ text: 'one' }] })).body;
  expect(await batches.show(id)).toMatchObject({ slots: 0 });
  const lanes = { batch: { slots: 64 } };
  const seenAt = ahead('1 hour');
  await addWorkers(shared.rig, { name: 'one', lanes: { ...lanes, main: { slots: 8 } }, seenAt });
  await addWorkers(shared.rig, { name: 'two', lanes: { batch: { slots: 16 } }, seenAt });
  await addWorkers(shared.rig, { name: 'lost', lanes, seenAt: ago('1 hour') });
  await addWorkers(shared.rig, { name: 'drains', lanes, seenAt, drainingAt: now });
  expect(await batches.show(id)).toMatchObject({ slots: 80 });
  await removeWorkers(shared.rig);
});

test('a running batch says how fast it is and when it is expected to end, and counts again after a pause', async () => {
  const batches = batchRig(shared.rig);
  const items = Array.from({ length: 40 }, (_, n) => ({ text: `item ${n}` }));
  const { id } = (await batches.submit({ items, concurrency: 24 })).body;
  await batches.round();
  await batches.workAll();
  await batches.round();
  await changeBatches(shared.rig, { id }, { markAt: earlier('1 minute') });
  const shown = await batches.show(id);
  const ended: number = shown.counts.answered;
  expect(ended).toBeGreaterThanOrEqual(20);
  expect(shown.ratePerMinute).toBeGreaterThan(0);
  expect(shown.ratePerMinute).toBeLessThanOrEqual(ended);
  expect(Date.parse(shown.eta.to)).toBeGreaterThanOrEqual(Date.parse(shown.eta.from));

  await shared.rig.post(`/v1/batches/${id}/pause`, {});
  expect(await batches.show(id)).toMatchObject({ status: 'paused', ratePerMinute: null, eta: null });
  await changeBatchMinutes(shared.rig, { batchId: id }, { startsAt: earlier('1 hour') });
  await shared.rig.post(`/v1/batches/${id}/resume`, {});
  await changeBatches(shared.rig, { id }, { markAt: earlier('1 minute') });
  expect(await batches.show(id)).toMatchObject({ status: 'running', ratePerMinute: 0, eta: null });

  const done = await batches.run(id);
  expect(done).toMatchObject({ status: 'ended', ratePerMinute: null, eta: null });
  const minutes = () => readBatchMinutes(shared.rig, { batchId: id }, 'ended');
  expect(sumOf(await minutes(), 'ended')).toBe(40 - ended);
  expect((await shared.rig.ask('DELETE', `/v1/batches/${id}`, {})).status).toBe(200);
  expect(await minutes()).toEqual([]);
});

test('what ended before a batch was resumed, or was retried after its end, does not count for its rate', async () => {
  const batches = batchRig(shared.rig);
  const items = [
    { text: '[[error: 400 times=always]]' },
    ...Array.from({ length: 39 }, (_, n) => ({ text: `item ${n}` })),
  ];
  const { id } = (await batches.submit({ items, concurrency: 24, maxFailurePercent: 100 })).body;
  /** The rate as if the batch had begun to count ten seconds earlier. */
  async function rateAfterTenSeconds(): Promise<number> {
    await changeBatches(shared.rig, { id: `${id}` }, { markAt: earlier('10 seconds') });
    return (await batches.show(id)).ratePerMinute;
  }
  await batches.round();
  await batches.workAll();
  await batches.round();
  expect((await batches.show(id)).counts).toMatchObject({ answered: 23, failed: 1 });
  // A retry in a running batch changes neither the time since when it counts nor the counts.
  await shared.rig.post(`/v1/batches/${id}/retry-failed`, {});
  expect(await rateAfterTenSeconds()).toBeGreaterThan(0);
  await shared.rig.post(`/v1/batches/${id}/pause`, {});
  await shared.rig.post(`/v1/batches/${id}/resume`, {});
  expect(await rateAfterTenSeconds()).toBe(0);
  expect(await batches.run(id)).toMatchObject({ status: 'ended', counts: { answered: 39, failed: 1 } });
  await shared.rig.post(`/v1/batches/${id}/retry-failed`, {});
  expect(await rateAfterTenSeconds()).toBe(0);
});

test('the end of a batch through the provider is expected from the durations of its submissions, whose rounds overlap', async () => {
  const { rig } = shared;
  const batches = batchRig(rig);
  const { id } = (await batches.submit({ items: [{ text: 'one' }, { text: 'two' }], via: 'provider-batch' })).body;
  await batches.round();
  const minute = 60_000;
  const nowMs = Date.now();
  const at = (minutes: number) => new Date(nowMs + minutes * minute);
  // The first submission took 30 minutes and the second 60. One of the second round is out.
  const sent: [name: string, from: Date, to: Date | null][] = [
    ['first', at(-90), at(-60)],
    ['second', at(-80), at(-20)],
    ['third', at(-10), null],
  ];
  for (const [name, from, to] of sent) {
    const times = { submitStartedAt: from, endedAt: to };
    await addProviderBatches(rig, { status: to === null ? 'submitted' : 'read', providerId: name, ...times });
  }
  const hop = { batchId: id, via: 'provider-batch', reason: '', requests: 2 };
  const over = { n: 1, answered: 2, submittedAt: at(-90), endedAt: at(-20), providerBatchIds: ['first', 'second'] };
  const open = { n: 2, answered: 0, submittedAt: at(-10), providerBatchIds: ['third'] };
  await addBatchHops(rig, { ...hop, ...over }, { ...hop, ...open });
  expect((await batches.show(id)).eta).toEqual({ from: at(20).toISOString(), to: at(50).toISOString() });
});
