// The statistics of paired comparisons. Tests are exact, or flip signs with a seed that follows from
// the data, so that the same runs always give the same verdict. No library is used: those that are
// small (simple-statistics, jstat) have neither the paired tests nor their intervals.

/** Up to this p (two-sided, adjusted), a difference is not taken as chance. */
export const ALPHA = 0.05;
/** Standard normal quantiles: of 0.975, of 1 - 0.05 / 2m for m comparisons from one on, and of 0.8. */
const Z = 1.95996;
const Z_BY_TESTS = [Z, 2.2414, 2.39398, 2.49771, 2.57583, 2.63826, 2.69011];
const Z_POWER = 0.84162;
/** The distribution of whole numbers up to this sum takes at most about 0.3 s. */
const TOTAL_MAX = 20_000;
/** The probability of so few groups is counted even if they are no whole numbers. */
const FEW_MAX = 30;
const FLIPS = 5_000;
/** What rounding may change of a sum. */
export const ROUNDING = 1e-9;
/** A probability is not 0. */
const P_MIN = 1e-300;
/** The quantile of Student's t is approximated, which is within 1 % from 3 degrees of freedom on. */
const GROUPS_MIN = 4;

export interface Interval {
  from: number;
  to: number;
}

/** The value of an item. Those of one group may depend on each other. */
export interface GroupedValue {
  group: string;
  value: number;
}

export interface Spread {
  items: number;
  groups: number;
  mean: number;
  /** The sum of the values of each group. */
  sums: number[];
  /** How much larger groups make the variance of the mean, at least 1; null: there is one group. */
  designEffect: number | null;
  /** The variance of a value, with the design effect; null: there is one group. */
  variance: number | null;
}

/** Wilson's 95 % interval of a share. */
export function wilson(passed: number, of: number, z = Z): Interval {
  const share = passed / of;
  const middle = (share + z ** 2 / (2 * of)) / (1 + z ** 2 / of);
  const half = (z / (1 + z ** 2 / of)) * Math.sqrt((share * (1 - share)) / of + z ** 2 / (4 * of ** 2));
  return { from: passed === 0 ? 0 : middle - half, to: passed === of ? 1 : middle + half };
}

/**
 * The two-sided probability that the sum of the groups is this far from 0 if each group may as well
 * have had the other sign. It is exact for whole numbers and for groups of one size, which is the
 * test of McNemar, nearly so for few groups, and otherwise estimated.
 */
export function signFlipP(sums: readonly number[], flips = FLIPS): number {
  const signed = sums.filter((sum) => sum !== 0).toSorted((a, b) => Math.abs(a) - Math.abs(b));
  const sizes = signed.map(Math.abs);
  const total = sumOf(sizes);
  const least = Math.abs(sumOf(signed)) - ROUNDING * total;
  if (least <= 0) return 1;
  const unit = unitOf(sizes);
  if (total <= TOTAL_MAX * unit) return countedP(sizes, unit, least);
  if (sizes.length > FEW_MAX) return flippedP(sizes, least, flips);
  // With so small a unit, every sum that is as far counts in spite of rounding, and hardly any other.
  const small = total / TOTAL_MAX;
  return countedP(sizes, small, least - (small * sizes.length) / 2);
}

/** The unit in which all sizes are whole numbers; 0: none is known. */
function unitOf(sizes: readonly number[]): number {
  const [smallest = 0] = sizes;
  if (smallest === sizes.at(-1)) return smallest;
  return sizes.every(Number.isInteger) ? 1 : 0;
}

/** By the distribution of the sum of the groups whose sign is plus, in whole numbers of the unit. */
function countedP(sizes: readonly number[], unit: number, least: number): number {
  const wholes = sizes.map((size) => Math.round(size / unit));
  const total = sumOf(wholes);
  const chances = new Float64Array(total + 1);
  chances[0] = 1;
  let most = 0;
  for (const size of wholes) {
    most += size;
    for (let at = most; at >= 0; at -= 1) {
      chances[at] = ((chances[at] ?? 0) + (at < size ? 0 : (chances[at - size] ?? 0))) / 2;
    }
  }
  const tail = chances.subarray(Math.ceil((total + least / unit) / 2)).reduce((sum, chance) => sum + chance, 0);
  return Math.min(1, Math.max(P_MIN, 2 * tail));
}

/** The data count as one of the flips, without which p would be too small (Phipson and Smyth, 2010). */
function flippedP(sizes: readonly number[], least: number, flips: number): number {
  const random = randomBits(sizes.length);
  let asFar = 1;
  for (let flip = 0; flip < flips; flip += 1) {
    let [sum, bits] = [0, 0];
    for (let at = 0; at < sizes.length; at += 1) {
      bits = at % 32 === 0 ? random() : bits >>> 1;
      sum += (sizes[at] ?? 0) * ((bits & 1) * 2 - 1);
    }
    if (Math.abs(sum) >= least) asFar += 1;
  }
  return asFar / (1 + flips);
}

/** 32 random bits at a time (mulberry32). */
function randomBits(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return mixed ^ (mixed >>> 14);
  };
}

