// An item is retried by its batch alone: a turn of it is not retried beside the batch, and its dead letters end with the retry.
import { expect, test } from 'vitest';
import { useApiRig } from '../api/use-api-rig.ts';
import { batchRig } from './batch-rig.ts';

const shared = useApiRig();

const BAD = '[[error: 400 times=always]]';

/** A batch that has ended with one failed item. */
async function failedBatch(text = BAD): Promise<{ id: string; turnId: string }> {
  const batches = batchRig(shared.rig);
  const made = await batches.submit({ items: [{ text }, { text: 'good' }], maxFailurePercent: 100 });
  const { id } = made.body;
  expect(await batches.run(id)).toMatchObject({ status: 'ended', counts: { failed: 1 } });
  const [failed] = await batches.results(id);
  return { id, turnId: failed.turnId };
}

const openLetters = async (turnId: string): Promise<string[]> => {
  const rows = await shared.rig.rows(`select id from holdfast.dead_letters where turn_id = $1 and state = 'open'`, [
    turnId,
  ]);
  return rows.map((row) => String(row['id']));
};

test('a turn of an item is not retried beside its batch', async () => {
  const { id, turnId } = await failedBatch();
  expect(await shared.rig.post(`/v1/turns/${turnId}/retry`)).toMatchObject({
    status: 409,
    body: { code: 'conflict', detail: expect.stringContaining(`holdfast batch retry-failed ${id} --n 1`) },
  });
  const [letter] = await openLetters(turnId);
  const redriven = await shared.rig.post('/v1/dead-letters/redrive', { ids: [letter] });
  expect(redriven.body).toMatchObject({
    redriven: 0,
    skipped: 1,
    letters: [{ id: letter, result: 'skipped', reason: expect.stringContaining(`item 1 of the batch ${id}`) }],
  });
  expect(await batchRig(shared.rig).waitingSessions()).toEqual([]);
});

test('retry-failed closes the dead letters of the attempts before, so that redriving all does not run an item once more', async () => {
  const { id, turnId } = await failedBatch();
  expect(await openLetters(turnId)).toHaveLength(1);
  await shared.rig.post(`/v1/batches/${id}/retry-failed`, {});
  expect(await openLetters(turnId)).toEqual([]);
  const batches = batchRig(shared.rig);
  await batches.run(id);
  const [again] = await batches.results(id);
  expect(again).toMatchObject({ attempt: 2, status: 'failed' });
  expect(await openLetters(again.turnId)).toHaveLength(1);
  expect((await shared.rig.post(`/v1/turns/${turnId}/retry`)).status).toBe(409);
});

test('a turn of an item whose batch was deleted is retried as any turn', async () => {
  const { id, turnId } = await failedBatch();
  expect((await shared.rig.ask('DELETE', `/v1/batches/${id}`)).status).toBe(200);
  expect((await shared.rig.post(`/v1/turns/${turnId}/retry`)).status).toBe(202);
});
