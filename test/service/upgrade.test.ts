// Goal: an upgrade under load, and its rollback, lose, double and fail nothing (G26). Method:
// clients keep a service of this version busy, with a cron, a batch and open turns, while processes
// of the next version join, migrate the database and replace it one by one; an old worker is
// restarted on the layout of the new version; finally the old version is started again, on the same
// data. Then everything is counted.
import { expect, onTestFinished, test } from 'vitest';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { readBatchItems } from '../rows/batches.ts';
import { readCronFires } from '../rows/crons.ts';
import { above, grouped } from '../rows/table.ts';
import { countTurns } from '../rows/turns.ts';
import { makeNextVersion, NEXT_MIGRATION } from './rig/next-version.ts';
import { openServiceRig, type RunningProcess, type ServiceRig } from './rig/service-rig.ts';
import { judge, startLoad, toolLoop, untilQuiet, type SteadyLoad } from './rig/steady-load.ts';

const sessions = 12;
const answeredBetweenSteps = 24;
const pauseMs = 300;
const items = 40;
const withinMs = 150_000;

async function answerMore(load: SteadyLoad): Promise<void> {
  const until = load.answered() + answeredBetweenSteps;
  await waitUntil('more is answered', withinMs, () => load.answered() >= until);
}

async function begin(rig: ServiceRig, front: RunningProcess): Promise<{ batchId: string }> {
  const api = rig.apiOf(front);
  const batch = await api.ask('POST', '/v1/batches', {
    name: 'upgraded',
    via: 'live',
    concurrency: 1,
    items: Array.from({ length: items }, (_, n) => ({
      customId: `item-${n}`,
      text: `[[delay: 200]] [[reply: Item ${n}.]]`,
    })),
  });
  expect(batch.status).toBe(201);
  const cron = await api.ask('POST', '/v1/crons', {
    name: 'every-second',
    schedule: { kind: 'every', everyMs: 1_000 },
    payload: { kind: 'agentTurn', message: '[[reply: ticked]]' },
  });
  expect(cron.status).toBe(201);
  return { batchId: batch.body.id };
}

test('versions n and n+1 run side by side, n restarts on the layout of n+1, and a rollback needs no change of data (G26)', async () => {
  const next = makeNextVersion();
  onTestFinished(() => next.remove());
  // On a busy machine a scheduler can be later than the next slot.
  const cron = { misfire: 'run_all', maxCatchUp: 1_000 };
  const rig = await openServiceRig({ queue: 'postgres', config: { cron } });
  onTestFinished(() => rig.close());
  const start = (roles: string, isNext: boolean): Promise<RunningProcess> =>
    rig.start(roles, isNext ? { rootDir: next.rootDir } : {});
  const end = async (process: RunningProcess): Promise<void> => {
    expect(await process.end('SIGTERM')).toBe(0);
  };

  // The clients talk to both versions when there are two.
  const apis = await Promise.all([start('api,scheduler', false), start('api,scheduler', false)]);
  const oldWorkers = await Promise.all([start('worker', false), start('worker', false)]);
  const { batchId } = await begin(rig, apis[0]);
  const load = startLoad(
    apis.map((api) => rig.apiOf(api)),
    { name: 'up', sessions, pauseMs, script: toolLoop },
  );
  onTestFinished(() => void load.stop());
  await answerMore(load);

  // The first process of the new version migrates the database under the old ones.
  const newWorker = await start('worker', true);
  await answerMore(load);
  expect(await rig.rows('select name from holdfast.migrations where name = $1', [NEXT_MIGRATION])).toHaveLength(1);

  // An old worker is restarted beside it, as after a restart of its host.
  await end(oldWorkers[0]);
  const restarted = await start('worker', false);
  expect(restarted.output()).toContain(NEXT_MIGRATION);
  await answerMore(load);

  // Only new workers, and a new API and scheduler beside the old ones.
  const newFront = await start('api,scheduler', true);
  await Promise.all([end(oldWorkers[1]), end(restarted)]);
  expect((await rig.apiOf(newFront).ask('GET', '/readyz')).status).toBe(200);
  await answerMore(load);

  // Back to the old version.
  const back = await start('worker', false);
  await Promise.all([end(newWorker), end(newFront)]);
  await answerMore(load);
  expect(back.isAlive()).toBe(true);

  const sent = await load.stop();
  await untilQuiet(rig, 'up', withinMs);
  await waitUntil('the batch has ended', withinMs, async () => {
    const { body } = await rig.apiOf(apis[0]).ask('GET', `/v1/batches/${batchId}`);
    return body.status === 'ended';
  });
  expect(sent.flatMap(({ refusals }) => refusals)).toEqual([]);
  expect(await judge(rig, 'up', sent)).toEqual([]);
  expect(grouped(await readBatchItems(rig, {}, 'status'), 'status')).toEqual([{ status: 'answered', n: items }]);
  const ticks = await readCronFires(rig, {}, 'status', 'scheduledFor');
  expect(ticks.filter(({ status }) => !['claimed', 'completed'].includes(status))).toEqual([]);
  const seconds = ticks.map(({ scheduledFor }) => Number(scheduledFor) / 1000);
  expect(seconds.slice(1).filter((at, n) => at - seconds[n]! !== 1)).toEqual([]);
  expect(await countTurns(rig, { status: ['failed', 'timedOut'] })).toBe(0);
  expect(await countTurns(rig, { deaths: above(0) })).toBe(0);
  const keys = rig.effects.effects.map(({ key }) => key);
  expect(keys.length).toBe(new Set(keys).size);
});
