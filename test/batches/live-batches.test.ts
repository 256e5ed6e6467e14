// A live batch from its submission to its results, over the API, with real turns.
import { expect, test } from 'vitest';
import { useApiRig } from '../api/use-api-rig.ts';
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

test('the sessions of a batch are listed only when their kind is asked for', async () => {
  const made = await batchRig(shared.rig).submit({ items: [{ text: 'listed' }] });
  await batchRig(shared.rig).run(made.body.id);
  const keys = async (query: string): Promise<string[]> =>
    (await shared.rig.get(`/v1/sessions${query}`)).body.items.map((item: { key: string }) => item.key);
  const own = expect.stringContaining(`batch:${made.body.id.slice(-12)}`);
  expect(await keys('')).not.toContainEqual(own);
  expect(await keys('?kind=batch')).toContainEqual(own);
  expect((await shared.rig.get('/v1/sessions?kind=batches')).status).toBe(400);
});
