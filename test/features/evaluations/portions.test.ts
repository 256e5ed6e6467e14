// What evaluations send and settle in portions: whatever breaks off between two of them, each run and
// each judgement is there once, and a portion is small although its rows are large.
import { expect, test } from 'vitest';
import { listJudgements } from '../../../src/features/evaluations/judge-runs.ts';
import { settlePortion } from '../../../src/features/evaluations/settle-runs.ts';
import { readOpenEvaluations, type OpenEvaluation } from '../../../src/features/evaluations/store/evaluations.ts';
import { sendItems, type CarriedItem } from '../../../src/features/evaluations/store/upload-items.ts';
import { newId } from '../../../src/ids.ts';
import { useApiRig } from '../../api/use-api-rig.ts';
import { addBatches, changeBatches, readBatches, readBatchItems, removeBatchItems } from '../../rows/batches.ts';
import {
  addDatasetItems,
  addDatasets,
  changeDatasetItems,
  changeEvaluations,
  readEvaluations,
} from '../../rows/evaluations.ts';
import { atLeast } from '../../rows/table.ts';
import { changeTurns } from '../../rows/turns.ts';
import { evaluationRig } from './evaluation-rig.ts';

const holder = useApiRig();
const rigOf = () => evaluationRig(holder.rig);
const { signal } = new AbortController();

const linesOf = (count: number, words = '') =>
  Array.from({ length: count }, (_, n) => ({ input: `${words}[[reply: ${n}]]`, expected: String(n) }));

async function openEvaluation(id: string): Promise<OpenEvaluation | undefined> {
  return (await readOpenEvaluations(holder.rig.context.service.database)).find((one) => one.id === id);
}

async function batchOf(id: string): Promise<string> {
  const [evaluation] = await readEvaluations(holder.rig, { id });
  return evaluation?.batchId ?? '';
}

const itemsOf = (batchId: string) => readBatchItems(holder.rig, { batchId }, 'n', 'customId');

