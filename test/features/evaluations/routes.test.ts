// The routes of evaluations. What rounds do to them is written as rows here.
import { expect, test } from 'vitest';
import { newId } from '../../../src/ids.ts';
import { makeScopedKey } from '../../api/scoped-key.ts';
import { useApiRig } from '../../api/use-api-rig.ts';
import { addBatches, changeBatches, readBatches } from '../../rows/batches.ts';
import {
  addDatasetItems,
  addDatasets,
  addEvaluationRuns,
  changeDatasetItems,
  changeEvaluations,
  countEvaluationRuns,
  countEvaluations,
  readEvaluations,
} from '../../rows/evaluations.ts';
import { now } from '../../rows/table.ts';
import { evaluationRig } from './evaluation-rig.ts';

const KEY = 'hf_viewer_key_of_evaluations';
const holder = useApiRig({ keys: [{ name: 'looker', key: KEY, role: 'viewer' }] });

/** A data set with two items. */
async function dataset(): Promise<{ datasetId: string; name: string }> {
  const datasetId = newId<string>();
  const name = `cases-${datasetId.slice(-6)}`;
  await addDatasets(holder.rig, { id: datasetId, name, itemCount: 2 });
  await addDatasetItems(holder.rig, ...[1, 2].map((n) => ({ datasetId, n })));
  return { datasetId, name };
}

const asked = (name: string) => ({
  dataset: name,
  candidates: [{ name: 'now' }, { name: 'terse', systemPrompt: 'Be terse.' }],
  graders: [{ type: 'contains' as const, text: 'yes' }],
});

/** A new evaluation, in a state that a test gives it. */
async function started(change: Parameters<typeof changeEvaluations>[2] = {}) {
  const { name, datasetId } = await dataset();
  const { status, body } = await holder.rig.post('/v1/evaluations', asked(name));
  expect(status).toBe(201);
  if (Object.keys(change).length > 0) await changeEvaluations(holder.rig, { id: body.id }, change);
  const [row] = await readEvaluations(holder.rig, { id: body.id });
  return { ...row!, datasetId, datasetName: name };
}

const show = async (id: string) => (await holder.rig.get(`/v1/evaluations/${id}`)).body;

test('an evaluation is started with what its request left out', async () => {
  const { name, datasetId } = await dataset();
  const { status, body } = await holder.rig.post('/v1/evaluations', { ...asked(name), name: 'Terse', costCap: 1.5 });
  expect(status).toBe(201);
  expect(body).toMatchObject({
    name: 'Terse',
    dataset: { id: datasetId, name, version: 1 },
    split: 'work',
    status: 'preparing',
    outcome: null,
    candidates: asked(name).candidates,
    graders: asked(name).graders,
    primary: 'contains',
    repeats: 3,
    effect: 5,
    costCapUsd: 1.5,
    costUsd: 0,
    judgingCostUsd: 0,
    results: [],
    batchId: null,
    judgingBatchId: null,
    createdBy: 'admin',
  });
  expect(await show(body.id)).toEqual(body);
  expect((await holder.rig.post('/v1/evaluations', asked(datasetId))).body.dataset.name).toBe(name);
});

test('a request with the same Idempotency-Key starts one evaluation', async () => {
  const { name, datasetId } = await dataset();
  const send = (more: object = {}) =>
    holder.rig.post('/v1/evaluations', { ...asked(name), ...more }, { 'idempotency-key': name });
  const [first, again] = [await send(), await send()];
  expect(again).toMatchObject({ status: 201, body: first.body, headers: { 'idempotent-replayed': 'true' } });
  expect(await countEvaluations(holder.rig, { datasetId })).toBe(1);
  expect(await send({ repeats: 1 })).toMatchObject({ status: 422, body: { code: 'idempotency_mismatch' } });
});

