// From graded runs to verdicts: what counts as an item, how often chance is taken for a difference,
// and what a person reads.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CandidateSummary } from '../../../../src/features/evaluations/contract.ts';
import {
  mostPassed,
  summarize,
  type SummaryRun,
  type SummaryGrader,
} from '../../../../src/features/evaluations/rules/summarize.ts';
import { randomOf } from '../../../crash/rig/random-of.ts';
import { processorMsOf } from '../../../servers/busy-machine.ts';

const PASSES: SummaryGrader = { name: 'right', lowerIsBetter: false, unit: 'share' };
const SCORES: SummaryGrader = { name: 'tone', lowerIsBetter: false, unit: 'score' };

/** What a run came to: a pass, or a score. */
type Outcome = boolean | number | null;

interface Item {
  group?: string;
  /** By candidates; of each, by repeats. */
  outcomes: readonly (readonly Outcome[])[];
}

function runsOf(items: readonly Item[], changes?: (run: SummaryRun) => Partial<SummaryRun>): SummaryRun[] {
  const runs: SummaryRun[] = [];
  for (const [n, { group = `of ${n}`, outcomes }] of items.entries()) {
    for (const [candidate, repeats] of outcomes.entries()) {
      for (const [repeat, outcome] of repeats.entries()) {
        const pass = typeof outcome === 'number' ? null : outcome;
        const grades = [{ pass, score: outcome === null ? null : Number(outcome) }];
        runs.push({ n, group, candidate, repeat, status: 'answered', grades, costMicros: null, ms: null });
      }
    }
  }
  return changes === undefined ? runs : runs.map((run) => ({ ...run, ...changes(run) }));
}

function summarizeRuns(
  runs: readonly SummaryRun[],
  { grader = PASSES, effect = 5, candidates = 2 } = {},
): CandidateSummary[] {
  const names = Array.from({ length: candidates }, (_, at) => (at === 0 ? 'baseline' : `candidate ${at}`));
  return summarize({ candidates: names, graders: [grader], primary: 0, effect, runs });
}

function compareRuns(runs: readonly SummaryRun[], { grader = PASSES, effect = 5 } = {}) {
  return summarizeRuns(runs, { grader, effect })[1]?.comparison ?? expect.fail('the candidate has no comparison');
}

/** So many items of each kind, with one run for each candidate. */
function passItems({ better = 0, worse = 0, both = 0 }): Item[] {
  const kind = (count: number, outcomes: boolean[][]): Item[] => Array.from({ length: count }, () => ({ outcomes }));
  return [...kind(better, [[false], [true]]), ...kind(worse, [[true], [false]]), ...kind(both, [[true], [true]])];
}

