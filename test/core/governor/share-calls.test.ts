// Who gets a scarce rate limit: examples, and properties over any demand.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  nextLane,
  noCalls,
  passOver,
  shareCalls,
  type LaneCounts,
} from '../../../src/features/limits/rules/share-calls.ts';

const count = fc.nat(500);
const demand = fc.record({ main: count, subagent: count, cron: count, batch: count });
const total = (calls: LaneCounts): number => calls.main + calls.subagent + calls.cron + calls.batch;

describe('a limit that is shared', () => {
  test('gives a worker all that it requests while there is enough for all', () => {
    const own = { ...noCalls(), main: 3, batch: 4 };
    expect(shareCalls({ pool: 20, own, others: { ...noCalls(), main: 13 } })).toBe(7);
  });

  test('gives main the share of batches, except for the minimum of batches', () => {
    const others = { ...noCalls(), main: 100 };
    expect(shareCalls({ pool: 100, own: { ...noCalls(), batch: 50 }, others })).toBeCloseTo(5);
    expect(shareCalls({ pool: 100, own: others, others: { ...noCalls(), batch: 50 } })).toBeCloseTo(95);
  });

  test("divides the part of a lane by the workers' demand for it", () => {
    const own = { ...noCalls(), main: 30 };
    expect(shareCalls({ pool: 40, own, others: { ...noCalls(), main: 90 } })).toBeCloseTo(10);
  });

  test('is never given twice, and never more than requested', () => {
    fc.assert(
      fc.property(
        fc.array(demand, { minLength: 1, maxLength: 5 }),
        fc.double({ min: 0, max: 1000, noNaN: true }),
        (workers, pool) => {
          const shares = workers.map((own, index) => {
            const others = workers.filter((_, other) => other !== index).reduce(add, noCalls());
            return shareCalls({ pool, own, others });
          });
          const given = shares.reduce((sum, share) => sum + share, 0);
          expect(given).toBeLessThanOrEqual(pool + 1e-6);
          for (const [index, share] of shares.entries())
            expect(share).toBeLessThanOrEqual(total(workers[index] ?? noCalls()) + 1e-6);
          const wanted = total(workers.reduce(add, noCalls()));
          if (wanted <= pool) expect(given).toBeCloseTo(wanted);
          else expect(given).toBeCloseTo(pool);
        },
      ),
    );
  });
});

test('of calls that wait for a scarce limit, main comes first, and each lane gets at least a twentieth', () => {
  let passedOver = noCalls();
  const made = noCalls();
  const waiting = { main: 1000, subagent: 1000, cron: 1000, batch: 1000 };
  for (let call = 0; call < 1000; call += 1) {
    const lane = nextLane(waiting, passedOver);
    if (lane === null) throw new Error('No lane was chosen.');
    made[lane] += 1;
    passedOver = passOver(passedOver, waiting, lane);
  }
  expect(Math.min(made.subagent, made.cron, made.batch)).toBeGreaterThanOrEqual(45);
  expect(made.main).toBeGreaterThanOrEqual(840);
  expect(nextLane(noCalls(), passedOver)).toBeNull();
});

function add(one: LaneCounts, other: LaneCounts): LaneCounts {
  return {
    main: one.main + other.main,
    subagent: one.subagent + other.subagent,
    cron: one.cron + other.cron,
    batch: one.batch + other.batch,
  };
}