/** Holm's adjustment of the probabilities of one family; those that are null do not count. */
export function holm(ps: readonly (number | null)[]): (number | null)[] {
  const known = ps.filter((p) => p !== null).toSorted((a, b) => a - b);
  let highest = 0;
  const adjusted = known.map((p, at) => (highest = Math.max(highest, Math.min(1, p * (known.length - at)))));
  return ps.map((p) => (p === null ? null : (adjusted[known.lastIndexOf(p)] ?? p)));
}

/** How values vary, of items and of groups. If no value differs, items are taken as independent. */
export function spreadOf(values: readonly GroupedValue[]): Spread {
  const byGroup = new Map<string, { sum: number; size: number }>();
  for (const { group, value } of values) {
    const { sum, size } = byGroup.get(group) ?? { sum: 0, size: 0 };
    byGroup.set(group, { sum: sum + value, size: size + 1 });
  }
  const [items, groups, parts] = [values.length, byGroup.size, [...byGroup.values()]];
  const mean = sumOf(values.map(({ value }) => value)) / Math.max(1, items);
  const alone = sumOf(values.map(({ value }) => (value - mean) ** 2)) / (items - 1);
  const together = sumOf(parts.map(({ sum, size }) => (sum - size * mean) ** 2)) / (groups - 1) / (items / groups);
  const designEffect = groups < 2 ? null : alone > 0 ? Math.max(1, together / alone) : 1;
  const variance = designEffect === null ? null : designEffect * alone;
  return { items, groups, mean, sums: parts.map(({ sum }) => sum), designEffect, variance };
}

/**
 * The 95 % interval of the difference of two shares of the same items: Wald's with the adjustment
 * of Bonett and Price (2012), which keeps its level for few items and for none that changed. The
 * design effect counts as fewer items, and is itself uncertain with few groups, as in Student's t.
 */
export function passInterval(better: number, worse: number, spread: Spread): Interval | null {
  const { items, groups, designEffect } = spread;
  const isGrouped = groups < items;
  if (designEffect === null || (isGrouped && groups < GROUPS_MIN)) return null;
  const of = items / designEffect + 2;
  const [up, down] = [(better / designEffect + 1) / of, (worse / designEffect + 1) / of];
  const half = (isGrouped ? studentQuantile(groups - 1) : Z) * Math.sqrt((up + down - (up - down) ** 2) / of);
  return { from: Math.max(-1, up - down - half), to: Math.min(1, up - down + half) };
}

/** The 95 % interval of a mean, by Student's t over groups. */
export function meanInterval({ items, groups, mean, variance }: Spread): Interval | null {
  if (groups < GROUPS_MIN || variance === null) return null;
  const half = studentQuantile(groups - 1) * Math.sqrt(variance / items);
  return { from: mean - half, to: mean + half };
}

/** Of 0.975, by the expansion of Cornish and Fisher (Abramowitz and Stegun 26.7.5). */
export function studentQuantile(freedom: number): number {
  const first = (Z ** 3 + Z) / 4;
  const second = (5 * Z ** 5 + 16 * Z ** 3 + 3 * Z) / 96;
  const third = (3 * Z ** 7 + 19 * Z ** 5 + 17 * Z ** 3 - 15 * Z) / 384;
  return Z + first / freedom + second / freedom ** 2 + third / freedom ** 3;
}

/**
 * The items with which a difference of shares shows with 80 % probability, if this share of them
 * changes (Connor, 1987). It is not corrected for the exact test, which finds it with 75 to 80 %: with
 * the correction, that would be up to 93 %. `tests`: the comparisons of the family.
 */
export function itemsForPasses(changed: number, effect: number, tests = 1): number {
  const share = Math.max(changed, effect);
  const roots = quantileFor(tests) * Math.sqrt(share) + Z_POWER * Math.sqrt(share - effect ** 2);
  return (roots / effect) ** 2;
}

/** The same for a difference of means; the spread is estimated, which costs two items (Guenther, 1981). */
export function itemsForMeans(variance: number, effect: number, tests = 1): number {
  return variance * ((quantileFor(tests) + Z_POWER) / effect) ** 2 + quantileFor(tests) ** 2 / 2;
}

/** The smallest effect, up to `most`, for which these items suffice; null: they are too few for any. */
export function detectable(itemsFor: (effect: number) => number, items: number, most: number): number | null {
  if (!(itemsFor(most) <= items)) return null;
  let [tooSmall, enough] = [0, most];
  for (let halved = 0; halved < 40; halved += 1) {
    const middle = (tooSmall + enough) / 2;
    if (itemsFor(middle) <= items) enough = middle;
    else tooSmall = middle;
  }
  return enough;
}

/** The fewest groups that can show anything, which they do if all of them change in one direction. */
export function groupsMin(tests: number): number {
  return Math.ceil(1 + Math.log2(tests / ALPHA));
}

function quantileFor(tests: number): number {
  return Z_BY_TESTS[Math.min(tests, Z_BY_TESTS.length) - 1] ?? Z;
}

export function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
