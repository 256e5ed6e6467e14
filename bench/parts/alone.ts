// (b) The time that a turn adds to its two model calls when it is alone, beside what the floor
// adds. The calls by themselves are measured in the same round and subtracted. There is no bar:
// beside a model call of seconds the difference does not matter.
import type { Floor } from '../floor/measure-floor.ts';
import { alternate } from '../rig/alternate.ts';
import { formatNumber, type BarLine } from '../rig/bar.ts';
import { withService, type BenchContext, type BenchPart } from '../rig/bench-context.ts';
import type { BenchService } from '../rig/bench-service.ts';
import { turnText } from '../rig/prompts.ts';
import { median, medianOf } from '../rig/statistics.ts';

export const alone: BenchPart = { letter: 'b', title: 'a turn alone', run };

/** Then a fresh session follows: each turn makes its history longer. */
const turnsPerSession = 20;

interface Alone {
  /** Median time of a turn, and of its model calls by themselves. */
  turnMs: number;
  modelMs: number;
}

async function run(context: BenchContext): Promise<BarLine[]> {
  const { rounds, sessionsPerRound, warmUpSessions } = context.isQuick
    ? { rounds: 2, sessionsPerRound: 1, warmUpSessions: 10 }
    : { rounds: 7, sessionsPerRound: 3, warmUpSessions: 30 };
  return await withService(context, {}, async (service) => {
    const { floor } = context;
    context.say('warming up');
    // Many concurrent sessions, because single turns take long to warm up the code.
    const warmUp = { sessions: warmUpSessions, turnsEach: 20, text: turnText };
    for (const side of [floor, service]) await side.run(warmUp);
    context.say(`floor and service by turns, ${rounds} rounds`);
    const measure = async (side: Pick<Floor | BenchService, 'run'>): Promise<Alone> => {
      const modelMs = await floor.runModelAlone(turnsPerSession * sessionsPerRound);
      const turnMs: number[] = [];
      for (let session = 1; session <= sessionsPerRound; session += 1) {
        turnMs.push(...(await side.run({ sessions: 1, turnsEach: turnsPerSession, text: turnText })).latenciesMs);
      }
      return { modelMs: median(modelMs), turnMs: median(turnMs) };
    };
    const { runsOf, ratioOf } = await alternate(
      rounds,
      [
        { name: 'floor', measure: () => measure(floor) },
        { name: 'service', measure: () => measure(service) },
      ],
      addedMs,
    );
    return [
      {
        part: 'b',
        what: 'added time alone, median',
        floor: describe(runsOf('floor')),
        holdfast: describe(runsOf('service')),
        measured: ratioOf('service', 'floor'),
        unit: 'x',
        bar: null,
      },
    ];
  });
}

function addedMs({ turnMs, modelMs }: Alone): number {
  return turnMs - modelMs;
}

function describe(rounds: Alone[]): string {
  return `${formatNumber(medianOf(rounds, addedMs))} ms (turn ${formatNumber(medianOf(rounds, (one) => one.turnMs))})`;
}