describe('passes', () => {
  test('the verdict is that of the exact test of McNemar', () => {
    expect(compareRuns(runsOf(passItems({ better: 12, worse: 3, both: 85 })))).toEqual({
      verdict: 'better',
      text: 'Better: 12 items pass that did not, 3 no longer do (p = 0.035).',
      difference: 9,
      interval: { from: expect.closeTo(1.088, 3), to: expect.closeTo(16.559, 3) },
      p: expect.closeTo(0.0352, 4),
      adjustedP: expect.closeTo(0.0352, 4),
      test: 'mcnemar',
      better: 12,
      worse: 3,
      items: 100,
      groups: 100,
      detectable: expect.closeTo(10.966, 3),
      itemsNeeded: 491,
    });
    expect(compareRuns(runsOf(passItems({ better: 1, worse: 9, both: 10 }))).text).toBe(
      'Worse: 9 items no longer pass, 1 passes that did not (p = 0.021).',
    );
  });

  test('an unknown verdict says what would show, and what is needed', () => {
    const text = (counts: Parameters<typeof passItems>[0]) => compareRuns(runsOf(passItems(counts))).text;
    expect(text({ better: 6, worse: 6, both: 108 })).toBe(
      'Not known: with 120 items a difference of 8.3 points would show; for 5 points about 330 are needed.',
    );
    expect(text({ both: 4 })).toBe(
      'Not known: 4 items are too few to show a difference; for 5 points about 520 are needed.',
    );
    expect(text({ better: 5, worse: 5, both: 1_190 })).toBe(
      'Not known: with 1,200 items a difference of 0.77 points would show, so it is probably smaller.',
    );
    expect(text({})).toBe('Not known: no item has a result of both.');
  });

  test.each([
    [[true, true, false], true],
    [[true, false, false], false],
    [[true, false], false],
    [[true, null, null], true],
    [[null], null],
    [[], null],
  ])('repeats %j have passed: %j', (repeats, passed) => {
    expect(mostPassed(repeats)).toBe(passed);
  });

  test('an item counts once, however often it was run', () => {
    const items = passItems({ better: 4, both: 10 }).map(({ outcomes }) => ({
      outcomes: outcomes.map(([pass = null]) => [pass, pass, pass, !pass]),
    }));
    expect(compareRuns(runsOf(items))).toMatchObject({ better: 4, worse: 0, items: 14, p: 0.125 });
  });

  test('an item without a result of both is left out', () => {
    const items = [...passItems({ better: 3 }), { outcomes: [[true], []] }, { outcomes: [[null], [true]] }];
    const [baseline, candidate] = summarizeRuns(runsOf(items));
    expect(candidate?.comparison).toMatchObject({ better: 3, items: 3, difference: 100 });
    expect(baseline?.graders[0]).toMatchObject({ passRate: 0.25, mean: 0.25 });
    expect(baseline?.comparison).toBeNull();
  });

  test('items of one conversation count as one change', () => {
    const together = Array.from({ length: 12 }, (_, at) => ({
      group: `${Math.floor(at / 4)}`,
      outcomes: [[false], [true]],
    }));
    const { verdict, p, test: kind, text, items, groups } = compareRuns(runsOf(together));
    expect({ verdict, p, kind, items, groups }).toEqual({
      verdict: 'unknown',
      p: 0.25,
      kind: 'sign-flip',
      items: 12,
      groups: 3,
    });
    expect(text).toMatch(/^Not known: 12 items of 3 conversations are too few to show a difference; for 5 points/);
  });

  test('the rate has the interval of Wilson, wider for conversations that agree', () => {
    const outcomes = (pass: boolean) => [[pass], [pass]];
    const apart = Array.from({ length: 20 }, (_, at) => ({ outcomes: outcomes(at % 2 === 0) }));
    const agreeing = apart.map((_, at) => ({ group: `${at >> 2}`, outcomes: outcomes((at >> 2) % 2 === 0) }));
    const widthOf = (items: Item[]) => {
      const { from, to } = summarizeRuns(runsOf(items))[0]?.graders[0]?.interval ?? { from: 0, to: 0 };
      return to - from;
    };
    expect(widthOf(apart)).toBeCloseTo(0.4014, 3);
    expect(widthOf(agreeing)).toBeGreaterThan(0.6);
    const together = apart.map((item) => ({ group: 'one', ...item }));
    expect(summarizeRuns(runsOf(together))[0]?.graders[0]).toMatchObject({ passRate: 0.5, interval: null });
    expect(summarizeRuns(runsOf(apart.slice(0, 1)))[0]?.graders[0]?.interval).toMatchObject({ to: 1 });
  });
});

