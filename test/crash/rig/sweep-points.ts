// The points of a turn that a sweep strikes. The full sweep takes every round trip, before and
// after, with every fault; the short one takes every kind of statement, and alternates between
// before and after for kinds that occur often.
import { isLongForm } from '../../servers/test-form.ts';
import type { FaultKind, StrikePoint } from './fault.ts';
import { isJournalKind } from './statement-kinds.ts';

/**
 * The workers of a sweep: one is struck while another continues. The long form has a third, so that
 * a killed one starts again while the next point is struck.
 */
export const sweptWorkers = isLongForm() ? 3 : 2;

/** True when every point is requested: `HOLDFAST_CRASH_SWEEP=full`. */
export function isFullSweep(): boolean {
  return process.env['HOLDFAST_CRASH_SWEEP'] === 'full';
}

/** All points of a recorded turn for one fault: kinds with their counts. */
export function everyPoint(turn: ReadonlyMap<string, number>, fault: FaultKind): StrikePoint[] {
  const points: StrikePoint[] = [];
  for (const [kind, count] of turn) {
    for (let ordinal = 1; ordinal <= count; ordinal += 1) {
      points.push({ fault, kind, ordinal, when: 'before' }, { fault, kind, ordinal, when: 'after' });
    }
  }
  return points;
}

/** The commits of a turn, each arriving late, when another worker already holds the session. */
export function racePoints(turn: ReadonlyMap<string, number>): StrikePoint[] {
  return everyPoint(turn, 'race').filter(({ kind, when }) => when === 'before' && isJournalKind(kind));
}

/**
 * Without those that occur by the clock: how many of these a turn has depends on how long it takes.
 */
export function certain<Point extends { kind: string }>(points: readonly Point[]): Point[] {
  return points.filter(({ kind }) => !BY_CLOCK.has(kind));
}

/**
 * Of points in pairs (before, after): both if the kind occurs once, otherwise one of them,
 * alternating.
 */
export function alternating(points: StrikePoint[]): StrikePoint[] {
  const counts = Map.groupBy(points, ({ kind }) => kind);
  return points.filter(({ kind, ordinal, when }) => {
    if (counts.get(kind)!.length <= 2) return true;
    return (ordinal % 2 === 1) === (when === 'before');
  });
}

/** Periodic statements within a long turn: the first of each. */
export function clockPoints(fault: FaultKind): StrikePoint[] {
  return ['renew', 'watch'].flatMap((kind) =>
    (['before', 'after'] as const).map((when) => ({ fault, kind, ordinal: 1, when, lastAnswerMs: 700 })),
  );
}

/**
 * How often these occur within a turn depends on its duration: a lease is renewed at intervals, and
 * jobs are polled.
 */
const BY_CLOCK: ReadonlySet<string> = new Set(['renew', 'watch', 'queue: take']);

/**
 * The points of a sweep that were not reached, of those that every turn reaches. A worker may need
 * one statement less than in the recorded turn; that is not a fault, but it must stay rare.
 */
export function missedPoints<Report extends { point: StrikePoint; isReached: boolean }>(
  reports: readonly Report[],
): { missed: Report[]; missedMax: number } {
  const needed = reports.filter(({ point }) => !BY_CLOCK.has(point.kind));
  return { missed: needed.filter(({ isReached }) => !isReached), missedMax: Math.max(1, needed.length * 0.2) };
}

/** Prints how many points a sweep strikes with a fault, out of all those of its exhaustive form. */
export function printPoints(
  sweep: string,
  taken: readonly { fault: FaultKind }[],
  all: readonly { fault: FaultKind }[],
): void {
  const faults = [...new Set(all.map(({ fault }) => fault))].join(', ');
  process.stderr.write(`Sweep of ${sweep}, ${faults}: ${taken.length} of ${all.length} points\n`);
}
