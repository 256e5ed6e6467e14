// The statistics of comparisons, against published values and simulated data.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as statistics from '../../../../src/features/evaluations/rules/statistics.ts';
import { randomOf } from '../../../crash/rig/random-of.ts';
import { processorMsOf } from '../../../servers/busy-machine.ts';

const { detectable, groupsMin, holm, itemsForMeans, itemsForPasses, meanInterval, passInterval } = statistics;
const { signFlipP, spreadOf, studentQuantile, wilson } = statistics;

/** Every value is a group of its own. */
const alone = (values: readonly number[]) => spreadOf(values.map((value, at) => ({ group: `${at}`, value })));
const times = (count: number, value: number) => Array<number>(count).fill(value);

describe('published values', () => {
  // Newcombe (1998), Two-sided confidence intervals for the single proportion, Statistics in Medicine 17, table I.
  test.each([
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ])('the Wilson interval of %i of %i is %f to %f', (passed, of, from, to) => {
    const interval = wilson(passed, of);
    expect(interval.from).toBeCloseTo(from, 4);
    expect(interval.to).toBeCloseTo(to, 4);
  });

  // Twice the tail of the binomial distribution at 1/2, as in tables of the sign test. 1 and 7: the airways of 21
  // children before and after a transplantation (Fagerland, Lydersen and Laake, 2013, BMC Med Res Methodol 13:91).
  test.each([
    [1, 9, 0.0215],
    [0, 6, 0.03125],
    [2, 10, 0.0386],
    [5, 12, 0.1435],
    [7, 1, 0.0703],
    [4, 4, 1],
    [0, 0, 1],
  ])('with %i better and %i worse, p of the exact test of McNemar is %f', (better, worse, p) => {
    for (const size of [1, 0.3]) expect(signFlipP([...times(better, size), ...times(worse, -size)])).toBeCloseTo(p, 4);
  });

  // Fisher (1935), The Design of Experiments, section 21: Darwin's maize, in eighths of an inch. 863 of the
  // 32768 choices of signs have at least this sum, and as many at most its opposite.
  const maize = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48];

  test("Darwin's maize has the p of Fisher, as whole numbers and as inches", () => {
    expect(signFlipP(maize)).toBeCloseTo(1726 / 32_768, 10);
    expect(signFlipP(maize.map((eighths) => eighths / 8 + 0))).toBeCloseTo(1726 / 32_768, 10);
  });

  test('flips come close to the exact p', () => {
    // Fractions of several copies, which are too many for an exact p.
    const many = [...maize, ...maize.map((eighths) => -eighths), ...maize];
    expect(Math.abs(signFlipP(many.map((value) => value / 8)) - signFlipP(many))).toBeLessThan(0.015);
  });

  // Student (1908), The probable error of a mean: hours of sleep gained with one drug over the other. All that
  // differ have the same sign: 2 of 2^9 choices are as extreme. The interval is that of `t.test` of R.
  const sleep = [1.2, 2.4, 1.3, 1.3, 0, 1, 1.8, 0.8, 4.6, 1.4];

  test("Student's sleep data have p = 2 / 512, and the interval of his test", () => {
    expect(signFlipP(sleep)).toBeCloseTo(2 / 512, 10);
    const interval = meanInterval(alone(sleep));
    expect(interval?.from).toBeCloseTo(0.7001, 2);
    expect(interval?.to).toBeCloseTo(2.4599, 2);
  });

  // Example of `ci.prop.ps` in the manual of the R package statpsych, by Bonett.
  test('the interval of paired shares is that of Bonett and Price', () => {
    const spread = alone([...times(26, 1), ...times(4, -1), ...times(18, 0)]);
    const interval = passInterval(26, 4, spread);
    expect(interval?.from).toBeCloseTo(0.254807, 5);
    expect(interval?.to).toBeCloseTo(0.625193, 5);
  });

  test.each([
    [
      [0.01, 0.04, 0.03, 0.005],
      [0.03, 0.06, 0.06, 0.02],
    ],
    // `p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "holm")` of R.
    [
      [0.01, 0.02, 0.03, 0.04, 0.05],
      [0.05, 0.08, 0.09, 0.09, 0.09],
    ],
    [
      [0.01, null, 0.01, 0.9],
      [0.03, null, 0.03, 0.9],
    ],
    [
      [0.6, 0.7],
      [1, 1],
    ],
    [[null], [null]],
  ])('Holm adjusts %j to %j', (ps, adjusted) => {
    const found = holm(ps);
    for (const [at, p] of adjusted.entries()) {
      if (p === null) expect(found[at]).toBeNull();
      else expect(found[at]).toBeCloseTo(p, 10);
    }
  });

  // Tables of Student's t, two-sided 5 %.
  test.each([
    [3, 3.182],
    [5, 2.571],
    [9, 2.262],
    [30, 2.042],
    [1000, 1.962],
  ])('the quantile of t with %i degrees of freedom is %f', (freedom, t) => {
    expect(Math.abs(studentQuantile(freedom) / t - 1)).toBeLessThan(0.01);
  });
});

