// What an evaluation is started with, and what is refused before anything is stored.
import { expect, test } from 'vitest';
import { newId } from '../../../src/ids.ts';
import type { EvaluationRequest } from '../../../src/features/evaluations/contract.ts';
import { startEvaluation } from '../../../src/features/evaluations/start-evaluation.ts';
import { useApiRig } from '../../api/use-api-rig.ts';
import { addDatasetItems, addDatasets, countEvaluations, readEvaluations } from '../../rows/evaluations.ts';

const holder = useApiRig({ limits: { batchItems: 100 } });

/** A data set with two items, of which one has calls, and one that is held back. */
async function dataset(): Promise<string> {
  const id = newId<string>();
  await addDatasets(holder.rig, { id, name: `cases-${id}`, version: 2 });
  const item = { datasetId: id };
  await addDatasetItems(
    holder.rig,
    { ...item, n: 1, tags: { kind: 'short' } },
    { ...item, n: 2, callCount: 1, tags: { kind: 'long' } },
    { ...item, n: 3, version: 2, split: 'heldBack', agentId: 'gone', tags: {} },
  );
  return id;
}

const ASKED = { candidates: [{ name: 'now' }], graders: [{ type: 'equal' as const }] };

function start(datasetId: string, asked: Partial<EvaluationRequest> = {}, key: string | null = null) {
  const request = { dataset: datasetId, ...ASKED, ...asked };
  const idempotency = key === null ? null : { scope: 'test', key, sha256: 'x' };
  return startEvaluation(holder.rig.context.service, { request, createdBy: 'admin', idempotency });
}

test('an evaluation is stored with all that its request left out', async () => {
  const id = await dataset();
  const started = await start(id, { name: 'First', costCap: 0.5, tags: { kind: 'short' } });
  expect(started).toMatchObject({ kind: 'started' });
  const [row] = await readEvaluations(holder.rig, { datasetId: id });
  expect(row).toMatchObject({
    name: 'First',
    status: 'preparing',
    datasetVersion: 2,
    maxCostMicros: 500_000,
    createdBy: 'admin',
    spec: {
      ...ASKED,
      split: 'work',
      tags: { kind: 'short' },
      primary: 'equal',
      repeats: 3,
      effect: 5,
      unknownCalls: 'diverge',
      via: 'live',
      concurrency: 16,
    },
  });
});

const judge = { type: 'model' as const, rubric: 'It is good.' };

test.each<[string, string, Partial<EvaluationRequest>]>([
  ['candidates[1].name', 'another candidate has the name "now"', { candidates: [{ name: 'now' }, { name: 'now' }] }],
  ['graders', 'several graders have the name "equal"', { graders: [{ type: 'equal' }, { type: 'equal' }] }],
  ['primary', 'got "other"', { primary: 'other' }],
  ['version', 'expected a version from 1 to 2', { version: 3 }],
  [
    'candidates[0].model',
    'no provider serves the model "nowhere/x"',
    { candidates: [{ name: 'a', model: 'nowhere/x' }] },
  ],
  [
    'graders[1].model',
    'no provider serves the model "nowhere/x"',
    { graders: [{ type: 'equal' }, { ...judge, model: 'nowhere/x' }] },
  ],
  ['dataset', 'no item of this version can be run', { tags: { kind: 'none' } }],
  ['dataset', 'no item of this version can be run in the part "heldBack"', { split: 'heldBack', version: 1 }],
  ['dataset', 'the agent "gone"', { split: 'heldBack' }],
  ['via', 'recorded calls of tools', { via: 'provider-batch' }],
  [
    'repeats',
    '2 items, 3 candidates and 20 repeats are 120 runs, and 100 are allowed',
    { repeats: 20, candidates: ['a', 'b', 'c'].map((name) => ({ name })) },
  ],
  [
    'graders',
    'would make 160 judgements of 2 items, 2 candidates and 20 repeats, and 100 are allowed',
    {
      repeats: 20,
      candidates: [{ name: 'a' }, { name: 'b' }],
      graders: [{ ...judge, name: 'duel', mode: 'pair' }, judge],
    },
  ],
])('a request is refused by %s: %s', async (path, message, asked) => {
  const id = await dataset();
  expect(await start(id, asked)).toEqual({ kind: 'invalid', path, message: expect.stringContaining(message) });
  expect(await countEvaluations(holder.rig, { datasetId: id })).toBe(0);
});

test('a data set is found by its id and its name, and an unknown one is refused', async () => {
  const id = await dataset();
  expect(await start(`cases-${id}`)).toMatchObject({ kind: 'started' });
  expect(await start(newId<string>())).toEqual({ kind: 'unknown_dataset' });
  expect(await start('no-such-cases')).toEqual({ kind: 'unknown_dataset' });
});

test('items that have no calls may go through batches of the provider', async () => {
  const id = await dataset();
  expect(await start(id, { via: 'provider-batch', tags: { kind: 'short' } })).toMatchObject({ kind: 'started' });
});

test('a key is stored with the evaluation, or neither is (G2)', async () => {
  const id = await dataset();
  expect(await start(id, {}, id)).toMatchObject({ kind: 'started' });
  await expect(start(id, {}, id)).rejects.toMatchObject({ code: '23505' });
  expect(await countEvaluations(holder.rig, { datasetId: id })).toBe(1);
});
