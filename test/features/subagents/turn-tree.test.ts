// A turn and the turns of its subagents as one tree.
import { expect, test } from 'vitest';
import { viewTurnTree } from '../../../src/features/subagents/turn-tree.ts';
import { newId } from '../../../src/ids.ts';
import { readTurns } from '../../rows/turns.ts';
import { withTestDatabase } from '../../servers/postgres.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';
import { createFamilyRig, spawnCall, type FamilyRig } from '../../turn/family-rig.ts';

let rig: FamilyRig;
shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  const made = await createFamilyRig(database.url, { agents: { defaults: { subagents: { maxSpawnDepth: 2 } } } });
  onEnd(() => made.close());
  rig = made;
});

const treeOf = (turnId: string) => viewTurnTree(rig.database.views, turnId, 30_000);

/** Runs a turn of a session; resolves with its id. */
async function turnOf(name: string, text: string): Promise<string> {
  await rig.send(name, text);
  await rig.worker().run(name);
  const turns = await readTurns(rig, { sessionId: await rig.sessionOf(name) }, 'id');
  return turns
    .map(({ id }) => id)
    .toSorted()
    .at(-1)!;
}

test('a turn is shown with the subagents that it has spawned, those with theirs, and with no others', async () => {
  const worker = rig.worker();
  const task = `${spawnCall('[[reply: deep]]', { label: 'inner' })} [[reply: middle]]`;
  const asked = await turnOf(
    'root',
    `${spawnCall(task, { label: 'outer' })} ${spawnCall('Later', { label: 'waits' })} [[reply: top]]`,
  );
  const [outer] = await rig.runs();
  await worker.runSession(outer!.childId);
  await worker.runSession((await rig.runs()).find(({ label }) => label === 'inner')!.childId);
  const next = await turnOf('root', `${spawnCall('x', { label: 'later' })} [[reply: next]]`);

  const { items, isCapped } = (await treeOf(asked))!;
  const [top, middle, deep] = items;
  expect(items).toMatchObject([
    { depth: 0, parentTurnId: null, run: null, turn: { id: asked, reply: 'top' } },
    { depth: 1, parentTurnId: asked, run: { label: 'outer', sessionKey: outer!.childKey }, turn: { reply: 'middle' } },
    { depth: 2, parentTurnId: middle!.turn!.id, run: { label: 'inner' }, turn: { reply: 'deep' } },
    { depth: 1, parentTurnId: asked, run: { label: 'waits', status: 'running' }, turn: null },
  ]);
  expect(top!.turn!.steps.flatMap(({ tools }) => tools)).toHaveLength(2);
  expect(deep!.turn!.spans.map(({ kind }) => kind)).toContain('model.call');
  expect(isCapped).toBe(false);
  expect((await treeOf(next))!.items.map(({ run }) => run?.label)).toEqual([undefined, 'later']);
  expect((await treeOf(deep!.turn!.id))!.items).toHaveLength(1);
  expect(await treeOf(newId())).toBeNull();
});
