// Goal: the sweeps can fail. Method: disable one safeguard at a time, in a copy of the product or
// by dropping an index, strike where it matters, and expect the judges to object. Runs with
// `HOLDFAST_CRASH_SWEEP=mutants`. If no judge objects to the absence of a safeguard, it is either
// unnecessary or untested.
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { countInputs } from '../rows/inputs.ts';
import { dropConstraint } from '../rows/whole-tables.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import type { HeldBytes } from '../servers/round-trips.ts';
import { startCrashRig, type CrashRig } from './rig/crash-rig.ts';
import type { StrikePoint } from './rig/fault.ts';
import { countPlaces, makeMutant, type SourceChange } from './rig/mutant.ts';
import { SCENARIOS } from './rig/scenarios.ts';
import { nameOf, strike } from './rig/strike.ts';
import type { AnyPoint } from './rig/strike-any.ts';
import { strikeScenario } from './rig/strike-scenario.ts';
import { safeguards as suiteSafeguards } from './rig/suite-mutants.ts';

interface Safeguard {
  name: string;
  changes: SourceChange[];
  points: StrikePoint[];
  /** What the judges report for at least one of the points' faults. */
  says: RegExp;
}

const journal = 'src/kernel/turn/journal';

const safeguards: Safeguard[] = [
  {
    name: 'the epoch check of a step and of the end of a turn',
    changes: [
      {
        file: `${journal}/write-parts.ts`,
        find: 'select head.n, s.epoch = head.epoch and s.turn_id',
        replace: 'select head.n, s.turn_id',
      },
      {
        file: `${journal}/write-parts.ts`,
        find: 's.epoch = head.epoch and s.turn_id = head.turn_id and s.entry_seq = head.base_seq as is_new',
        replace: 's.turn_id = head.turn_id and s.entry_seq = head.base_seq as is_new',
      },
    ],
    points: [
      { fault: 'race', when: 'before', kind: 'commit-step', ordinal: 2 },
      { fault: 'race', when: 'before', kind: 'finish-turn', ordinal: 1 },
    ],
    says: /old epoch wrote to (entries|tool_calls)/,
  },
  {
    name: 'the epoch check of the beginning of a turn',
    changes: [
      {
        file: `${journal}/open-turn.ts`,
        find: `when s.epoch <> head.epoch then 'fenced'`,
        replace: `when false then 'fenced'`,
      },
    ],
    points: [{ fault: 'race', when: 'before', kind: 'open-turn', ordinal: 1 }],
    says: /old epoch wrote to turns/,
  },
  {
    name: 'what a worker knows of its own lease',
    changes: [
      {
        file: 'src/lease-keeper.ts',
        find: 'this.#clock.monotonicMs() >= this.#askedAtMs + this.#leaseMs * TRUSTED',
        replace: 'false',
      },
      // A refused renewal reports it too, if it happens in time.
      { file: 'src/lease-keeper.ts', find: 'leaseMs / CHECKS)', replace: '600_000)' },
    ],
    points: [{ fault: 'freeze', when: 'after', kind: 'commit-step', ordinal: 1 }],
    says: /the woken worker ran the tool/,
  },
  {
    name: 'the ledger of effects',
    changes: [
      {
        file: 'src/kernel/turn/loop/plan-calls.ts',
        find: "if (tool !== undefined && (hold?.kind === 'run' || mayRepeat(tool, call.input)))",
        replace: 'if (tool !== undefined)',
      },
    ],
    points: [{ fault: 'kill', when: 'before', kind: 'commit-step', ordinal: 2 }],
    says: /happened 2 times/,
  },
  {
    name: 'the reconciler',
    changes: [{ file: 'workers/start-service.ts', find: 'reconciler.start();', replace: '{}' }],
    // BullMQ runs the job of the killed worker again after 30 to 60 s, which would hide that the
    // reconciler is missing.
    points: [{ fault: 'kill', when: 'after', kind: 'commit-step', ordinal: 1, settledWithinMs: 25_000 }],
    says: /all messages are settled/,
  },
];

