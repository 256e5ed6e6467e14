// A fault that strikes the first of several processes that reaches a round trip while a scene is
// played: the process is killed, frozen until the scene is over, or cut off.
import type { HeldBytes, RoundTrip } from '../../servers/round-trips.ts';
import type { FaultKind } from './fault.ts';
import { kindOf } from './statement-kinds.ts';
import type { Victim } from './victim.ts';
import { waitUntil } from './wait-until.ts';

export interface AnyPoint {
  fault: Exclude<FaultKind, 'race'>;
  when: 'before' | 'after';
  /** Which statement, see `kindOf`. */
  kind: string;
  /**
   * Which one of its kind since the scene began, counted over all processes from 1; absent: the
   * first.
   */
  ordinal?: number;
  /** Which round trips are of the kind; absent: by `kindOf`. */
  matches?: (trip: RoundTrip) => boolean;
}

/** A label: `kill before fire-crons`. */
export function nameOfAny({ fault, when, kind, ordinal }: AnyPoint): string {
  return `${fault} ${when} ${kind}${ordinal === undefined ? '' : ` ${ordinal}`}`;
}

/**
 * Periodic rounds of a process that woke: after so many it has finished everything that it was
 * doing when it was frozen.
 */
const wokenRounds = 2;
const wokenMsMax = 120_000;

/**
 * Which process reaches a round trip, and whether one does, depends on a race: on what it knows
 * already, and on the others.
 */
const triesMax = 4;

interface StruckScene {
  isStruck: boolean;
  faults: string[];
}

/** A scene, and what is wrong when it is over. */
export interface Scene {
  play: () => Promise<void>;
  judge: () => Promise<string[]>;
  /** Called when a process is frozen, which stays so until this resolves with what is wrong. */
  whileFrozen?: () => Promise<string[]>;
}

/** Strikes a scene, and new ones until a process reaches that statement. */
export async function strikeReached(
  victims: readonly Victim[],
  point: AnyPoint,
  newScene: () => Scene,
): Promise<StruckScene> {
  let report = await strikeAny(victims, point, newScene());
  for (let tries = 1; tries < triesMax && !report.isStruck && report.faults.length === 0; tries += 1)
    report = await strikeAny(victims, point, newScene());
  return report;
}

/**
 * Plays the scene with the fault and judges it when it is over, and again when a frozen process has
 * woken: the same must hold. `isStruck` is false when no process reached that statement.
 */
export async function strikeAny(victims: readonly Victim[], point: AnyPoint, scene: Scene): Promise<StruckScene> {
  await Promise.all(victims.map((victim) => victim.revive()));
  let struck: Victim | null = null;
  let killed: Promise<void> = Promise.resolve();
  let judged: Promise<string[]> = Promise.resolve([]);
  const thaw = Promise.withResolvers<void>();
  const hit = async (victim: Victim): Promise<HeldBytes> => {
    if (struck !== null) return 'forward';
    struck = victim;
    if (point.fault === 'kill') await (killed = victim.kill());
    if (point.fault === 'freeze') victim.freeze();
    if (point.fault !== 'freeze') return 'drop';
    judged = scene.whileFrozen?.().catch((error: unknown) => [(error as Error).message]) ?? judged;
    await thaw.promise;
    // The held statement goes first: its answer is the first thing that the process receives when
    // it wakes.
    setImmediate(() => victim.thaw());
    return 'forward';
  };
  let seen = 0;
  const { matches = (trip) => kindOf(trip) === point.kind } = point;
  const isPoint = (trip: RoundTrip): boolean => matches(trip) && (seen += 1) === (point.ordinal ?? 1);
  const armed = victims.map((victim) =>
    victim.proxy.arm({
      when: point.when,
      at: 1,
      matches: (trip) => trip.label.startsWith('holdfast:') && isPoint(trip),
      hit: () => hit(victim),
    }),
  );
  const faults: string[] = [];
  try {
    await scene.play();
    faults.push(...(await judged), ...(await scene.judge()));
    if (point.fault === 'freeze' && struck !== null) {
      const isAbout = roundsOf(struck, wokenRounds);
      thaw.resolve();
      await waitUntil('the woken process is about', wokenMsMax, isAbout);
      faults.push(...(await scene.judge()).map((fault) => `after it woke: ${fault}`));
    }
  } catch (error) {
    faults.push((error as Error).message);
  } finally {
    for (const one of armed) one.disarm();
    thaw.resolve();
    // The scene may be over before the process is dead; the next scene must not count it as
    // running.
    await killed;
  }
  return { isStruck: struck !== null, faults };
}

/**
 * What a process does periodically: its reconciler, its scheduler, or what an API asks of the
 * database.
 */
const ROUNDS: ReadonlySet<string | null> = new Set(['who-has-work', 'reconcile', 'due-crons', 'service-health']);

/** True when the process has completed this many periodic rounds since now, or is dead. */
function roundsOf(victim: Victim, rounds: number): () => boolean {
  let seen = 0;
  const stop = victim.proxy.onRoundTrip((trip) => {
    if (ROUNDS.has(trip.tag) && trip.outcome === 'ok') seen += 1;
    if (seen >= rounds) stop();
  });
  return () => seen >= rounds || !victim.isAlive;
}