test('an upload that broke off is completed by several schedulers, although an item was erased meanwhile', async () => {
  const rig = rigOf();
  const datasetId = await rig.dataset({ items: linesOf(4) });
  const id = await rig.start(datasetId, { repeats: 3 });
  await rig.round();
  const batchId = await batchOf(id);
  const whole = await itemsOf(batchId);
  expect(whole.map(({ n }) => n)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  // As after a crash within the portions: the runs of two items are stored, and nothing has begun.
  await removeBatchItems(holder.rig, { batchId, n: atLeast(5) });
  await changeBatches(holder.rig, { id: batchId }, { status: 'uploading', itemCount: 0 });
  await changeEvaluations(holder.rig, { id }, { status: 'preparing' });
  const erased = { state: 'erased', input: null, expected: null, turnId: null } as const;
  await changeDatasetItems(holder.rig, { datasetId, n: 2 }, erased);
  await changeDatasetItems(holder.rig, { datasetId, n: 3 }, erased);
  await Promise.all(Array.from({ length: 4 }, () => rig.round()));
  // One run of the second item was stored before that was erased.
  const left = whole.filter(({ n }) => n <= 4 || n >= 10);
  expect(await itemsOf(batchId)).toEqual(left);
  expect(await readBatches(holder.rig, { id: batchId })).toMatchObject([{ status: 'running', itemCount: 7 }]);
  expect(await rig.run(id)).toMatchObject({ outcome: 'completed', runCount: 7, results: [{ runs: 6 }] });
});

test('inputs that are long are sent in several statements', async () => {
  const rig = rigOf();
  const id = await rig.start(await rig.dataset({ items: linesOf(3, 'word '.repeat(180_000)) }), { repeats: 6 });
  expect(await rig.round()).toBe(true);
  expect(await readEvaluations(holder.rig, { id })).toMatchObject([{ status: 'running', runCount: 18 }]);
  const batchId = await batchOf(id);
  expect(await itemsOf(batchId)).toHaveLength(18);
  await holder.rig.post(`/v1/batches/${batchId}/cancel`, {});
  expect(await rig.run(id)).toMatchObject({ outcome: 'cancelled' });
});

/** Throws before an item with this number. */
async function* brokenOffAt(n: number, items: AsyncIterable<CarriedItem>): AsyncGenerator<CarriedItem> {
  for await (const item of items) {
    if (item.n >= n) throw new Error('It broke off.');
    yield item;
  }
}

test('all judgements of a run are sent, in portions that end within it, and again after they broke off', async () => {
  const rig = rigOf();
  const { database } = holder.rig.context.service;
  const turns = [
    await rig.record('judged-1', `${'Long. '.repeat(20_000)}[[reply: one]]`),
    await rig.record(
      'judged-2',
      'Fails. [[for: claude-haiku-4-5]] [[error: 400 times=always]] [[for: others]] [[reply: two]]',
    ),
    await rig.record('judged-3', `${'Long. '.repeat(20_000)}[[reply: three]]`),
  ];
  const judge = { type: 'model' as const, rubric: 'It is good.' };
  const graders = [
    ...Array.from({ length: 5 }, (_, at) => ({ ...judge, name: `judge-${at}` })),
    { ...judge, name: 'duel', mode: 'pair' as const },
  ];
  const candidates = [{ name: 'now' }, { name: 'small', model: 'anthropic/claude-haiku-4-5' }];
  const id = await rig.start(await rig.copies(...turns), { candidates, graders, repeats: 1, concurrency: 50 });
  const [evaluation] = [await rig.run(id)];
  // Of each judge: two runs of two items, and one of the item that fails. Of the pair: two orders of
  // the two items that have two replies.
  expect(evaluation).toMatchObject({ outcome: 'completed', runCount: 6, judgementCount: 5 * 5 + 2 * 2 });
  const stored = await readBatchItems(holder.rig, { batchId: evaluation.judgingBatchId }, 'n', 'customId', 'body');
  const shown = stored.map(({ body }) => (body as { text: string }).text);
  expect(shown.filter((text) => text.includes('"expected"'))).toEqual([]);
  expect(shown.filter((text) => text.includes('"recorded"'))).toHaveLength(25);

  const open = evaluation as object as OpenEvaluation;
  const batchId = newId<string>();
  await addBatches(holder.rig, { id: batchId, status: 'uploading' });
  const send = (items: AsyncIterable<CarriedItem>) =>
    sendItems(database, open, { batchId, items, signal, portionChars: 300_000 });
  await expect(send(brokenOffAt(12, listJudgements({ database }, open, signal)))).rejects.toThrow('It broke off.');
  const before = await itemsOf(batchId);
  expect(before.length).toBeGreaterThan(0);
  expect(before.length).toBeLessThan(12);
  expect(await send(listJudgements({ database }, open, signal))).toBe(29);
  expect(await itemsOf(batchId)).toEqual(stored.map(({ n, customId }) => ({ n, customId })));
});

test('runs that said much are settled one by one', async () => {
  const rig = rigOf();
  const { database } = holder.rig.context.service;
  const id = await rig.start(await rig.dataset({ items: linesOf(3) }), { repeats: 2 });
  await rig.round();
  const batchId = await batchOf(id);
  await rig.batches.run(batchId);
  const open = (await openEvaluation(id))!;
  const settled: (number | null)[] = [];
  do settled.push(await settlePortion({ database }, open, { batchId, bytesMax: 1 }));
  while (settled.at(-1) !== 0);
  expect(settled).toEqual([1, 1, 1, 1, 1, 1, 0]);
  expect(await readEvaluations(holder.rig, { id })).toMatchObject([{ settled: 6, settledTo: 6 }]);
  expect(await rig.run(id)).toMatchObject({ outcome: 'completed', results: [{ runs: 6, failed: 0 }] });
});

test('an evaluation makes rounds only when something of it has ended, also while it is paused', async () => {
  const rig = rigOf();
  const id = await rig.start(await rig.dataset({ items: linesOf(4) }), { repeats: 1, concurrency: 2 });
  await rig.round();
  expect(await openEvaluation(id)).toBeUndefined();
  await rig.batches.round();
  const batchId = await batchOf(id);
  await holder.rig.post(`/v1/batches/${batchId}/pause`, {});
  expect(await readBatches(holder.rig, { id: batchId })).toMatchObject([{ status: 'paused', inFlight: 2 }]);
  expect(await openEvaluation(id)).toBeUndefined();
  // The second run ends before the first one.
  const [first, second] = await rig.batches.waitingSessions();
  const worker = holder.rig.turns.worker();
  for (const [session, ended] of [
    [second, [2]],
    [first, [1, 2]],
  ] as const) {
    await worker.runSession(session!);
    await rig.batches.round();
    expect(await openEvaluation(id)).toMatchObject({ batchStatus: 'paused' });
    expect(await rig.round()).toBe(true);
    expect((await rig.runs(id)).map(({ n }) => n)).toEqual(ended);
    expect(await openEvaluation(id)).toBeUndefined();
  }
  worker.stop();
  await holder.rig.post(`/v1/batches/${batchId}/resume`, {});
  expect(await rig.run(id)).toMatchObject({ outcome: 'completed' });
});

test('a run that an older worker has assembled by itself has failed, and says so', async () => {
  const rig = rigOf();
  const turn = await rig.record('older', 'Hi. [[reply: one]]');
  const id = await rig.start(await rig.copies(turn), { repeats: 2 });
  await rig.round();
  const batchId = await batchOf(id);
  await rig.batches.run(batchId);
  const [{ turnId } = { turnId: null }] = await readBatchItems(holder.rig, { batchId }, 'turnId');
  await changeTurns(holder.rig, { id: turnId ?? '' }, { view: {} });
  expect(await rig.run(id)).toMatchObject({ outcome: 'completed', results: [{ runs: 2, failed: 1 }] });
  expect(await rig.runs(id)).toMatchObject([
    { status: 'failed', reply: null, pass: false, error: { code: 'older_worker' } },
    { status: 'answered', reply: 'one', pass: true, error: null },
  ]);
});

test('the results of a batch whose items have large numbers are all shown', async () => {
  const rig = rigOf();
  const datasetId = newId<string>();
  await addDatasets(holder.rig, { id: datasetId, name: `cases-${datasetId}` });
  for (const n of [1, 800]) await addDatasetItems(holder.rig, { datasetId, n, input: `[[reply: ${n}]]` });
  const id = await rig.start(datasetId);
  await rig.run(id);
  const results = await rig.batches.results(await batchOf(id));
  expect(results.map(({ reply }) => reply)).toEqual(['1', '800']);
});
