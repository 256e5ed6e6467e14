// Who may call first when a limit is scarce: main, subagent, cron, batch, and no lane starves.
// Pure.

/** The lanes in the order in which a scarce limit is given to them. */
export const LANES_BY_RANK = ['main', 'subagent', 'cron', 'batch'] as const;
type RankedLane = (typeof LANES_BY_RANK)[number];

/** A number of calls of each lane. */
export type LaneCounts = Record<RankedLane, number>;

/** The minimum share of each lane in a scarce limit, as long as it has calls. */
const LANE_SHARE_MIN = 0.05;

/** A lane whose waiting calls have been passed over so often is next. */
const PASSED_OVER_MAX = Math.round(1 / LANE_SHARE_MIN) - 1;

export function noCalls(): LaneCounts {
  return { main: 0, subagent: 0, cron: 0, batch: 0 };
}

/**
 * How many of its calls a worker may make out of `pool`, when `own` are wanted by it and `others`
 * by the other workers. A lane's part of the pool is shared by the workers as they want calls of
 * it.
 */
export function shareCalls({ pool, own, others }: { pool: number; own: LaneCounts; others: LaneCounts }): number {
  const wanted = LANES_BY_RANK.map((lane) => own[lane] + others[lane]);
  const given = wanted.map((calls) => Math.min(calls, pool * LANE_SHARE_MIN));
  let rest = pool - sum(given);
  return sum(
    LANES_BY_RANK.map((lane, index) => {
      const total = wanted[index] ?? 0;
      const least = given[index] ?? 0;
      const more = Math.max(0, Math.min(total - least, rest));
      rest -= more;
      return total === 0 ? 0 : ((least + more) * own[lane]) / total;
    }),
  );
}

/**
 * The lane whose call is made next, of those with waiting calls; null: none waits. `passedOver`:
 * since a call of the lane was made.
 */
export function nextLane(waiting: LaneCounts, passedOver: LaneCounts): RankedLane | null {
  const lanes = LANES_BY_RANK.filter((lane) => waiting[lane] > 0);
  return lanes.find((lane) => passedOver[lane] >= PASSED_OVER_MAX) ?? lanes[0] ?? null;
}

/** The count of calls by which each lane is passed over, after a call of `lane` was made. */
export function passOver(passedOver: LaneCounts, waiting: LaneCounts, lane: RankedLane): LaneCounts {
  const after = { ...passedOver, [lane]: 0 };
  for (const other of LANES_BY_RANK) if (other !== lane) after[other] = waiting[other] > 0 ? after[other] + 1 : 0;
  return after;
}

export function countCalls({ main, subagent, cron, batch }: LaneCounts): number {
  return main + subagent + cron + batch;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
