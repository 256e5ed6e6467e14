// What came out of an evaluation, by candidates: how they did, and whether they are better or worse
// than the baseline. An item counts once, however often it was run; items of one conversation are not
// taken as independent. The same runs, in any order, give the same summary.
import { toDollars } from '../../../core/prices.ts';
import { moneyText } from '../../../core/words.ts';
import type { CandidateSummary } from '../contract.ts';
import { secondsOf, type GraderUnit, type RunToGrade } from './graders.ts';
import * as statistics from './statistics.ts';

type Comparison = NonNullable<CandidateSummary['comparison']>;

/** A run that has ended. One that did not answer is graded too: it has not passed. */
export interface SummaryRun extends Pick<RunToGrade, 'status' | 'costMicros' | 'ms'> {
  /** The item, and its conversation. */
  n: number;
  group: string;
  /** Its index; 0: the baseline. */
  candidate: number;
  repeat: number;
  /** By the index of the grader. */
  grades: readonly { pass: boolean | null; score: number | null }[];
}

export interface SummaryGrader {
  name: string;
  lowerIsBetter: boolean;
  /** `share`: passes decide; otherwise scores do, of which a plain one is from 0 to 1. */
  unit: GraderUnit;
}

interface SummaryInput {
  /** Their names, the baseline first. */
  candidates: readonly string[];
  graders: readonly SummaryGrader[];
  /** The index of the grader that decides. */
  primary: number;
  /** The smallest difference that matters, in percentage points, or in percent of cost and time. */
  effect: number;
  runs: readonly SummaryRun[];
}

/** The runs of an item, by candidates. */
interface Item {
  group: string;
  runs: SummaryRun[][];
}

/** How the runs of a candidate for an item are measured; null: they cannot be. */
type ValueOf = (runs: readonly SummaryRun[]) => number | null;

interface Measure extends Omit<SummaryGrader, 'name'> {
  valueOf: ValueOf;
}

const TWO_DIGITS = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 2 });

const COST = measureOf('usd', ({ costMicros }) => toDollars(costMicros));
const TIME = measureOf('seconds', secondsOf);

/** Of runs that answered: what the others took is not compared. */
function measureOf(unit: 'usd' | 'seconds', read: (run: SummaryRun) => number | null): Measure {
  const valueOf: ValueOf = (runs) => meanOf(runs.filter(({ status }) => status === 'answered').map(read));
  return { lowerIsBetter: true, unit, valueOf };
}

/** By candidates. A comparison leaves out items that were not graded for both. */
export function summarize(input: SummaryInput): CandidateSummary[] {
  const { candidates, graders, primary, runs } = input;
  const decides = graders[primary];
  if (decides === undefined) throw new Error(`expected the index of one of ${graders.length} graders, got ${primary}`);
  const items = itemsOf(runs, candidates.length);
  const { lowerIsBetter, unit } = decides;
  const valueOf = unit === 'share' ? passOf(primary) : scoreOf(primary);
  const comparisons = compareAll(items, { lowerIsBetter, unit, valueOf }, input);
  const byCost = compareAll(items, COST, input);
  const byTime = compareAll(items, TIME, input);
  return candidates.map((name, at) => {
    const own = items.map((item) => ({ group: item.group, runs: item.runs[at] ?? [] }));
    const ended = own.flatMap((item) => item.runs);
    const costs = ended.flatMap(({ costMicros }) => costMicros ?? []);
    return {
      name,
      runs: ended.length,
      diverged: ended.filter(({ status }) => status === 'diverged').length,
      failed: ended.filter(({ status }) => status === 'failed').length,
      costUsd: costs.length === 0 || costs.length < ended.length ? null : toDollars(statistics.sumOf(costs)),
      seconds: medianOf(ended.flatMap((run) => secondsOf(run) ?? [])),
      graders: graders.map((grader, index) => ({ name: grader.name, ...summarizeGrades(own, index) })),
      comparison: comparisons[at] ?? null,
      cost: byCost[at] ?? null,
      time: byTime[at] ?? null,
    };
  });
}

/** Whether most repeats of an item have passed, which a tie is not; null: none says. */
export function mostPassed(passes: readonly (boolean | null)[]): boolean | null {
  const known = passes.filter((pass) => pass !== null);
  return known.length === 0 ? null : known.filter(Boolean).length * 2 > known.length;
}

/** The mean of the values that are known; null: none is. */
export function meanOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : statistics.sumOf(known) / known.length;
}

/** In an order that follows from the runs alone, since rounding depends on that of terms. */
function itemsOf(runs: readonly SummaryRun[], candidates: number): Item[] {
  const items = new Map<number, Item>();
  for (const run of runs.toSorted((a, b) => a.n - b.n || a.repeat - b.repeat)) {
    const item = items.get(run.n) ?? { group: run.group, runs: Array.from({ length: candidates }, () => []) };
    items.set(run.n, item);
    item.runs[run.candidate]?.push(run);
  }
  return [...items.values()];
}

