// An item is retried by its batch alone: a turn of it is not retried beside the batch, and its dead
// letters end with the retry.
import { expect, test } from 'vitest';
import { useApiRig } from '../../api/use-api-rig.ts';
import { addDeadLetters, readDeadLetters } from '../../rows/dead-letters.ts';
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
  const rows = await readDeadLetters(shared.rig, { turnId, state: 'open' }, 'id');
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

test('letters of more items than a request takes do not keep others from being redriven', async () => {
  const batches = batchRig(shared.rig);
  const { id, turnId } = await failedBatch();
  // As if each of 500 items had failed: letters that are older than the one of the session.
  const [own] = await readDeadLetters(shared.rig, { turnId }, 'sessionId', 'turnId', 'code', 'reason');
  const ids = Array.from({ length: 500 }, (_, n) => `00000000-0000-7000-8000-${String(n + 1).padStart(12, '0')}`);
  await addDeadLetters(shared.rig, ...ids.map((letterId) => ({ id: letterId, ...own })));
  await shared.rig.post('/v1/sessions/beside/messages', { text: BAD });
  await shared.rig.work('beside');
  const [letter] = await readDeadLetters(shared.rig, { sessionKey: 'agent:main:beside' }, 'id', 'code');
  const redriven = (await shared.rig.post('/v1/dead-letters/redrive', { code: letter?.['code'] })).body;
  expect(redriven.remaining).toBe(0);
  expect(redriven.letters).toContainEqual(expect.objectContaining({ id: letter?.['id'], result: 'redriven' }));
  await batches.run(id);
});
