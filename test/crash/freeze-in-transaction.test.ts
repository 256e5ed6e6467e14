// Goal: a process that stops between the lock and the commit of any transaction holds others up
// only for the time that its transaction may be idle (G10, G24); another process does its work,
// once; and when it wakes it does no harm (G7). Method: scenes with schedulers, workers and
// requests are played, and every point found at which a process waits within a transaction. Each
// scene is played again with the process frozen that reaches the last such point of a transaction
// (`HOLDFAST_CRASH_SWEEP=full`: each of its points). What is a transaction is not listed here: it
// is what occurs.
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { countHeartbeatStates } from '../rows/heartbeats.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { batchPlay } from './rig/batch-play.ts';
import { startCrashRig, type CrashRig } from './rig/crash-rig.ts';
import { freezeAt, workBeside } from './rig/freeze-scenes.ts';
import { KEYED_SETTINGS } from './rig/keyed-channels.ts';
import type { Ground, KeyedAnswer, KeyedScenario } from './rig/keyed-ground.ts';
import { KEYED_SCENARIOS } from './rig/keyed-scenarios.ts';
import { startScheduledRig, type ScheduledRig } from './rig/scheduled-rig.ts';
import type { ScheduledPlay } from './rig/scheduled-sweep.ts';
import { SCENARIOS } from './rig/scenarios.ts';
import type { Scene } from './rig/strike-any.ts';
import { newPlay, perform } from './rig/strike-scenario.ts';
import { isFullSweep } from './rig/sweep-points.ts';
import { tickPlay } from './rig/tick-play.ts';
import {
  nameOfPoint,
  watchTransactions,
  type TransactionPoint,
  type TransactionWatch,
} from './rig/transaction-points.ts';
import type { Victim } from './rig/victim.ts';
import { waitUntil } from './rig/wait-until.ts';

/** Fewer show that points are not found. */
const POINTS_MIN = 6;

/** The points at which a process was frozen. */
const frozenIn = new Set<string>();

type FrozenScenes = Parameters<typeof freezeAt>[1];

/**
 * Freezes a process at the recorded points: the last of each transaction at which it waits, or all
 * of them, unless another scene has been played for it. Returns what is wrong.
 */
async function freezeAtAll(recorded: readonly TransactionPoint[], scenes: FrozenScenes): Promise<string[]> {
  const faults: string[] = [];
  for (const points of Map.groupBy(recorded, ({ transaction }) => transaction).values()) {
    for (const point of points.toReversed()) {
      if (frozenIn.has(nameOfPoint(point))) break;
      const found = await freezeAt(point, scenes);
      if (found === null) continue;
      frozenIn.add(nameOfPoint(point));
      faults.push(...found);
      if (!isFullSweep()) break;
    }
  }
  return faults;
}

function sceneOf<Played>({ begin, settle, judge }: ScheduledPlay<Played>): Scene {
  let scene: Played | undefined;
  return {
    play: async () => settle((scene = await begin())),
    judge: async () => (scene === undefined ? ['the scene did not begin'] : judge(scene)),
  };
}

describe('a scheduler or a worker that stops within a transaction', () => {
  let rig: ScheduledRig;
  let watch: TransactionWatch;
  let victims: Victim[];
  const scenes: Record<string, () => Scene> = {};

  shareAmongTests(async (onEnd) => {
    const testDatabase = await withTestDatabase();
    onEnd(() => testDatabase.drop());
    const prompt = 'Look around. [[tool: http_effect_idempotent {"key": "beat"}]] [[reply: HEARTBEAT_OK]]';
    rig = await startScheduledRig({
      databaseUrl: testDatabase.url,
      workers: 2,
      schedulers: 2,
      settings: {
        agents: {
          defaults: { heartbeat: { every: '1h', prompt }, subagents: { maxSpawnDepth: 2, announceDebounce: 50 } },
        },
        batches: { windowMs: 50, pollMs: { min: 50, max: 200 }, settleMs: 1_000 },
      },
    });
    onEnd(() => rig.close());
    victims = [...rig.schedulers, ...rig.workers];
    watch = watchTransactions(victims);
    scenes['ticks, reminders and polls'] = () => sceneOf(ticks);
    scenes['a live batch'] = () => sceneOf(batches);
    scenes['a batch of the provider'] = () => sceneOf(providerBatches);
    for (const scenario of SCENARIOS)
      scenes[scenario.name] = () => {
        const play = newPlay();
        return { play: () => perform(rig, scenario, play), judge: () => scenario.judge(rig, play) };
      };
    const ticks = tickPlay(rig);
    const batches = batchPlay(rig, 'live');
    const providerBatches = batchPlay(rig, 'provider-batch');
    await waitUntil('the agent is polled', 240_000, async () => (await countHeartbeatStates(rig)) > 0);
  });

  test.each([
    'ticks, reminders and polls',
    'a live batch',
    'a batch of the provider',
    ...SCENARIOS.map(({ name }) => name),
  ])('leaves %s to others, and each thing happens once (G7, G10, G24)', async (name) => {
    const newScene = scenes[name]!;
    const recorded = await watch.record(async () => {
      const scene = newScene();
      await scene.play();
      expect(await scene.judge()).toEqual([]);
    });
    const how = { watch, victims, database: rig.database, others: () => workBeside(rig), newScene };
    expect(await freezeAtAll(recorded, how)).toEqual([]);
  });
});

