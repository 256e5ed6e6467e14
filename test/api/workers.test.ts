import { expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { addSessions } from '../rows/sessions.ts';
import { addTurns } from '../rows/turns.ts';
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
  expect(second.body.items[0]).toMatchObject({ memoryBytes: null, loopDelayMs: null, running: [] });
  expect(await rig.post(`/v1/workers/${RUNNING}/drain`)).toMatchObject({ status: 202, body: { state: 'draining' } });
  const refused = await rig.post(`/v1/workers/${LOST}/drain`);
  expect(refused).toMatchObject({ status: 409, body: { code: 'conflict' } });
  expect(refused.body.detail).toContain('has not reported since');
  expect((await rig.post('/v1/workers/01900000-0000-7000-8000-000000000003/drain')).status).toBe(404);
});

test('a process lists the turns that run in its slots, oldest first', async () => {
  const { rig } = holder;
  const [sessionId, id] = [newId<string>(), newId<string>()];
  await addSessions(rig, { id: sessionId, key: 'agent:main:slotted' });
  await addTurns(
    rig,
    { id, sessionId, status: 'running', worker: 'c', endedAt: null },
    { sessionId, status: 'completed', worker: 'c', endedAt: now },
    { sessionId, status: 'running', worker: 'other', endedAt: null },
  );
  await addWorkers(rig, { name: 'c', seenAt: now });
  const { items } = (await rig.get('/v1/workers')).body;
  expect(items.find(({ name }: { name: string }) => name === 'c').running).toEqual([
    { turnId: id, sessionKey: 'agent:main:slotted', lane: 'main', startedAt: expect.any(String) },
  ]);
});
