import { expect, test } from 'vitest';
import { findShortfalls, percentText } from '../../../../src/features/evaluations/rules/thresholds.ts';
import { comparisonOf, evaluationOf, summaryOf } from './evaluation-of.ts';

const graded = (passRate: number | null, ungraded = 0) => ({
  graders: [{ name: 'equal', passRate, interval: null, ungraded, mean: passRate ?? 0.5 }],
});
const pair = (passRate: number | null, comparison = comparisonOf()) =>
  evaluationOf({
    results: [summaryOf('before', graded(0.1)), summaryOf('after', { ...graded(passRate), comparison })],
  });
const none = { failUnder: undefined, maxWorse: undefined };

test('every candidate but the baseline has to pass the share, and one without others has to', () => {
  const failUnder = { ...none, failUnder: 0.9 };
  expect(findShortfalls(pair(0.9), failUnder)).toEqual([]);
  expect(findShortfalls(pair(0.8999), failUnder)).toEqual(['after passes 89.9 % of items; expected at least 90 %']);
  expect(findShortfalls(evaluationOf({ results: [summaryOf('only', graded(0.5))] }), failUnder)).toHaveLength(1);
});

test('a share that is not known does not meet a threshold', () => {
  const failUnder = { ...none, failUnder: 0 };
  expect(findShortfalls(pair(null), failUnder)).toEqual([
    'after passes no items, because its grader gives only scores; expected at least 0 %',
  ]);
  expect(findShortfalls(evaluationOf({ results: [] }), failUnder)).toEqual(['there are no results']);
});

test('an item without a grade meets no threshold', () => {
  const results = [summaryOf('before', graded(1)), summaryOf('after', graded(1, 3))];
  const missing = ['after has no grade for 3 items; expected one for each'];
  expect(findShortfalls(evaluationOf({ results }), { ...none, failUnder: 0.5 })).toEqual(missing);
  expect(findShortfalls(pair(1), { ...none, maxWorse: 5 })).toEqual([]);
  expect(findShortfalls(evaluationOf({ results }), none)).toEqual([]);
});

test('at most so many items may be worse than with the baseline', () => {
  expect(findShortfalls(pair(1, comparisonOf({ worse: 2 })), { ...none, maxWorse: 2 })).toEqual([]);
  expect(findShortfalls(pair(1, comparisonOf({ worse: 3 })), { ...none, maxWorse: 2 })).toEqual([
    'after is worse than the baseline for 3 items; expected at most 2',
  ]);
});

test('the verdict worse meets no threshold, and without thresholds nothing is demanded', () => {
  const worse = pair(0.95, comparisonOf({ verdict: 'worse', worse: 1, text: 'Worse: 9 items.' }));
  const failed = ['after is worse than the baseline. Worse: 9 items.'];
  expect(findShortfalls(worse, { ...none, failUnder: 0.9 })).toEqual(failed);
  expect(findShortfalls(worse, { ...none, maxWorse: 5 })).toEqual(failed);
  expect(findShortfalls(worse, none)).toEqual([]);
});

test('shares are rounded down, but for the faults of binary fractions', () => {
  expect([0.57, 1 / 3, 1, 0, 0.9999].map(percentText)).toEqual(['57 %', '33.3 %', '100 %', '0 %', '99.9 %']);
});