describe('an api process that stops within a transaction', () => {
  let rig: CrashRig;
  let second: Victim;
  let watch: TransactionWatch;
  let sessions = 0;

  shareAmongTests(async (onEnd) => {
    const testDatabase = await withTestDatabase();
    onEnd(() => testDatabase.drop());
    rig = await startCrashRig({ databaseUrl: testDatabase.url, workers: 0, settings: KEYED_SETTINGS });
    onEnd(() => rig.close());
    second = await rig.startVictim('api-2', 'api');
    watch = watchTransactions([rig.api]);
    // The first request of a process opens connections.
    await groundOf(rig.api).post('/v1/sessions/first/messages', { text: 'x' });
  });

  const newSession = (): string => `frozen-${(sessions += 1)}`;
  const groundOf = (victim: Victim): Ground => ({
    post: (path, body, key) => rig.clientOf(victim).ask(path, body, key),
    rows: async (sql, values = []) => (await rig.database.query<Record<string, unknown>>(sql, values)).rows,
  });

  const others = async (): Promise<void> => {
    const answer = await groundOf(second).post(`/v1/sessions/${newSession()}/messages`, { text: 'one' });
    expect(answer.status).toBe(202);
  };

  /**
   * A client that gives up at the first process when it is frozen, and sends its request twice to
   * the second.
   */
  function sceneOfRequest({ prepare, secret }: KeyedScenario): Scene {
    const other = groundOf(second);
    const frozen = Promise.withResolvers<null>();
    let first: Promise<KeyedAnswer | null> = Promise.resolve(null);
    let isFrozen = false;
    let wasJudged = false;
    const faults: string[] = [];
    let effects = (): Promise<number> => Promise.resolve(0);
    return {
      async play() {
        const request = await prepare(other, newSession());
        ({ effects } = request);
        const key = randomUUID();
        first = groundOf(rig.api)
          .post(request.path, request.body, key)
          .catch(() => null);
        await Promise.race([first, frozen.promise]);
        const again = await other.post(request.path, request.body, key);
        await request.meanwhile?.();
        const last = await other.post(request.path, request.body, key);
        const body = secret === undefined ? again.body : { ...again.body, [secret]: null };
        if (again.status !== request.status) faults.push(`answered ${again.status}: ${JSON.stringify(again.body)}`);
        if (!isDeepStrictEqual(last.body, body)) faults.push('two retries were answered differently');
        if (!last.isReplay) faults.push('the answer of a retry is not marked as a replay');
      },
      async judge() {
        // Judged again when the process has woken.
        const late = isFrozen && wasJudged ? await first : null;
        wasJudged = true;
        const n = await effects();
        return [
          ...faults.splice(0),
          ...(n === 1 ? [] : [`it had ${n} effects`]),
          ...(late === null || late.status < 400 || late.status === 503
            ? []
            : [`it is answered ${late.status} at last: ${JSON.stringify(late.body)}`]),
        ];
      },
      whileFrozen() {
        isFrozen = true;
        frozen.resolve(null);
        return Promise.resolve([]);
      },
    };
  }

  test.each(KEYED_SCENARIOS)('leaves $name to another, with one effect and one answer (G2)', async (scenario) => {
    await rig.api.revive();
    const recorded = await watch.record(async () => {
      const { path, body } = await scenario.prepare(groundOf(second), newSession());
      await groundOf(rig.api).post(path, body, randomUUID());
    });
    const newScene = (): Scene => sceneOfRequest(scenario);
    const how = { watch, victims: [rig.api], database: rig.database, others, newScene };
    expect(await freezeAtAll(recorded, how)).toEqual([]);
  });
});

test('a process was stopped in each transaction', () => {
  process.stderr.write(`Frozen in ${[...frozenIn].toSorted().join('; ')}\n`);
  expect(frozenIn.size).toBeGreaterThan(POINTS_MIN);
});
