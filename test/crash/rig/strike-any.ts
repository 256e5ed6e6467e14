// A fault that befalls whichever of several processes comes first to a round trip, while a scene is played: killed, frozen until the scene
// is over, or cut off.
import type { HeldBytes } from '../../servers/round-trips.ts';
import type { FaultKind } from './fault.ts';
import { kindOf } from './statement-kinds.ts';
import type { Victim } from './victim.ts';
import { waitUntil } from './wait-until.ts';

export interface AnyPoint {
  fault: Exclude<FaultKind, 'race'>;
  when: 'before' | 'after';
  /** Which statement, see `kindOf`. */
  kind: string;
  /** Which of its kind since the scene began, over all of the processes, from 1; absent: the first. */
  ordinal?: number;
}

/** For people: `kill before fire-crons`. */
export function nameOfAny({ fault, when, kind, ordinal }: AnyPoint): string {
  return `${fault} ${when} ${kind}${ordinal === undefined ? '' : ` ${ordinal}`}`;
}

/** Rounds by the clock of a process that woke: by then it has long done what it believed to be its right. */
const wokenRounds = 2;
const wokenMsMax = 120_000;

/**
 * Plays the scene with the fault and judges it when it is over, and once more when whoever was frozen has woken: the same must hold.
 * `isStruck` is false when nobody came to that statement.
 */
export async function strikeAny(
  victims: readonly Victim[],
  point: AnyPoint,
  scene: { play: () => Promise<void>; judge: () => Promise<string[]> },
): Promise<{ isStruck: boolean; faults: string[] }> {
  await Promise.all(victims.map((victim) => victim.revive()));
  let struck: Victim | null = null;
  let killed: Promise<void> = Promise.resolve();
  const thaw = Promise.withResolvers<void>();
  const hit = async (victim: Victim): Promise<HeldBytes> => {
    if (struck !== null) return 'forward';
    struck = victim;
    if (point.fault === 'kill') await (killed = victim.kill());
    if (point.fault === 'freeze') victim.freeze();
    if (point.fault !== 'freeze') return 'drop';
    await thaw.promise;
    // What was held goes first: it is the first thing that the process hears when it wakes.
    setImmediate(() => victim.thaw());
    return 'forward';
  };
  let seen = 0;
  const isPoint = (kind: string): boolean => kind === point.kind && (seen += 1) === (point.ordinal ?? 1);
  const armed = victims.map((victim) =>
    victim.proxy.arm({
      when: point.when,
      at: 1,
      matches: (trip) => trip.label.startsWith('holdfast:') && isPoint(kindOf(trip)),
      hit: () => hit(victim),
    }),
  );
  const faults: string[] = [];
  try {
    await scene.play();
    faults.push(...(await scene.judge()));
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
    // The scene may be over before the process is dead; the next one must not take it for alive.
    await killed;
  }
  return { isStruck: struck !== null, faults };
}

/** True when the process has completed so many rounds of its reconciler or scheduler since now, or is dead. */
function roundsOf(victim: Victim, rounds: number): () => boolean {
  let seen = 0;
  const stop = victim.proxy.onRoundTrip((trip) => {
    if ((trip.tag === 'reconcile' || trip.tag === 'due-crons') && trip.outcome === 'ok') seen += 1;
    if (seen >= rounds) stop();
  });
  return () => seen >= rounds || !victim.isAlive;
}