function summarizeGrades(own: readonly { group: string; runs: SummaryRun[] }[], index: number) {
  const [passed, score] = [passOf(index), scoreOf(index)];
  const values = own.flatMap(({ group, runs }) => {
    const value = passed(runs);
    return value === null ? [] : { group, value };
  });
  const { mean, items, designEffect } = statistics.spreadOf(values);
  // Items that depend on each other say as much as fewer that do not; several of one conversation
  // alone do not show how much they do.
  const effect = items === 1 ? 1 : designEffect;
  const interval = effect === null ? null : statistics.wilson((mean * items) / effect, items / effect);
  const asked = own.filter(({ runs }) => runs.length > 0);
  const ungraded = asked.filter(({ runs }) => passed(runs) === null && score(runs) === null);
  return {
    passRate: items === 0 ? null : tidy(mean),
    interval: interval && tidyInterval(interval, 1),
    ungraded: ungraded.length,
    mean: tidyOrNull(meanOf(own.map(({ runs }) => score(runs)))),
  };
}

/** Every candidate against the baseline, as one family of tests; null: the baseline. */
function compareAll(
  items: readonly Item[],
  { unit, lowerIsBetter, valueOf }: Measure,
  { candidates, effect }: SummaryInput,
): (Comparison | null)[] {
  const compared = candidates.slice(1).map((_, at) => {
    const pairs = pairItems(items, valueOf, at + 1);
    const spread = statistics.spreadOf(pairs);
    const p = pairs.length === 0 ? null : statistics.signFlipP(spread.sums);
    return { pairs, spread, p, baseline: meanOf(pairs.map(({ before }) => before)) ?? 0 };
  });
  const ps = compared.map(({ p }) => p);
  const adjusted = statistics.holm(ps);
  const family = { unit, lowerIsBetter, effect, tests: Math.max(1, ps.filter((p) => p !== null).length) };
  return [null, ...compared.map((one, at) => toComparison({ ...family, ...one, adjustedP: adjusted[at] ?? null }))];
}

interface ItemPair extends statistics.GroupedValue {
  /** Of the baseline. */
  before: number;
}

/** The items that have a value for both, with candidate minus baseline. */
function pairItems(items: readonly Item[], valueOf: ValueOf, candidate: number): ItemPair[] {
  return items.flatMap(({ group, runs }) => {
    const [before, after] = [valueOf(runs[0] ?? []), valueOf(runs[candidate] ?? [])];
    if (before === null || after === null) return [];
    // The same scores in another order are not a difference.
    const isSame = Math.abs(after - before) <= statistics.ROUNDING * (Math.abs(after) + Math.abs(before));
    return { group, before, value: isSame ? 0 : after - before };
  });
}

interface PairTest extends Pick<Measure, 'unit' | 'lowerIsBetter'> {
  effect: number;
  /** The comparisons of the family. */
  tests: number;
  pairs: readonly ItemPair[];
  spread: statistics.Spread;
  /** The mean of the baseline. */
  baseline: number;
  p: number | null;
  adjustedP: number | null;
}

function toComparison(tested: PairTest): Comparison {
  const { unit, pairs, spread, p, adjustedP } = tested;
  const { items, groups, mean } = spread;
  const isShare = unit === 'share';
  const inUnit = isShare ? 100 : 1;
  const direction = tested.lowerIsBetter && !isShare ? -1 : 1;
  const better = pairs.filter(({ value }) => value * direction > 0).length;
  const worse = pairs.filter(({ value }) => value * direction < 0).length;
  const interval = isShare ? statistics.passInterval(better, worse, spread) : statistics.meanInterval(spread);
  const isKnown = adjustedP !== null && adjustedP <= statistics.ALPHA;
  const facts: Facts = {
    verdict: !isKnown ? 'unknown' : mean * direction > 0 ? 'better' : 'worse',
    difference: items === 0 ? null : tidy(mean * inUnit),
    interval: interval && tidyInterval(interval, inUnit),
    p: tidyOrNull(p),
    adjustedP: tidyOrNull(adjustedP),
    test: isShare && items === groups ? 'mcnemar' : 'sign-flip',
    better,
    worse,
    items,
    groups,
    ...planItems(tested, better + worse),
  };
  return { ...facts, text: facts.verdict === 'unknown' ? unknownText(facts, tested) : knownText(facts, tested) };
}