test.each([
  [{ dataset: 'nothing' }, 'dataset', /"nothing".*GET \/v1\/datasets/],
  [{ dataset: undefined }, 'dataset', /is missing; allowed: a text/],
  [{ version: 7 }, 'version', /from 1 to 1 .*got 7/],
  [{ candidates: [] }, 'candidates', /at least 1 item/],
  [{ candidates: [{ name: 'a b' }] }, 'candidates[0].name', /letters, digits/],
  [{ candidates: [{ name: 'a', prompt: 'x' }] }, 'candidates[0].prompt', /unknown field/],
  [{ graders: [{ type: 'regex', pattern: '(' }] }, 'graders[0].pattern', /regular expression/],
  [{ graders: [{ type: 'rouge' }] }, 'graders[0].type', /"rouge"; allowed: .*"equal"/],
  [{ graders: [{ type: 'cost' }, { type: 'cost' }] }, 'graders', /"cost"/],
  [{ primary: 'other' }, 'primary', /contains.*"other"/],
  [{ repeats: 21 }, 'repeats', /20/],
  [{ costCap: 0.0000001 }, 'costCap', /six decimals/],
  [{ split: 'all of it' }, 'split', /work.*heldBack.*all/],
  [{ retries: 3 }, 'retries', /unknown field/],
])('the request with %j is refused', async (change, path, message) => {
  const { name, datasetId } = await dataset();
  const answer = await holder.rig.post('/v1/evaluations', { ...asked(name), ...change });
  expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_body' } });
  expect(answer.body.errors).toContainEqual({ path, message: expect.stringMatching(message) });
  expect(await countEvaluations(holder.rig, { datasetId })).toBe(0);
});

test('evaluations are listed newest first, by state and by data set', async () => {
  const [one, other] = [await started(), await started({ status: 'ended', outcome: 'cancelled', endedAt: now })];
  const list = async (query: string) =>
    (await holder.rig.get(`/v1/evaluations?limit=2&${query}`)).body.items.map(({ id }: { id: string }) => id);
  expect(await list('')).toEqual([other.id, one.id]);
  expect(await list(`dataset=${one.datasetName}`)).toEqual([one.id]);
  expect(await list(`dataset=${other.datasetId.toUpperCase()}`)).toEqual([other.id]);
  expect(await list('dataset=nothing')).toEqual([]);
  expect(await list(`status=ended&dataset=${other.datasetName}`)).toEqual([other.id]);
  expect(await list(`status=running&dataset=${one.datasetName}`)).toEqual([]);
  const wrong = await holder.rig.get('/v1/evaluations?status=done');
  expect(wrong).toMatchObject({ status: 400, body: { errors: [{ path: 'status' }] } });
});

test('an evaluation shows how far it is, and what it has cost', async () => {
  const { id, datasetId } = await started({
    status: 'judging',
    itemCount: 2,
    excluded: 1,
    runCount: 4,
    judgementCount: 2,
  });
  const run = { evaluationId: id, costMicros: 250_000 };
  await addEvaluationRuns(holder.rig, { ...run, n: 1, candidate: 0 }, { ...run, n: 1, candidate: 1 });
  await addEvaluationRuns(holder.rig, { ...run, n: 1, candidate: 0, part: 1, costMicros: 100 });
  // It failed before it asked the model.
  await addEvaluationRuns(holder.rig, { ...run, n: 2, candidate: 0, status: 'failed', turnId: null, costMicros: null });
  await changeDatasetItems(holder.rig, { datasetId, n: 2 }, { state: 'erased', input: null });
  const [row] = await readEvaluations(holder.rig, { id });
  const counts = { items: 2, excluded: 1, erased: 1, runs: 4, ended: 3, judgements: 2, judged: 1 };
  const batches = { batchId: row?.batchId, judgingBatchId: row?.judgingBatchId };
  expect(await show(id)).toMatchObject({ counts, costUsd: 0.5001, judgingCostUsd: 0.0001, ...batches });
  await addEvaluationRuns(holder.rig, { ...run, n: 2, candidate: 1, costMicros: null });
  expect(await show(id)).toMatchObject({ costUsd: null, judgingCostUsd: 0.0001 });
});