describe('scores, cost and time', () => {
  const scored = (differences: readonly number[]): Item[] =>
    differences.map((difference) => ({ outcomes: [[0.5], [0.5 + difference]] }));

  test('scores are compared by their means', () => {
    const {
      verdict,
      text,
      test: kind,
    } = compareRuns(runsOf(scored([0.1, 0.2, 0.1, 0.3, 0.2, 0.1])), { grader: SCORES });
    expect({ verdict, kind }).toEqual({ verdict: 'better', kind: 'sign-flip' });
    expect(text).toBe('Better: its scores are 0.17 higher on average (p = 0.031).');
  });

  test('if lower is better, lower scores are better', () => {
    const grader = { ...SCORES, lowerIsBetter: true };
    const runs = runsOf(scored([0.1, 0.2, 0.1, 0.3, 0.2, 0.1]));
    expect(compareRuns(runs, { grader })).toMatchObject({ verdict: 'worse', better: 0, worse: 6 });
  });

  test('the same scores in another order are no difference', () => {
    const runs = runsOf(
      Array.from({ length: 9 }, () => ({
        outcomes: [
          [0.1, 0.2, 0.3],
          [0.3, 0.2, 0.1],
        ],
      })),
    );
    expect(compareRuns(runs, { grader: SCORES })).toMatchObject({
      better: 0,
      worse: 0,
      p: 1,
      detectable: null,
      itemsNeeded: null,
      text: 'Not known: there is no difference in 9 items.',
    });
  });

  test('cost and time are in percent of the baseline, and do not change the p of the verdict', () => {
    const runs = runsOf(passItems({ better: 12, worse: 3, both: 5 }), ({ n, candidate }) => ({
      costMicros: candidate === 0 ? 10_000 + n : 8_000 + 2 * n,
      ms: 1_000 + ((n * 7 + candidate * 11) % 20) * 10,
    }));
    const [baseline, candidate] = summarizeRuns(runs);
    expect(candidate?.cost).toMatchObject({ verdict: 'better', better: 20, difference: -0.0019905 });
    expect(candidate?.cost?.text).toBe('Better: a run costs 20 % less on average (p < 0.001).');
    expect(candidate?.time?.text).toMatch(
      /^Not known: with 20 items a difference of [\d.]+ % would show; for 5 % about \d+ are needed\.$/,
    );
    expect(candidate?.comparison?.adjustedP).toBe(candidate?.comparison?.p);
    expect(baseline).toMatchObject({ costUsd: 0.20019, seconds: 1.095, cost: null, time: null });
  });

  test('runs that did not answer count as not passed, and not for cost and time', () => {
    const runs = runsOf(passItems({ both: 8 }), ({ n, candidate }) => {
      const costs = { costMicros: 5_000, ms: 2_000 };
      if (candidate === 0 || n > 2) return costs;
      const status = n === 0 ? 'failed' : 'diverged';
      return { status, grades: [{ pass: false, score: 0 }], costMicros: 10, ms: 1 };
    });
    const [, candidate] = summarizeRuns(runs);
    expect(candidate).toMatchObject({ runs: 8, diverged: 2, failed: 1, costUsd: 0.02503, seconds: 2 });
    expect(candidate?.comparison).toMatchObject({ worse: 3, items: 8 });
    expect(candidate?.cost).toMatchObject({ items: 5, difference: 0 });
  });

  test('the cost of runs of which one is not known is not known', () => {
    const runs = runsOf(passItems({ both: 2 }), ({ n }) => ({ costMicros: n === 0 ? null : 10 }));
    expect(summarizeRuns(runs)[0]).toMatchObject({ runs: 2, costUsd: null });
  });

  test('a baseline that costs nothing has no percent', () => {
    const runs = runsOf(passItems({ both: 6 }), ({ candidate }) => ({ costMicros: candidate * 20_000 }));
    expect(summarizeRuns(runs)[1]?.cost).toMatchObject({
      text: 'Worse: a run costs $0.0200 more on average (p = 0.031).',
      itemsNeeded: null,
    });
  });

  test('what is not known is null', () => {
    expect(summarizeRuns([])).toEqual(
      [null, expect.objectContaining({ verdict: 'unknown', difference: null, p: null, interval: null })].map(
        (comparison, at) => ({
          name: at === 0 ? 'baseline' : 'candidate 1',
          runs: 0,
          diverged: 0,
          failed: 0,
          costUsd: null,
          seconds: null,
          graders: [{ name: 'right', passRate: null, interval: null, ungraded: 0, mean: null }],
          comparison,
          cost: comparison,
          time: comparison,
        }),
      ),
    );
  });
});

test('several candidates are one family of tests', () => {
  // The first candidate passes 8 items more, and loses 1; the second is as the baseline.
  const items = Array.from({ length: 20 }, (_, n) => ({ outcomes: [[n >= 8], [n !== 8], [n >= 8]] }));
  const [, first, second] = summarizeRuns(runsOf(items), { candidates: 3 });
  expect(first?.comparison?.p).toBeCloseTo(0.0391, 4);
  expect(first?.comparison).toMatchObject({ verdict: 'unknown', adjustedP: expect.closeTo(0.0781, 4) });
  expect(second?.comparison).toMatchObject({ verdict: 'unknown', p: 1, adjustedP: 1 });
  const more = runsOf([...items, ...Array.from({ length: 4 }, () => ({ outcomes: [[false], [true], [false]] }))]);
  expect(summarizeRuns(more, { candidates: 3 })[1]?.comparison?.text).toBe(
    'Better: 12 items pass that did not, 1 no longer does (p = 0.007, adjusted for 2 comparisons).',
  );
});

