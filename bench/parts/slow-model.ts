// (d) A slow model, as real ones are: the time that 64 sessions add to it, and whether 200 turns at
// once wait for it together. There is no bar: the floor's figures stand beside.
import type { Floor } from '../floor/measure-floor.ts';
import { formatNumber, type BarLine } from '../rig/bar.ts';
import { withService, type BenchContext, type BenchPart } from '../rig/bench-context.ts';
import type { BenchService } from '../rig/bench-service.ts';
import { slowTurnText, turnText } from '../rig/prompts.ts';
import { medianOf } from '../rig/statistics.ts';

export const slowModel: BenchPart = { letter: 'd', title: 'a slow model', run };

const callsPerTurn = 2;
const usual = { sessions: 64, text: slowTurnText(200), modelMs: 200 * callsPerTurn };
const crowd = { sessions: 200, turnsEach: 1, text: slowTurnText(800), modelMs: 800 * callsPerTurn };
const warmUp = { sessions: 64, turnsEach: 8, text: turnText };

interface Figures {
  /**
   * The additional time of the median and of the slowest hundredth over the model's time, in
   * milliseconds.
   */
  p50AddedMs: number;
  p99AddedMs: number;
  /** The slowest of the crowd, in times of the model's time; the middle one of the rounds. */
  crowdRatio: number;
}

async function run(context: BenchContext): Promise<BarLine[]> {
  context.say('floor');
  const floor = await measure(context, context.floor);
  const service = await withService(context, {}, (started) => {
    context.say('service');
    return measure(context, started);
  });
  return [
    {
      part: 'd',
      what: 'added by 64 sessions to a 200 ms model, median',
      floor: describe(floor),
      holdfast: describe(service),
      measured: service.p50AddedMs,
      unit: ' ms',
      bar: null,
    },
    {
      part: 'd',
      what: 'slowest of 200 turns at once, 800 ms model',
      floor: `${formatNumber(floor.crowdRatio)} x the model`,
      holdfast: `${(service.crowdRatio * crowd.modelMs).toFixed(0)} ms for ${crowd.modelMs} ms of model`,
      measured: service.crowdRatio,
      unit: 'x',
      bar: null,
    },
  ];
}

async function measure(context: BenchContext, side: Pick<Floor | BenchService, 'run'>): Promise<Figures> {
  const { turnsEach, crowds } = context.isQuick ? { turnsEach: 4, crowds: 1 } : { turnsEach: 12, crowds: 3 };
  await side.run(warmUp);
  const { modelMs, ...load } = usual;
  const { p50Ms, p99Ms } = await side.run({ ...load, turnsEach, spreadMs: modelMs });
  const slowest: number[] = [];
  for (let round = 1; round <= crowds; round += 1) {
    const { latenciesMs } = await side.run(crowd);
    slowest.push(Math.max(...latenciesMs));
  }
  return {
    p50AddedMs: p50Ms - modelMs,
    p99AddedMs: p99Ms - modelMs,
    crowdRatio: medianOf(slowest, (ms) => ms / crowd.modelMs),
  };
}

function describe({ p50AddedMs, p99AddedMs }: Figures): string {
  return `${formatNumber(p50AddedMs)} ms, p99 ${formatNumber(p99AddedMs)} ms`;
}