test.each(['running', 'judging'] as const)(
  'an evaluation is paused, resumed and cancelled while it is %s',
  async (status) => {
    const { id, ...row } = await started({ status, runCount: 4 });
    const batchId = status === 'running' ? row.batchId : row.judgingBatchId;
    await addBatches(holder.rig, { id: batchId, status: 'running' });
    const command = async (verb: string) => (await holder.rig.post(`/v1/evaluations/${id}/${verb}`)).body;
    expect(await command('pause')).toMatchObject({ id, status: 'paused', detail: 'A person has paused it.' });
    expect(await command('pause')).toMatchObject({ status: 'paused' });
    const list = await holder.rig.get(`/v1/evaluations?status=paused&dataset=${row.datasetName}`);
    expect(list.body.items).toEqual([await show(id)]);
    expect(await command('resume')).toMatchObject({ status, detail: null });
    await changeBatches(
      holder.rig,
      { id: batchId },
      { status: 'paused', pauseReason: 'budget', pauseDetail: 'No money.' },
    );
    expect(await show(id)).toMatchObject({ status: 'paused', detail: 'No money.' });
    expect(await command('cancel')).toMatchObject({ status });
    expect(await readBatches(holder.rig, { id: batchId }, 'status')).toEqual([{ status: 'cancelling' }]);
    expect(await command('cancel')).toMatchObject({ status });
  },
);

test('an evaluation that has not begun to run can be cancelled, and not be paused', async () => {
  const { id } = await started();
  for (const verb of ['pause', 'resume']) {
    const answer = await holder.rig.post(`/v1/evaluations/${id}/${verb}`);
    expect(answer).toMatchObject({ status: 409, body: { code: 'conflict', detail: /has not begun to run/ } });
  }
  const headers = { 'idempotency-key': id };
  const cancelled = await holder.rig.post(`/v1/evaluations/${id}/cancel`, {}, headers);
  expect(cancelled).toMatchObject({ status: 200, body: { status: 'ended', outcome: 'cancelled' } });
  expect(cancelled.body.endedAt).not.toBeNull();
  expect((await holder.rig.post(`/v1/evaluations/${id}/cancel`, {}, headers)).body).toEqual(cancelled.body);
  expect(await holder.rig.post(`/v1/evaluations/${id}/cancel`)).toMatchObject({ status: 200, body: cancelled.body });
});

test.each([
  ['pause', { status: 'ended', outcome: 'completed' }, null, /has ended, so it cannot be paused/],
  ['cancel', { status: 'ended', outcome: 'completed' }, null, /has ended, so it cannot be cancelled/],
  ['cancel', { status: 'running' }, null, /is being started, or was deleted/],
  ['pause', { status: 'running' }, { status: 'ended', outcome: 'completed' }, /being graded/],
  ['resume', { status: 'running' }, { status: 'cancelling' }, /is cancelling/],
  ['resume', { status: 'running' }, { status: 'paused', maxCostMicros: 1, costMicros: 2 }, /cost limit.*maxCostUsd/],
])('%s of an evaluation that is %j with the batch %j is refused', async (verb, change, batch, detail) => {
  const { id, batchId } = await started(change);
  if (batch !== null) await addBatches(holder.rig, { id: batchId, ...batch });
  const answer = await holder.rig.post(`/v1/evaluations/${id}/${verb}`);
  expect(answer).toMatchObject({ status: 409, body: { code: 'conflict' } });
  expect(answer.body.detail).toMatch(detail);
});

test('an ended evaluation is deleted with the rows of its runs', async () => {
  const { id } = await started({ status: 'running' });
  const { id: kept } = await started();
  for (const evaluationId of [id, kept]) await addEvaluationRuns(holder.rig, { evaluationId, n: 1, candidate: 0 });
  const path = `/v1/evaluations/${id}`;
  expect(await holder.rig.ask('DELETE', path)).toMatchObject({ status: 409, body: { detail: /Cancel it first/ } });
  await changeEvaluations(holder.rig, { id }, { status: 'ended', outcome: 'completed' });
  expect(await holder.rig.ask('DELETE', path)).toMatchObject({ status: 200, body: { deleted: true } });
  expect(await holder.rig.ask('DELETE', path)).toMatchObject({ status: 404 });
  expect(await countEvaluationRuns(holder.rig, { evaluationId: [id, kept] })).toBe(1);
});

test('what is not there is not found', async () => {
  const path = `/v1/evaluations/${newId<string>()}`;
  for (const url of [path, `${path}/results`]) expect((await holder.rig.get(url)).status).toBe(404);
  for (const verb of ['pause', 'resume', 'cancel']) expect((await holder.rig.post(`${path}/${verb}`)).status).toBe(404);
  expect((await holder.rig.get('/v1/evaluations/mine')).status).toBe(404);
});

