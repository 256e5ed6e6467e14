// Goal: if a scheduler or a worker fails at any statement, a tick, a reminder and a poll each
// happen once, and an acknowledged poll leaves no trace (G15, G20); each item of a live batch is
// processed once, with the results of a run without faults (G1, G7, G11), and so is each item of a
// provider batch. Method: the first process that reaches a statement is killed, frozen or cut off
// right before or right after it, and the others continue. Both sweeps strike the same processes.
import { describe, expect, test } from 'vitest';
import { countHeartbeatStates } from '../rows/heartbeats.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { isLongForm } from '../servers/test-form.ts';
import { batchPlay } from './rig/batch-play.ts';
import { startScheduledRig, type ScheduledRig } from './rig/scheduled-rig.ts';
import { sweepScenes, type ScheduledPlay } from './rig/scheduled-sweep.ts';
import { tickPlay } from './rig/tick-play.ts';
import { waitUntil } from './rig/wait-until.ts';

/** Of a worker's turn. */
const workerKinds = ['claim', 'open-turn', 'commit-step', 'finish-turn'];
/**
 * The rounds of a conversation with two tool calls through the provider; each has statements of
 * every kind.
 */
const HOPS = 3;
const faults = isLongForm() ? (['kill', 'freeze', 'cut'] as const) : (['kill', 'freeze'] as const);

let rig: ScheduledRig;
let ticks: ReturnType<typeof tickPlay>;
let batches: ReturnType<typeof batchPlay>;
let providerBatches: ReturnType<typeof batchPlay>;

shareAmongTests(async (onEnd) => {
  const testDatabase = await withTestDatabase();
  onEnd(() => testDatabase.drop());
  const prompt = 'Look around. [[tool: http_effect_idempotent {"key": "beat"}]] [[reply: HEARTBEAT_OK]]';
  const made = await startScheduledRig({
    databaseUrl: testDatabase.url,
    workers: 2,
    schedulers: 2,
    settings: {
      agents: { defaults: { heartbeat: { every: '1h', prompt } } },
      batches: { windowMs: 50, pollMs: { min: 50, max: 200 }, settleMs: 1_000 },
    },
  });
  onEnd(() => made.close());
  rig = made;
  ticks = tickPlay(made);
  batches = batchPlay(made, 'live');
  providerBatches = batchPlay(made, 'provider-batch');
  await waitUntil('the agent is polled', 240_000, async () => (await countHeartbeatStates(rig)) > 0);
});

/** Returns what is wrong after a scene without a fault. */
async function undisturbed<Scene>({ begin, settle, judge }: ScheduledPlay<Scene>): Promise<string[]> {
  const scene = await begin();
  await settle(scene);
  return await judge(scene);
}

describe('a tick, a reminder and a poll', () => {
  /** The statements of a scheduler's round in which all three are due. */
  const schedulerKinds = [
    'due-crons',
    'lock-crons',
    'advance-crons',
    'insert-fires',
    'put-system-event',
    'put-inputs',
    'claim-heartbeats',
    'settle-heartbeat',
    'settle-fires',
    'ended-fires',
    'lock-poll',
    'commit',
  ];

  test.runIf(isLongForm())('happen once each without a fault', async () => {
    expect(await undisturbed(ticks)).toEqual([]);
  });

  test.each(faults)('happen once each when their scheduler suffers a %s (G20)', async (fault) => {
    const points = { victims: rig.schedulers, kinds: schedulerKinds, fault };
    expect(await sweepScenes(ticks, points)).toEqual({ faults: [], missed: [] });
  });

  test.each(faults)(
    'leave no trace of the poll, acknowledged once, when its worker suffers a %s (G7, G15)',
    async (fault) => {
      const points = { victims: rig.workers, kinds: workerKinds, fault };
      expect(await sweepScenes(ticks, points)).toEqual({ faults: [], missed: [] });
    },
  );
});

describe('a live batch', () => {
  const schedulerKinds = [
    'hungry-batches',
    'ready-items',
    'ensure-session',
    'feed-batch',
    'settle-batch-items',
    'open-batches',
    'end-batch',
  ];

  test.runIf(isLongForm())('processes each item once without a fault', async () => {
    expect(await undisturbed(batches)).toEqual([]);
  });

  test.each(faults)('processes each item once when its scheduler suffers a %s (G1, G3)', async (fault) => {
    const points = { victims: rig.schedulers, kinds: schedulerKinds, fault };
    expect(await sweepScenes(batches, points)).toEqual({ faults: [], missed: [] });
  });

  test.each(faults)('processes each item once when its worker suffers a %s (G7, G11)', async (fault) => {
    const points = { victims: rig.workers, kinds: workerKinds, fault };
    expect(await sweepScenes(batches, points)).toEqual({ faults: [], missed: [] });
  });
});

describe('a batch by way of batches of the provider', () => {
  const schedulerKinds = [
    'open-submission',
    'read-params',
    'begin-submission',
    'claim-submission',
    'note-look',
    'note-submitted',
    'store-results',
    'end-reading',
  ];

  test.runIf(isLongForm())('processes each item once without a fault', async () => {
    expect(await undisturbed(providerBatches)).toEqual([]);
  });

  test.each(faults)('processes each item once when its scheduler suffers a %s (G7)', async (fault) => {
    const points = { victims: rig.schedulers, kinds: schedulerKinds, fault, ofEach: HOPS };
    expect(await sweepScenes(providerBatches, points)).toEqual({ faults: [], missed: [] });
  });

  test.each(faults)('processes each item once when its worker suffers a %s (G7, G11)', async (fault) => {
    const kinds = ['claim', 'reserve-cost', 'store-request', 'park-turn', 'commit-step', 'finish-turn'];
    const points = { victims: rig.workers, kinds, fault, ofEach: HOPS };
    expect(await sweepScenes(providerBatches, points)).toEqual({ faults: [], missed: [] });
  });
});