describe('two candidates that are equally good', () => {
  const SIMULATIONS = 1_000;
  /** 5 % of them, and what chance adds to that in one of a hundred such tests. */
  const WRONG_MAX = 65;

  type Simulate = (random: () => number, items: number) => Item[];

  /** How many verdicts are wrong; the interval has to hold 0 almost as often as it says. */
  function countWrong(items: number, simulate: Simulate, grader: SummaryGrader): number {
    const random = randomOf(items);
    let [wrong, held] = [0, 0];
    for (let at = 0; at < SIMULATIONS; at += 1) {
      const { verdict, interval } = compareRuns(runsOf(simulate(random, items)), { grader });
      if (verdict !== 'unknown') wrong += 1;
      if (interval !== null && interval.from <= 0 && interval.to >= 0) held += 1;
    }
    expect(held).toBeGreaterThan(0.93 * SIMULATIONS);
    return wrong;
  }

  const passesOf = (random: () => number, chance: number): boolean[] =>
    Array.from({ length: 3 }, () => random() < chance);

  const independent: Simulate = (random, items) =>
    Array.from({ length: items }, () => {
      const chance = random();
      return { outcomes: [passesOf(random, chance), passesOf(random, chance)] };
    });

  /** Conversations of five items, in which each candidate is good or bad as a whole. */
  const inConversations: Simulate = (random, items) => {
    let chances = [0, 0];
    return Array.from({ length: items }, (_, n) => {
      if (n % 5 === 0) chances = [random(), random()];
      return { group: `${Math.floor(n / 5)}`, outcomes: chances.map((chance) => [random() < chance]) };
    });
  };

  /** Whole numbers, of which p is exact. */
  const scores: Simulate = (random, items) =>
    Array.from({ length: items }, () => ({ outcomes: [0, 1].map(() => [Math.floor(random() ** 2 * 11)]) }));

  test.each([20, 50, 200])('differ in at most 65 of 1,000 evaluations of %i items by passes', (items) => {
    expect(countWrong(items, independent, PASSES)).toBeLessThanOrEqual(WRONG_MAX);
  });

  test.each([20, 50, 200])('differ in at most 65 of 1,000 evaluations of %i items in conversations', (items) => {
    expect(countWrong(items, inConversations, PASSES)).toBeLessThanOrEqual(WRONG_MAX);
  });

  test.each([20, 50, 200])('differ in at most 65 of 1,000 evaluations of %i items by scores', (items) => {
    const wrong = countWrong(items, scores, SCORES);
    expect(wrong).toBeLessThanOrEqual(WRONG_MAX);
    expect(wrong, 'it is not too careful either').toBeGreaterThanOrEqual(35);
  });
});

describe('any runs', () => {
  const outcome = fc.oneof(fc.boolean(), fc.constant(null));
  const repeats = fc.array(outcome, { minLength: 1, maxLength: 3 });
  const score = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 3 });
  const group = fc.integer({ min: 0, max: 9 }).map(String);
  const itemsOf = (each: fc.Arbitrary<readonly Outcome[]>) =>
    fc.array(fc.record({ group, outcomes: fc.tuple(each, each) }), { maxLength: 30 });
  const any = fc.oneof(
    itemsOf(repeats).map((items) => ({ items, grader: PASSES })),
    itemsOf(score).map((items) => ({ items, grader: SCORES })),
    itemsOf(score).map((items) => ({ items, grader: { ...SCORES, lowerIsBetter: true } })),
  );
  const OPPOSITE = { better: 'worse', worse: 'better', unknown: 'unknown' } as const;

  test('have the opposite verdict if the candidates are swapped', () => {
    fc.assert(
      fc.property(any, ({ items, grader }) => {
        const found = compareRuns(runsOf(items), { grader });
        const swapped = items.map((item) => ({ ...item, outcomes: item.outcomes.toReversed() }));
        expect(compareRuns(runsOf(swapped), { grader })).toMatchObject({
          verdict: OPPOSITE[found.verdict],
          difference: found.difference === null ? null : -found.difference + 0,
          p: found.p,
          better: found.worse,
          worse: found.better,
          detectable: found.detectable,
        });
      }),
      { seed: 1, numRuns: 200 },
    );
  });

  test('have the same summary in any order, and a p over 0 and at most 1', () => {
    fc.assert(
      fc.property(any, fc.integer(), ({ items, grader }, seed) => {
        const runs = runsOf(items);
        const random = randomOf(seed);
        const shuffled = runs.map((run) => ({ run, at: random() })).toSorted((a, b) => a.at - b.at);
        const found = compareRuns(runs, { grader });
        expect(
          summarizeRuns(
            shuffled.map(({ run }) => run),
            { grader },
          )[1]?.comparison,
        ).toEqual(found);
        expect(found.p ?? 1).toBeGreaterThan(0);
        expect(found.p ?? 1).toBeLessThanOrEqual(1);
        expect(found.p === null).toBe(found.items === 0);
      }),
      { seed: 1, numRuns: 200 },
    );
  });

  test('of 10,000 items, with two candidates and three repeats, are summarized within two seconds of a processor', () => {
    const random = randomOf(4);
    const runs = runsOf(
      Array.from({ length: 10_000 }, () => ({ outcomes: [0, 1].map(() => [0, 1, 2].map(() => random() < 0.7)) })),
      () => ({ costMicros: Math.round(random() * 10_000), ms: Math.round(random() * 9_000) }),
    );
    let summaries: ReturnType<typeof summarizeRuns> = [];
    expect(processorMsOf(() => (summaries = summarizeRuns(runs)))).toBeLessThan(2_000);
    expect(summaries[1]?.comparison?.items).toBe(10_000);
  });
});
