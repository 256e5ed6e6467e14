// Floor and service by turns. A machine is never twice the same, so each run of the service is compared with the runs of the floor
// right before and right after it, and the verdict is the middle one of these ratios.
import { median } from './statistics.ts';

export interface Alternation<Figures> {
  /** One more than there are rounds. */
  floor: Figures[];
  service: Figures[];
  /** The median of the service's value over the floor's. */
  ratio: number;
}

/** Measures both so many times; `valueOf` is the number that is compared. */
export async function alternate<Figures>(
  rounds: number,
  measure: { floor: () => Promise<Figures>; service: () => Promise<Figures> },
  valueOf: (figures: Figures) => number,
): Promise<Alternation<Figures>> {
  const floor = [await measure.floor()];
  const service: Figures[] = [];
  const ratios: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const before = floor.at(-1)!;
    const between = await measure.service();
    const after = await measure.floor();
    service.push(between);
    floor.push(after);
    ratios.push(valueOf(between) / ((valueOf(before) + valueOf(after)) / 2));
  }
  return { floor, service, ratio: median(ratios) };
}
