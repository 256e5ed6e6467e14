// Goal: whatever happens to a scheduler or a worker at whatever statement, each item of a live batch is processed once, and its results are
// those of a run without faults (G1, G7, G11). Method: a batch of 8 items with two tool calls each, one of them in a shared session; the
// process that comes first to a statement is killed, frozen or cut off right before or right after it, and the others continue.
import { expect, test } from 'vitest';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { isLongForm } from '../servers/test-form.ts';
import { beginBatch, judgeBatchScene, settleBatch, type BatchScene } from './rig/batch-scene.ts';
import { startScheduledRig, type ScheduledRig } from './rig/scheduled-rig.ts';
import { nameOfAny, strikeAny, type AnyPoint } from './rig/strike-any.ts';
import { isFullSweep, printPoints } from './rig/sweep-points.ts';
import type { Victim } from './rig/victim.ts';

const schedulerKinds = [
  'hungry-batches',
  'ready-items',
  'ensure-session',
  'feed-batch',
  'settle-batch-items',
  'open-batches',
  'end-batch',
];
const workerKinds = ['claim', 'open-turn', 'commit-step', 'finish-turn'];

let rig: ScheduledRig;

shareAmongTests(async (onEnd) => {
  const testDatabase = await withTestDatabase();
  onEnd(() => testDatabase.drop());
  const made = await startScheduledRig({ databaseUrl: testDatabase.url, workers: 2, schedulers: 2 });
  onEnd(() => made.close());
  rig = made;
});

/** In the long form one of each pair in turn for kills, and of every other pair for the rest; in the short form a sixth of them. */
function pointsOf(kinds: readonly string[], fault: AnyPoint['fault']): AnyPoint[] {
  const all = kinds.flatMap((kind) => (['before', 'after'] as const).map((when) => ({ fault, when, kind })));
  const some = all.filter((_, at) => at % 4 === 0 || (fault === 'kill' && at % 4 === 3));
  const taken = isFullSweep() ? all : isLongForm() ? some : some.filter((_, at) => at % 6 === 1);
  printPoints('a batch', taken, all);
  return taken;
}

async function sweep(victims: readonly Victim[], points: readonly AnyPoint[]) {
  const faults: string[] = [];
  const missed: string[] = [];
  for (const point of points) {
    let scene: BatchScene | undefined;
    const struck = await strikeAny(victims, point, {
      play: async () => settleBatch(rig, (scene = await beginBatch(rig, 'live'))),
      judge: async () => (scene === undefined ? ['the batch was not submitted'] : judgeBatchScene(rig, scene)),
    });
    if (!struck.isStruck) missed.push(nameOfAny(point));
    faults.push(...struck.faults.map((fault) => `${nameOfAny(point)}: ${fault}`));
  }
  return { faults, missed };
}

test('without a fault each item is processed once', async () => {
  const scene = await beginBatch(rig, 'live');
  await settleBatch(rig, scene);
  expect(await judgeBatchScene(rig, scene)).toEqual([]);
});

test.each(['kill', 'freeze', 'cut'] as const)(
  'a batch whose scheduler suffers a %s processes each item once (G1, G3)',
  async (fault) => {
    expect(await sweep(rig.schedulers, pointsOf(schedulerKinds, fault))).toEqual({ faults: [], missed: [] });
  },
);

test.each(['kill', 'freeze', 'cut'] as const)(
  'a batch whose worker suffers a %s processes each item once (G7, G11)',
  async (fault) => {
    expect(await sweep(rig.workers, pointsOf(workerKinds, fault))).toEqual({ faults: [], missed: [] });
  },
);
