// Any interleaving of messages in any mode, stops and crashes of workers has the result of a model
// in memory, and sends no request that the model server refuses (G1, G3, G4, G6, G10, G12, G24).
// After each step, every waiting message says why it waits. Many scenarios are played concurrently,
// each in its own session; the first that differs is shrunk as far as possible.
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withTestDatabase } from '../../servers/postgres.ts';
import { isFullForm, isLongForm } from '../../servers/test-form.ts';
import { createTurnRig, type TurnRig } from '../turn-rig.ts';
import { anyScenario, playScenario, stepTool, type Scenario } from './play-scenario.ts';
import { reportFreeWorker } from './wrong-reasons.ts';

const RUNS = Number(process.env['HOLDFAST_INTERLEAVINGS'] ?? (isFullForm() ? 2_000 : isLongForm() ? 400 : 40));
const SEED = Number(process.env['HOLDFAST_SEED'] ?? Math.trunc(Math.random() * 2 ** 31));
const AT_ONCE = 16;
const MS_MAX = 1_200_000;

let database: Awaited<ReturnType<typeof withTestDatabase>>;
let rig: TurnRig;
let played = 0;

beforeAll(async () => {
  database = await withTestDatabase();
  const settings = { messages: { queue: { debounceMs: 0 } } };
  rig = await createTurnRig(database.url, { tools: [stepTool], settings, leaseMs: 600_000 });
  await reportFreeWorker(rig);
});
afterAll(async () => {
  await rig.close();
  await database.drop();
});

/** Scenarios that failed once, each shrunk. */
const WENT_WRONG: Record<string, Scenario> = {
  'a message joined the turn of a follow-up of another route (G6)': [
    {
      arrivals: [
        { kind: 'send', mode: 'followup', route: 'there' },
        { kind: 'send', mode: 'steer-backlog', route: 'there' },
      ],
      calls: [
        [{ kind: 'send', mode: 'steer', route: 'here' }],
        [
          { kind: 'send', mode: 'steer', route: 'here' },
          { kind: 'send', mode: 'interrupt', route: 'here' },
        ],
        [{ kind: 'send', mode: 'steer', route: 'here' }],
      ],
    },
  ],
};

/** In the short form, few of the scenarios ask after each step: that takes as long as the rest. */
const ASKS_WHY_EVERY = isLongForm() ? 1 : 10;

function play(scenario: Scenario): Promise<string | null> {
  played += 1;
  return playScenario(rig, { name: `play-${played}`, asksWhy: played % ASKS_WHY_EVERY === 0 }, scenario);
}

test.each(Object.entries(WENT_WRONG))('right again: %s', async (_, scenario) => {
  expect(await play(scenario)).toBeNull();
});

test(
  `${RUNS} interleavings end as the model says, and no message waits without a reason (seed ${SEED})`,
  async () => {
    const scenarios = fc.sample(anyScenario, { numRuns: RUNS, seed: SEED });
    const wrong: Scenario[] = [];
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (let next = scenarios.pop(); next !== undefined && wrong.length === 0; next = scenarios.pop()) {
          if ((await play(next)) !== null) wrong.push(next);
        }
      }),
    );
    if (wrong.length === 0) return;
    // Reports the difference for the smallest scenario that has one.
    const property = fc.asyncProperty(anyScenario, async (scenario) => {
      expect(await play(scenario)).toBeNull();
    });
    await fc.assert(property, { numRuns: RUNS, seed: SEED, endOnFailure: false });
    expect(await play(wrong[0] as Scenario), 'a failure that did not come again').toBeNull();
  },
  MS_MAX,
);
