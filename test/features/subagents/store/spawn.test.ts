// A spawn: one transaction creates the session of a subagent, its run, its first input and the
// ring.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readInputs } from '../../../rows/inputs.ts';
import { readSessions } from '../../../rows/sessions.ts';
import { readSubagentRuns } from '../../../rows/subagents.ts';
import { childOf, familyCounts, spawnFrom, spawnSettings } from '../../../store/family-builders.ts';
import { createStoreRig, type StoreRig } from '../../../store/store-rig.ts';

let rig: StoreRig;
beforeAll(async () => {
  rig = await createStoreRig();
});
afterAll(() => rig.drop());

test('a spawn creates the session, its run, its first input and its ring, and updates the counts above (G18)', async () => {
  const parentId = await rig.session();
  const spawned = await spawnFrom(rig, parentId);
  expect(spawned).toMatchObject({ kind: 'spawned', after: { rings: [{ kind: 'inbound', lane: 'subagent' }] } });
  const { childId, runId } = spawned as { childId: string; runId: string };
  expect(await readSessions(rig, { id: childId }, 'parentId', 'runId', 'waiting')).toEqual([
    { parentId: parentId, runId: runId, waiting: 1 },
  ]);
  expect(await readSubagentRuns(rig, { id: runId }, 'status', 'task')).toEqual([{ status: 'running', task: 'a task' }]);
  expect(await readInputs(rig, { sessionId: childId }, 'kind', 'status')).toEqual([
    { kind: 'message', status: 'waiting' },
  ]);
  expect(await familyCounts(rig, parentId)).toMatchObject({ children: 1, descendants: 1 });
});

test('a second spawn of the same cause returns the first (G18)', async () => {
  const parentId = await rig.session();
  const cause = { turnId: null, causeKey: `cause of ${parentId}`, sentBy: null, idempotency: null };
  const results = [
    ...(await Promise.all([1, 2].map(() => spawnFrom(rig, parentId, { cause })))),
    await spawnFrom(rig, parentId, { cause }),
  ];
  const runs = results.map((result) => (result.kind === 'spawned' ? result.runId : result.code));
  expect(new Set(runs).size).toBe(1);
  expect(await familyCounts(rig, parentId)).toMatchObject({ children: 1, descendants: 1 });
});

test('the limits hold for simultaneous spawns, also for those deeper in the family', async () => {
  const parentId = await rig.session();
  const settings = spawnSettings(2, 3, 4);
  const many = await Promise.all(Array.from({ length: 8 }, () => spawnFrom(rig, parentId, { settings })));
  expect(many.filter(({ kind }) => kind === 'spawned')).toHaveLength(3);
  const refused = many.filter((result) => result.kind === 'limit');
  expect(new Set(refused.map(({ code }) => code))).toEqual(new Set(['children']));
  const child = many.find((result) => result.kind === 'spawned');
  const below = await Promise.all([1, 2].map(() => spawnFrom(rig, child!.childId, { settings })));
  expect(below.map((result) => (result.kind === 'limit' ? result.code : result.kind)).toSorted()).toEqual([
    'descendants',
    'spawned',
  ]);
});

test('a session at the greatest depth spawns nothing', async () => {
  const { childId } = await childOf(rig, await rig.session());
  const settings = spawnSettings(1, 3, 4);
  expect(await spawnFrom(rig, childId, { settings })).toMatchObject({ kind: 'limit', code: 'depth' });
});
