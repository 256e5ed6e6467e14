// A sweep of kills over a scene of one turn: its round trips are recorded, and it is played again
// for each that is chosen, with the worker killed that reaches it.
import type { RoundTrip } from '../../servers/round-trips.ts';
import { isOfTurn, kindOf } from './statement-kinds.ts';
import { nameOfAny, strikeReached } from './strike-any.ts';
import { certain, everyPoint, isFullSweep, missedPoints, printPoints } from './sweep-points.ts';
import type { Victim } from './victim.ts';

export interface KilledScene {
  /** For the line that says how many points are struck. */
  name: string;
  workers: readonly Victim[];
  /** The long form strikes one point in so many. */
  every: number;
  /** Plays the scene; resolves when it is over. */
  play: () => Promise<void>;
  /** Returns what is wrong with all scenes so far. */
  judge: () => Promise<string[]>;
}

export interface KillReport {
  /** The statements that each play without a fault has, with how often it has them at least. */
  trips: ReadonlyMap<string, number>;
  faults: string[];
  /** The points that no worker reached, and how many of them are usual. */
  missed: string[];
  missedMax: number;
}

/**
 * The round trips of a turn while a scene is played, over all of these processes: kinds with their
 * counts.
 */
export async function countTrips(
  victims: readonly Victim[],
  play: () => Promise<unknown>,
): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const note = (trip: RoundTrip): void => {
    if (trip.outcome === 'pending' && isOfTurn(trip)) counts.set(kindOf(trip), (counts.get(kindOf(trip)) ?? 0) + 1);
  };
  const stops = victims.map(({ proxy }) => proxy.onRoundTrip(note));
  await play();
  for (const stop of stops) stop();
  return counts;
}

/**
 * Kills a worker at the points of the scene that the form selects, before and after its round
 * trips.
 */
export async function sweepKills(scene: KilledScene): Promise<KillReport> {
  const { name, workers, every, play, judge } = scene;
  // A process does more the first time than afterwards.
  await play();
  const [first, second] = [await countTrips(workers, play), await countTrips(workers, play)];
  const trips = new Map([...first].map(([kind, n]) => [kind, Math.min(n, second.get(kind) ?? 0)]));
  const all = everyPoint(trips, 'kill').map((point) => ({ ...point, fault: 'kill' as const }));
  const points = isFullSweep() ? all : certain(all).filter((_, at) => at % every === 0);
  printPoints(name, points, all);
  const reports: { point: (typeof all)[number]; isReached: boolean }[] = [];
  const faults: string[] = [];
  for (const point of points) {
    const report = await strikeReached(workers, point, () => ({ play, judge }));
    reports.push({ point, isReached: report.isStruck });
    faults.push(...report.faults.map((fault) => `${nameOfAny(point)}: ${fault}`));
  }
  const { missed, missedMax } = missedPoints(reports);
  return { trips, faults, missed: missed.map(({ point }) => nameOfAny(point)), missedMax };
}
