// Measures several sides by turns. A machine does not keep its speed, so sides are compared within
// a round only: a round measures each side once, every second round in reverse order so that a
// machine that slows down favours no side, and the result is the median of the rounds' ratios.
import { median } from './statistics.ts';

/** The subject of the measurement on each side, e.g. the floor and the service. */
export type Sides<Name extends string, Figures> = readonly { name: Name; measure: () => Promise<Figures> }[];

export interface Alternation<Name extends string, Figures> {
  /** The figures of one side, one per round. */
  runsOf: (name: Name) => Figures[];
  /**
   * The median over the rounds of one side's value divided by the other's; the value is that of the
   * comparison unless another is given.
   */
  ratioOf: (name: Name, baseline: Name, valueOf?: (figures: Figures) => number) => number;
}

/** Measures every side once a round; `valueOf` is the number that is compared. */
export async function alternate<Name extends string, Figures>(
  rounds: number,
  sides: Sides<Name, Figures>,
  valueOf: (figures: Figures) => number,
): Promise<Alternation<Name, Figures>> {
  const done: Map<Name, Figures>[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const figures = new Map<Name, Figures>();
    for (const { name, measure } of round % 2 === 1 ? sides : sides.toReversed()) figures.set(name, await measure());
    done.push(figures);
  }
  // A round has the figures of every side.
  const runsOf = (name: Name): Figures[] => done.map((figures) => figures.get(name)!);
  return {
    runsOf,
    ratioOf(name, baseline, other = valueOf) {
      const baselines = runsOf(baseline);
      return median(runsOf(name).map((figures, round) => other(figures) / other(baselines[round]!)));
    },
  };
}
