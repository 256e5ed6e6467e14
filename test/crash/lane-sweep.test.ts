// Goal: whatever happens to a scheduler or a worker at whatever statement, each item of a batch that is answered in batches of the provider is
// processed once, no tool runs twice, and every batch of the provider is known (G7, G11). Method: a batch of 8 items with two hops each; the
// process that comes first to a statement is killed, frozen past its lease or cut off right before or right after it, and the others continue.
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
  'open-submission',
  'read-params',
  'begin-submission',
  'note-submitted',
  'claim-submission',
  'note-look',
  'store-results',
  'end-reading',
];
const workerKinds = ['claim', 'park-turn', 'commit-step', 'finish-turn'];

/** Waits are short, and a submission whose outcome is unknown is given up soon. */
const settings = { batches: { windowMs: 50, pollMs: { min: 50, max: 200 }, settleMs: 1_000 } };

let rig: ScheduledRig;

shareAmongTests(async (onEnd) => {
  const testDatabase = await withTestDatabase();
  onEnd(() => testDatabase.drop());
  const made = await startScheduledRig({ databaseUrl: testDatabase.url, workers: 2, schedulers: 2, settings });
  onEnd(() => made.close());
  rig = made;
});

/** What is wrong with a scene that is over: of its batch, and of the batches of the provider. */
async function judge(scene: BatchScene): Promise<string[]> {
  const faults = await judgeBatchScene(rig, scene);
  const answered = await rig.rows<{ turn_id: string; n: number }>(
    `select r.turn_id, count(*)::int as n from holdfast.provider_requests r where r.batch_id = $1 and r.status = 'answered'
     group by r.turn_id having count(*) <> 3`,
    [scene.batchId],
  );
  for (const { turn_id: turnId, n } of answered) faults.push(`the turn ${turnId} has ${n} answers in place of 3`);
  const known = await rig.rows<{ id: string }>(
    'select provider_id as id from holdfast.provider_batches where provider_id is not null',
  );
  const made = rig.model.batches.records.map(({ id }) => id);
  const unknown = made.filter((id) => !known.some((row) => row.id === id));
  if (unknown.length > 0) faults.push(`batches of the provider that are not known: ${unknown.join(', ')}`);
  return faults;
}

/** In the long form a third of all points; in the short form one, which leaves a submission with an unknown outcome. */
function pointsOf(kinds: readonly string[], fault: AnyPoint['fault']): AnyPoint[] {
  const all = kinds.flatMap((kind) => (['before', 'after'] as const).map((when) => ({ fault, when, kind })));
  const some = all.filter((_, at) => at % 3 === 0);
  const one = all.filter((point) => nameOfAny(point) === 'kill before note-submitted');
  const taken = isFullSweep() ? all : isLongForm() ? some : one;
  printPoints('a batch of the provider', taken, all);
  return taken;
}

async function sweep(victims: readonly Victim[], points: readonly AnyPoint[]) {
  const faults: string[] = [];
  const missed: string[] = [];
  for (const point of points) {
    let scene: BatchScene | undefined;
    const struck = await strikeAny(victims, point, {
      play: async () => settleBatch(rig, (scene = await beginBatch(rig, 'provider-batch'))),
      judge: async () => (scene === undefined ? ['the batch was not submitted'] : judge(scene)),
    });
    if (!struck.isStruck) missed.push(nameOfAny(point));
    faults.push(...struck.faults.map((fault) => `${nameOfAny(point)}: ${fault}`));
  }
  return { faults, missed };
}

test.runIf(isLongForm())('without a fault each item is processed once', async () => {
  const scene = await beginBatch(rig, 'provider-batch');
  await settleBatch(rig, scene);
  expect(await judge(scene)).toEqual([]);
});

test.each(['kill', 'freeze', 'cut'] as const)(
  'a batch of the provider whose scheduler suffers a %s processes each item once (G7)',
  async (fault) => {
    expect(await sweep(rig.schedulers, pointsOf(schedulerKinds, fault))).toEqual({ faults: [], missed: [] });
  },
);

test.each(['kill', 'freeze', 'cut'] as const)(
  'a batch of the provider whose worker suffers a %s processes each item once (G7, G11)',
  async (fault) => {
    expect(await sweep(rig.workers, pointsOf(workerKinds, fault))).toEqual({ faults: [], missed: [] });
  },
);
