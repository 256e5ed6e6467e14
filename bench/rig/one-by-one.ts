// The turns of one session, one after the other, alone and beside something that keeps the service
// busy.
import { formatNumber, type BarLine } from './bar.ts';
import type { BenchService } from './bench-service.ts';
import { msOf } from './ms-of.ts';
import { turnText } from './prompts.ts';
import { median, quantile } from './statistics.ts';

export const warmUpTurns = 30;
const stepsPerTurn = 2;

/** How long each turn of a session takes, in milliseconds. */
export async function turnsOf(service: BenchService, session: string, count: number): Promise<number[]> {
  const latencies: number[] = [];
  for (let turn = 1; turn <= count; turn += 1) latencies.push(await msOf(() => service.send(session, turnText)));
  return latencies;
}

/**
 * The p99 beside something, less the one step of another session that a turn may wait for, to the
 * p99 alone.
 */
export function besideLine(
  line: Pick<BarLine, 'part' | 'what'>,
  alone: readonly number[],
  beside: readonly number[],
): BarLine {
  const stepMs = quantile(alone, 0.5) / stepsPerTurn;
  const [aloneMs, besideMs] = [quantile(alone, 0.99), quantile(beside, 0.99)];
  return {
    ...line,
    floor: `alone ${formatNumber(aloneMs)} ms, median ${formatNumber(median(alone))} ms`,
    holdfast: `beside ${formatNumber(besideMs)} ms, median ${formatNumber(median(beside))} ms; a step ${formatNumber(stepMs)} ms`,
    measured: (besideMs - stepMs) / aloneMs,
    unit: 'x',
    bar: 2,
    sense: 'atMost',
  };
}
