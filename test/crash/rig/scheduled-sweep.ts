// A sweep of scenes with schedulers and workers: at each point the first process that reaches a
// statement is struck, the others continue, and the scene is judged when it is over.
import { isLongForm } from '../../servers/test-form.ts';
import { nameOfAny, strikeAny, type AnyPoint } from './strike-any.ts';
import { isFullSweep, printPoints } from './sweep-points.ts';
import type { Victim } from './victim.ts';

/** What a sweep plays at each of its points. */
export interface ScheduledPlay<Scene> {
  /** For the output: `a batch`. */
  name: string;
  /** The first of the points that the short form strikes; every sixth follows. */
  shortFrom: number;
  begin: () => Promise<Scene>;
  /** Resolves when the scene is over. */
  settle: (scene: Scene) => Promise<void>;
  /** Returns what is wrong afterwards. */
  judge: (scene: Scene) => Promise<string[]>;
}

interface SceneSweep {
  victims: readonly Victim[];
  kinds: readonly string[];
  fault: AnyPoint['fault'];
  /** How many of each kind the full sweep strikes; absent: the first. */
  ofEach?: number;
}

/** Strikes these processes with a fault at statements of these kinds. */
export async function sweepScenes<Scene>(
  play: ScheduledPlay<Scene>,
  { victims, kinds, fault, ofEach = 1 }: SceneSweep,
): Promise<{ faults: string[]; missed: string[] }> {
  const faults: string[] = [];
  const missed: string[] = [];
  for (const point of pointsOf(play, { kinds, fault, ofEach })) {
    let scene: Scene | undefined;
    const struck = await strikeAny(victims, point, {
      play: async () => play.settle((scene = await play.begin())),
      judge: async () => (scene === undefined ? ['the scene did not begin'] : play.judge(scene)),
    });
    if (!struck.isStruck) missed.push(nameOfAny(point));
    faults.push(...struck.faults.map((found) => `${nameOfAny(point)}: ${found}`));
  }
  return { faults, missed };
}

/**
 * Long form: one of every second pair, alternating, for kills, and of every fourth pair for the
 * other faults. Short form: one of them.
 */
function pointsOf(
  { name, shortFrom }: Pick<ScheduledPlay<never>, 'name' | 'shortFrom'>,
  { kinds, fault, ofEach }: Required<Pick<SceneSweep, 'kinds' | 'fault' | 'ofEach'>>,
): AnyPoint[] {
  const all = Array.from({ length: ofEach }, (_, at) => at + 1).flatMap((ordinal) =>
    kinds.flatMap((kind) => (['before', 'after'] as const).map((when) => ({ fault, when, kind, ordinal }))),
  );
  const first = all.filter(({ ordinal }) => ordinal === 1);
  const some = first.filter((_, at) => at % 8 === 0 || (fault === 'kill' && at % 8 === 5));
  const taken = isFullSweep() ? all : isLongForm() ? some : some.filter((_, at) => at === shortFrom % some.length);
  printPoints(name, taken, all);
  return taken;
}
