// Plays a scenario in which the first worker that reaches a given round trip is struck, and reports
// the result. Round trips are counted over all workers: a scenario has several sessions, and it is
// not known beforehand which worker runs which.
import type { CrashRig } from './crash-rig.ts';
import { readFamilyRows } from './family-rows.ts';
import { isOver, type Play, type Scenario } from './scenarios.ts';
import { changedTables } from './session-rows.ts';
import { countTrips } from './sweep-kills.ts';
import { nameOfAny, strikeReached, type AnyPoint } from './strike-any.ts';
import { waitUntil } from './wait-until.ts';

export interface ScenarioReport {
  isReached: boolean;
  violations: string[];
}

const overMsMax = 240_000;
let plays = 0;

/**
 * The round trips of a scenario without a fault: kinds with their counts. Rejects when something is
 * wrong even without one.
 */
export async function recordScenario(rig: CrashRig, scenario: Scenario): Promise<Map<string, number>> {
  const play = newPlay();
  const counts = await countTrips(rig.workers, () => perform(rig, scenario, play));
  const violations = await scenario.judge(rig, play);
  if (violations.length > 0) throw new Error(`${scenario.name}, undisturbed: ${violations.join('; ')}`);
  return counts;
}

/** Plays it with the fault, and again if no worker reached that round trip. */
export async function strikeScenario(rig: CrashRig, scenario: Scenario, point: AnyPoint): Promise<ScenarioReport> {
  let name = '';
  const { isStruck, faults } = await strikeReached(rig.workers, point, () => {
    const play = newPlay();
    name = `${scenario.name}, ${nameOfAny(point)} (${play.session})`;
    let before: Record<string, string> | null = null;
    return {
      play: () => perform(rig, scenario, play),
      async judge() {
        const rows = await readFamilyRows(rig, play.session);
        // Judged again when a frozen worker has woken: by then it must have nothing left to write.
        const changed = before === null ? [] : changedTables(before, rows).map((table) => `it wrote to ${table}`);
        before = rows;
        return [...changed, ...(await scenario.judge(rig, play))];
      },
    };
  });
  return { isReached: isStruck, violations: faults.map((fault) => `${name}: ${fault}`) };
}

/** Begins it, and resolves when it is over. */
export async function perform(rig: CrashRig, scenario: Scenario, play: Play): Promise<void> {
  const opened = Promise.race(rig.workers.map((worker) => worker.nextTrip((trip) => trip.tag === 'open-turn')));
  await scenario.begin(rig, play, opened);
  await waitUntil(`${play.session} is over`, overMsMax, () => isOver(rig, play, scenario));
}

/** A play in a session of its own. */
export function newPlay(): Play {
  plays += 1;
  return { session: `play-${plays}x`, messages: [] };
}