test('a viewer reads evaluations, and starts and controls none', async () => {
  const { id, datasetName } = await started();
  const headers = { authorization: `Bearer ${KEY}` };
  for (const url of ['/v1/evaluations', `/v1/evaluations/${id}`, `/v1/evaluations/${id}/results`])
    expect((await holder.rig.get(url, headers)).status).toBe(200);
  expect((await holder.rig.post('/v1/evaluations', asked(datasetName), headers)).status).toBe(403);
  expect((await holder.rig.post(`/v1/evaluations/${id}/cancel`, {}, headers)).status).toBe(403);
  expect((await holder.rig.ask('DELETE', `/v1/evaluations/${id}`, { headers })).status).toBe(403);
});

test('a key for a part of the service has no evaluations (G44)', async () => {
  const { id, datasetName } = await started();
  const key = await makeScopedKey(holder.rig, { agents: ['main'] });
  const [path, list] = [`/v1/evaluations/${id}`, '/v1/evaluations'];
  const answers = [
    await key.get(list),
    await key.get(path),
    await key.get(`${path}/results`),
    await key.post(list, asked(datasetName)),
    await key.post(`${path}/cancel`),
    await key.ask('DELETE', path),
  ];
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 403));
});

test('an evaluation that is paused runs on after a resume, and its results are read while it runs', async () => {
  const { rig } = holder;
  const evaluations = evaluationRig(rig);
  const items = ['yes', 'no'].map((word) => ({ input: `[[reply: ${word}]]`, tags: { word } }));
  const datasetId = await evaluations.dataset({ items });
  const { id } = (await rig.post('/v1/evaluations', { ...asked(datasetId), repeats: 1, concurrency: 1 })).body;
  const command = async (verb: string) => (await rig.post(`/v1/evaluations/${id}/${verb}`)).body;
  // Its batch is made, and then started.
  for (let at = 0; at < 2; at += 1) await evaluations.round();
  expect(await command('pause')).toMatchObject({ status: 'paused', counts: { items: 2, runs: 4, ended: 0 } });
  await evaluations.run(id);
  expect(await show(id)).toMatchObject({ status: 'paused', counts: { ended: 0 }, results: [] });
  expect(await command('resume')).toMatchObject({ status: 'running', detail: null });
  await evaluations.batches.round();
  await evaluations.batches.workAll();
  await evaluations.batches.round();
  await evaluations.round();
  const results = async () => (await rig.get(`/v1/evaluations/${id}/results`)).body.items;
  expect(await results()).toMatchObject([
    { n: 1, change: 0, candidates: [{ passed: true }, { passed: null, runs: [] }] },
  ]);
  await evaluations.run(id);
  const ended = await show(id);
  expect(ended).toMatchObject({ status: 'ended', outcome: 'completed', counts: { ended: 4 } });
  expect(ended.results).toMatchObject([
    { name: 'now', runs: 2 },
    { name: 'terse', runs: 2 },
  ]);
  // The order of equal items is that of their numbers.
  expect(await results()).toMatchObject([
    { n: 1, rank: 1, change: 0, input: '[[reply: yes]]', tags: { word: 'yes' } },
    { n: 2, rank: 2, change: 0, candidates: [{ passed: false, runs: [{ status: 'answered', reply: 'no' }] }, {}] },
  ]);
  expect(await command('cancel')).toMatchObject({ code: 'conflict' });
  expect(await rig.ask('DELETE', `/v1/evaluations/${id}`)).toMatchObject({ status: 200 });
});

test('a cancelled evaluation has the results of the runs that have ended', async () => {
  const { rig } = holder;
  const evaluations = evaluationRig(rig);
  const datasetId = await evaluations.dataset({ items: [{ input: '[[reply: yes]]' }, { input: '[[reply: no]]' }] });
  const { id } = (await rig.post('/v1/evaluations', { ...asked(datasetId), repeats: 1, concurrency: 1 })).body;
  for (let at = 0; at < 2; at += 1) await evaluations.round();
  await evaluations.batches.round();
  await evaluations.batches.workAll();
  expect((await rig.post(`/v1/evaluations/${id}/cancel`)).status).toBe(200);
  await evaluations.run(id);
  const results = [
    { name: 'now', runs: 1 },
    { name: 'terse', runs: 0 },
  ];
  expect(await show(id)).toMatchObject({
    status: 'ended',
    outcome: 'cancelled',
    counts: { runs: 4, ended: 1 },
    results,
  });
});