/** What these items would show, and how many the effect needs; null: it is not known how items differ. */
function planItems(tested: PairTest, changed: number): Pick<Comparison, 'detectable' | 'itemsNeeded'> {
  const { unit, spread, tests } = tested;
  const { items, groups, designEffect, variance } = spread;
  const isShare = unit === 'share';
  if (designEffect === null || variance === null || (variance === 0 && !isShare)) {
    return { detectable: null, itemsNeeded: null };
  }
  // Laplace's estimate, since some may change although none of few has.
  const share = (changed + 1) / (items + 2);
  const itemsFor = (effect: number): number =>
    isShare
      ? designEffect * statistics.itemsForPasses(share, effect / 100, tests)
      : statistics.itemsForMeans(variance, effect, tests);
  const found = statistics.detectable(itemsFor, items, isShare ? 100 : 4 * Math.sqrt(variance));
  const least = leastOf(tested);
  return {
    detectable: groups < statistics.groupsMin(tests) ? null : tidyOrNull(found),
    itemsNeeded: least > 0 ? Math.max(statistics.groupsMin(tests), Math.ceil(itemsFor(least))) : null,
  };
}

/** The smallest difference that matters, in the unit of the measure. */
function leastOf({ unit, effect, baseline }: PairTest): number {
  if (unit === 'share') return effect;
  return (effect / 100) * (unit === 'score' ? 1 : baseline);
}

type Facts = Omit<Comparison, 'text'>;

function knownText({ verdict, better, worse, difference, adjustedP }: Facts, tested: PairTest): string {
  const p = (adjustedP ?? 1) < 0.001 ? 'p < 0.001' : `p = ${(adjustedP ?? 1).toFixed(3)}`;
  const shown = tested.tests === 1 ? `(${p})` : `(${p}, adjusted for ${tested.tests} comparisons)`;
  const by = amountText(Math.abs(difference ?? 0), tested);
  const isMore = (difference ?? 0) > 0;
  const passes = (items: number): string => (items === 1 ? 'passes' : 'pass');
  const said = {
    share:
      verdict === 'better'
        ? `${counted(better)} ${passes(better)} that did not, ${worse} no longer ${worse === 1 ? 'does' : 'do'}`
        : `${counted(worse)} no longer ${passes(worse)}, ${better} ${passes(better)} that did not`,
    score: `its scores are ${by} ${isMore ? 'higher' : 'lower'} on average`,
    usd: `a run costs ${by} ${isMore ? 'more' : 'less'} on average`,
    seconds: `a run takes ${by} ${isMore ? 'longer' : 'less'} on average`,
  }[tested.unit];
  return `${verdict === 'better' ? 'Better' : 'Worse'}: ${said} ${shown}.`;
}

function unknownText({ items, groups, better, worse, detectable, itemsNeeded }: Facts, tested: PairTest): string {
  if (items === 0) return 'Not known: no item has a result of both.';
  const conversations = groups === 1 ? '1 conversation' : `${groups.toLocaleString('en-US')} conversations`;
  const compared = items === groups ? counted(items) : `${counted(items)} of ${conversations}`;
  if (tested.unit !== 'share' && better + worse === 0) return `Not known: there is no difference in ${compared}.`;
  const needed = `; for ${amountText(leastOf(tested), tested)} about ${about(itemsNeeded ?? 0)} are needed`;
  const more = itemsNeeded === null ? '' : needed;
  if (detectable === null) {
    return `Not known: ${compared} ${items === 1 ? 'is' : 'are'} too few to show a difference${more}.`;
  }
  const isEnough = itemsNeeded !== null && itemsNeeded <= items;
  const shown = `with ${compared} a difference of ${amountText(detectable, tested)} would show`;
  return `Not known: ${shown}${isEnough ? ', so it is probably smaller' : more}.`;
}

function amountText(amount: number, { unit, baseline }: PairTest): string {
  const isRelative = baseline > 0 && (unit === 'usd' || unit === 'seconds');
  if (isRelative) return `${about((amount / baseline) * 100)} %`;
  const text = about(amount);
  return {
    share: text === '1' ? '1 point' : `${text} points`,
    score: text,
    usd: moneyText(amount),
    seconds: `${text} s`,
  }[unit];
}

function about(value: number): string {
  return TWO_DIGITS.format(value);
}

function counted(items: number): string {
  return items === 1 ? '1 item' : `${items.toLocaleString('en-US')} items`;
}

/** By a grader: 1 if most repeats have passed, otherwise 0. */
function passOf(index: number): ValueOf {
  return (runs) => {
    const passed = mostPassed(runs.map(({ grades }) => grades[index]?.pass ?? null));
    return passed === null ? null : Number(passed);
  };
}

function scoreOf(index: number): ValueOf {
  return (runs) => meanOf(runs.map(({ grades }) => grades[index]?.score ?? null));
}

function medianOf(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length / 2;
  return tidyOrNull(meanOf(sorted.slice(Math.ceil(half) - 1, Math.floor(half) + 1)));
}

function tidyInterval({ from, to }: statistics.Interval, times: number): statistics.Interval {
  return { from: tidy(from * times), to: tidy(to * times) };
}

function tidyOrNull(value: number | null): number | null {
  return value === null ? null : tidy(value);
}

/** Without the last digits, which rounding makes. */
function tidy(value: number): number {
  return Number(value.toPrecision(6));
}