describe('the number of items', () => {
  const FOUND_OF = 1_000;

  /** The share of simulations in which a difference is found. */
  function powerOf(items: number, simulate: (random: () => number) => { group: string; value: number }): number {
    const random = randomOf(items);
    let found = 0;
    for (let at = 0; at < FOUND_OF; at += 1) {
      const { sums } = spreadOf(Array.from({ length: items }, () => simulate(random)));
      if (signFlipP(sums, 500) <= 0.05) found += 1;
    }
    return found / FOUND_OF;
  }

  /** About normal, with mean 0 and variance 1. */
  const normal = (random: () => number): number => {
    let sum = -6;
    for (let at = 0; at < 12; at += 1) sum += random();
    return sum;
  };

  test.each([
    [0.2, 0.1],
    [0.1, 0.05],
    [0.3, 0.2],
    [0.2, 0.2],
  ])('with %f of items that change and a difference of %f, that shows in about 4 of 5', (changed, effect) => {
    let n = 0;
    const power = powerOf(Math.ceil(itemsForPasses(changed, effect)), (random) => {
      const at = random();
      const value = at < (changed + effect) / 2 ? 1 : at < changed ? -1 : 0;
      return { group: `${(n += 1)}`, value };
    });
    expect(Math.abs(power - 0.8)).toBeLessThan(0.06);
  });

  test.each([0.1, 0.2])('of scores that vary by 0.3 and differ by %f, that shows in about 4 of 5', (effect) => {
    let n = 0;
    const power = powerOf(Math.ceil(itemsForMeans(0.09, effect)), (random) => {
      return { group: `${(n += 1)}`, value: effect + 0.3 * normal(random) };
    });
    expect(Math.abs(power - 0.8)).toBeLessThan(0.06);
  });

  test('it grows with the design effect of conversations', () => {
    // Conversations of four items, of whose variance half is common to them: the design effect is 2.5.
    let [n, common] = [0, 0];
    const simulate = (random: () => number): { group: string; value: number } => {
      if (n % 4 === 0) common = normal(random);
      n += 1;
      return { group: `${Math.ceil(n / 4)}`, value: 0.1 + 0.3 * Math.SQRT1_2 * (common + normal(random)) };
    };
    const random = randomOf(1);
    const { designEffect, variance } = spreadOf(Array.from({ length: 4_000 }, () => simulate(random)));
    expect(designEffect).toBeGreaterThan(2.2);
    expect(designEffect).toBeLessThan(2.8);
    const power = powerOf(Math.ceil(itemsForMeans(variance ?? 0, 0.1)), simulate);
    expect(Math.abs(power - 0.8)).toBeLessThan(0.06);
  });

  test('the detectable effect needs as many items as there are', () => {
    const itemsFor = (effect: number) => itemsForPasses(0.2, effect);
    const effect = detectable(itemsFor, 300, 1) ?? 0;
    expect(itemsFor(effect)).toBeCloseTo(300, 3);
    expect(detectable(itemsFor, 3, 1)).toBeNull();
  });

  test('more comparisons need more items', () => {
    expect(itemsForPasses(0.2, 0.1, 3)).toBeGreaterThan(itemsForPasses(0.2, 0.1));
  });

  test('six groups are the fewest that can show anything, and with more comparisons more', () => {
    for (const [tests, groups] of [
      [1, 6],
      [2, 7],
      [7, 9],
    ] as const) {
      expect(groupsMin(tests)).toBe(groups);
      expect(signFlipP(times(groups, 1)) * tests).toBeLessThanOrEqual(0.05);
      expect(signFlipP(times(groups - 1, 1)) * tests).toBeGreaterThan(0.05);
    }
  });
});

describe('the test by flips of signs', () => {
  const sums = fc.array(fc.oneof(fc.integer({ min: -5, max: 5 }), fc.double({ min: -1, max: 1, noNaN: true })), {
    maxLength: 40,
  });

  test('p is over 0 and at most 1, and the same for the other sign, in any order and in any unit', () => {
    fc.assert(
      fc.property(sums, (values) => {
        const p = signFlipP(values, 200);
        expect(p).toBeGreaterThan(0);
        expect(p).toBeLessThanOrEqual(1);
        expect(signFlipP(values.map((value) => -value).toReversed(), 200)).toBe(p);
        expect(signFlipP([...values, 0], 200)).toBe(p);
      }),
      { seed: 1, numRuns: 300 },
    );
  });

  test('whole numbers have the same p as fractions in the same ratio', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -9, max: 9 }), { maxLength: 30 }), (values) => {
        expect(signFlipP(values.map((value) => value / 7))).toBeCloseTo(signFlipP(values), 9);
      }),
      { seed: 1, numRuns: 200 },
    );
  });

  test('of 1,000 samples of fractions around 0, at most 65 and at least 35 have a p of 0.05', () => {
    const random = randomOf(2);
    let wrong = 0;
    for (let at = 0; at < 1_000; at += 1) {
      const values = Array.from({ length: 100 }, () => random() ** 3 - random() ** 3);
      if (signFlipP(values, 2_000) <= 0.05) wrong += 1;
    }
    expect(wrong).toBeLessThanOrEqual(65);
    expect(wrong).toBeGreaterThanOrEqual(35);
  });

  test('p of 2,000 changes in one direction is still over 0', () => {
    expect(signFlipP(times(2_000, 1))).toBeGreaterThan(0);
    expect(signFlipP([...times(2_000, 1), 2])).toBeGreaterThan(0);
  });

  test('10,000 groups take less than a second of a processor', () => {
    const random = randomOf(3);
    const scores = Array.from({ length: 10_000 }, () => random() - 0.5);
    const whole = Array.from({ length: 10_000 }, () => Math.round(random() * 2) - 1 + Math.round(random()));
    expect(processorMsOf(() => signFlipP(scores))).toBeLessThan(1_000);
    expect(processorMsOf(() => signFlipP(whole))).toBeLessThan(1_000);
  });
});
