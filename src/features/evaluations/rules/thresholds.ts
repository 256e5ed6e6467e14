// What a person demands of an evaluation before a change is taken. Pure.
import type { EvaluationView } from '../contract.ts';

const PERCENT = 100;
const DECIMALS = 10;
/** 0.57 times 1000 is a little less than 570. */
const FLOAT_FAULT = 1e-9;

export interface Thresholds {
  /** The least share of items that has to pass. */
  failUnder: number | undefined;
  /** The most items that may be worse than with the baseline. */
  maxWorse: number | undefined;
}

/**
 * Why the candidates do not meet what is demanded; empty: they do, or nothing is. The baseline
 * stands for what is there now, so nothing is demanded of it beside others.
 */
export function findShortfalls(
  { results, primary }: Pick<EvaluationView, 'results' | 'primary'>,
  { failUnder, maxWorse }: Thresholds,
): string[] {
  if (failUnder === undefined && maxWorse === undefined) return [];
  if (results.length === 0) return ['there are no results'];
  return (results.length === 1 ? results : results.slice(1)).flatMap(({ name, graders, comparison }) => {
    const { passRate: rate = null, ungraded = 0 } = graders.find((grade) => grade.name === primary) ?? {};
    const shortfalls: string[] = [];
    if (failUnder !== undefined && (rate === null || rate < failUnder)) {
      const passes = rate === null ? 'no items, because its grader gives only scores' : `${percentText(rate)} of items`;
      shortfalls.push(`${name} passes ${passes}; expected at least ${percentText(failUnder)}`);
    }
    // What is not graded may have become worse.
    if (ungraded > 0) shortfalls.push(`${name} has no grade for ${ungraded} items; expected one for each`);
    const worse = comparison?.worse ?? Number.POSITIVE_INFINITY;
    if (maxWorse !== undefined && worse > maxWorse)
      shortfalls.push(`${name} is worse than the baseline for ${worse} items; expected at most ${maxWorse}`);
    if (comparison?.verdict === 'worse') shortfalls.push(`${name} is worse than the baseline. ${comparison.text}`);
    return shortfalls;
  });
}

/** `84.5 %`. It is never rounded up: 89.99 % are not 90 %. */
export function percentText(share: number): string {
  return `${Math.floor(share * PERCENT * DECIMALS + FLOAT_FAULT) / DECIMALS} %`;
}