interface FamilySafeguard extends Omit<Safeguard, 'points'> {
  scenario: string;
  point: AnyPoint;
}

const familySafeguards: FamilySafeguard[] = [
  {
    name: 'the cause of a spawn',
    changes: [
      {
        file: 'src/features/subagents/use-cases.ts',
        find: 'causeKey: `call:${idempotencyKey}`',
        replace: 'causeKey: null',
      },
    ],
    scenario: 'spawn with two children',
    // The first transaction of the worker that runs the turn is the spawn.
    point: { fault: 'kill', when: 'after', kind: 'commit', ordinal: 1 },
    says: /runs were spawned twice/,
  },
  {
    name: 'the announcement beside the end',
    changes: [
      {
        file: 'src/kernel/effects/carry-out.ts',
        find: 'putInputs(tx, told)',
        replace: 'Promise.resolve({ after: mergeAll([]) })',
      },
    ],
    scenario: 'spawn with two children',
    point: { fault: 'kill', when: 'after', kind: 'finish-turn', ordinal: 1 },
    says: /is announced 0 times/,
  },
];

test('every safeguard that a mutant switches off is in its file once', () => {
  const changes = [
    ...[...safeguards, ...familySafeguards].flatMap((safeguard) => safeguard.changes),
    ...suiteSafeguards.flatMap(({ file, find, replace, more = [] }) => [{ file, find, replace }, ...more]),
  ];
  expect(changes.filter((change) => countPlaces(change) !== 1)).toEqual([]);
});

const isWanted = process.env['HOLDFAST_CRASH_SWEEP'] === 'mutants';

describe.runIf(isWanted)('without', () => {
  test.each(safeguards)('$name, the sweep fails', async ({ changes, points, says }) => {
    const mutant = makeMutant(changes);
    const testDatabase = await withTestDatabase();
    let rig: CrashRig | null = null;
    try {
      rig = await startCrashRig({ databaseUrl: testDatabase.url, rootDir: mutant.rootDir });
      for (const point of points) {
        const report = await strike(rig, point);
        expect(report.isReached, nameOf(point)).toBe(true);
        expect(report.violations.join('\n'), nameOf(point)).toMatch(says);
      }
    } finally {
      await rig?.close();
      await testDatabase.drop();
      mutant.remove();
    }
  });

  test.each(familySafeguards)('$name, the sweep of families fails', async ({ changes, scenario, point, says }) => {
    const mutant = makeMutant(changes);
    const testDatabase = await withTestDatabase();
    let rig: CrashRig | null = null;
    try {
      rig = await startCrashRig({ databaseUrl: testDatabase.url, rootDir: mutant.rootDir });
      const played = SCENARIOS.find(({ name }) => name === scenario);
      if (played === undefined) throw new Error(`There is no scenario "${scenario}".`);
      const report = await strikeScenario(rig, played, point);
      expect(report.violations.join('\n')).toMatch(says);
    } finally {
      await rig?.close();
      await testDatabase.drop();
      mutant.remove();
    }
  });

  test('the index of idempotency keys, a repeated POST is stored twice', async () => {
    const testDatabase = await withTestDatabase();
    const client = new pg.Client({ connectionString: testDatabase.url });
    await client.connect();
    await dropConstraint(client, 'idempotency_keys', 'idempotency_keys_pkey');
    await client.end();
    const rig = await startCrashRig({ databaseUrl: testDatabase.url, workers: 0 });
    try {
      const killed = rig.api.proxy.arm({
        when: 'after',
        at: 1,
        matches: ({ tag }) => tag === 'accept',
        hit: async (): Promise<HeldBytes> => {
          await rig.api.kill();
          return 'drop';
        },
      });
      await expect(rig.client.post('twice', 'm1', 'key-1')).rejects.toThrow();
      await killed.reached;
      await rig.api.revive();
      expect((await rig.client.post('twice', 'm1', 'key-1')).status).toBe(202);
      expect(await countInputs(rig.database)).toBe(2);
    } finally {
      await rig.close();
      await testDatabase.drop();
    }
  });
});
