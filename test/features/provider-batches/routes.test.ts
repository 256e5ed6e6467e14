import { expect, test } from 'vitest';
import { addProviderBatches } from '../../rows/provider-batches.ts';
import { useApiRig } from '../../api/use-api-rig.ts';

const holder = useApiRig();

test('submissions to the provider are listed newest first, in pages and by status', async () => {
  const { rig } = holder;
  const wasted = { answers: 1, inputTokens: 5, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const read = {
    status: 'read',
    requestCount: 2,
    providerId: 'msgbatch_1',
    isAdopted: true,
    counts: { succeeded: 2 },
    wasted,
  };
  await addProviderBatches(rig, { id: '01900000-0000-7000-8000-000000000001', ...read });
  await addProviderBatches(rig, { id: '01900000-0000-7000-8000-000000000002', status: 'submitting' });
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
