import { expect, test } from 'vitest';
import { ago, now } from '../rows/table.ts';
import { addWorkers } from '../rows/workers.ts';
import { useApiRig } from './use-api-rig.ts';

const holder = useApiRig();

const RUNNING = '01900000-0000-7000-8000-000000000001';
const LOST = '01900000-0000-7000-8000-000000000002';

test('processes are listed newest first with their state, and only one that reports can be drained', async () => {
  const { rig } = holder;
  const lanes = { main: { slots: 4, inUse: 2 } };
  await addWorkers(rig, { id: RUNNING, name: 'a', roles: ['api', 'worker'], version: '1.0.0', lanes, seenAt: now });
  await addWorkers(rig, {
    id: LOST,
    name: 'b',
    pid: 2,
    roles: ['scheduler'],
    version: '1.0.0',
    seenAt: ago('20 seconds'),
  });
  const first = await rig.get('/v1/workers?limit=1');
  expect(first.body.items).toMatchObject([{ id: LOST, state: 'lost', roles: ['scheduler'] }]);
  const second = await rig.get(`/v1/workers?limit=1&cursor=${first.body.nextCursor}`);
  expect(second.body).toMatchObject({
    items: [{ id: RUNNING, state: 'running', lanes: { main: { slots: 4, inUse: 2 } } }],
    nextCursor: null,
  });
  expect(await rig.post(`/v1/workers/${RUNNING}/drain`)).toMatchObject({ status: 202, body: { state: 'draining' } });
  const refused = await rig.post(`/v1/workers/${LOST}/drain`);
  expect(refused).toMatchObject({ status: 409, body: { code: 'conflict' } });
  expect(refused.body.detail).toContain('has not reported since');
  expect((await rig.post('/v1/workers/01900000-0000-7000-8000-000000000003/drain')).status).toBe(404);
});
