import { expect, test } from 'vitest';
import { useApiRig } from './use-api-rig.ts';

const holder = useApiRig();

test('submissions to the provider are listed newest first, in pages and by status', async () => {
  const { rig } = holder;
  await rig.rows(`insert into holdfast.provider_batches (id, account, status, request_count, body_bytes, body_sha256, provider_id, is_adopted, counts, wasted)
    values ('01900000-0000-7000-8000-000000000001', 'a', 'read', 2, 10, 'x', 'msgbatch_1', true, '{"succeeded": 2}',
        '{"answers": 1, "inputTokens": 5, "outputTokens": 1, "cacheReadTokens": 0, "cacheWriteTokens": 0}'),
      ('01900000-0000-7000-8000-000000000002', 'a', 'submitting', 1, 10, 'x', null, false, null, null)`);
  const first = await rig.get('/v1/provider-batches?limit=1');
  expect(first.body.items).toMatchObject([{ status: 'submitting', providerId: null, counts: null, wasted: null }]);
  const second = await rig.get(`/v1/provider-batches?limit=1&cursor=${first.body.nextCursor}`);
  expect(second.body.items).toMatchObject([
    {
      providerId: 'msgbatch_1',
      status: 'read',
      isAdopted: true,
      requestCount: 2,
      counts: { succeeded: 2 },
      wasted: { answers: 1 },
    },
  ]);
  expect((await rig.get('/v1/provider-batches?status=read')).body.items).toHaveLength(1);
  expect((await rig.get('/v1/provider-batches?status=unheard')).status).toBe(400);
});

test('a message accepts only the values of `via` that its model supports', async () => {
  const { rig } = holder;
  const send = (via: string) => rig.post('/v1/sessions/ways/messages', { text: 'hello', via });
  expect((await send('provider-batch')).status).toBe(202);
  expect((await send('live')).status).toBe(202);
  expect((await send('auto')).status).toBe(202);
  expect(await send('other')).toMatchObject({ status: 400, body: { errors: [{ path: 'via' }] } });
});
