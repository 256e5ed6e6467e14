// (o) What else runs beside a large live batch: a light session, and a small batch. With the lanes of a service as it is installed, so that the
// batch has its own slots; each is measured alone and beside the batch on the same service.
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { formatNumber, type BarLine } from '../rig/bar.ts';
import { withService, type BenchContext, type BenchPart } from '../rig/bench-context.ts';
import type { BenchService } from '../rig/bench-service.ts';
import { turnText } from '../rig/prompts.ts';
import { median, quantile } from '../rig/statistics.ts';

export const fairBatches: BenchPart = { letter: 'o', title: 'beside a large batch', run };

/** The default of `lanes`. */
const turnsAtOnce = 'main=4,subagent=8,cron=2,batch=4';
const smallItems = 10;
const warmUpTurns = 30;
const stepsPerTurn = 2;
const lookEveryMs = 10;

async function run(context: BenchContext): Promise<BarLine[]> {
  const { items, turns, batches } = context.isQuick
    ? { items: 2_000, turns: 60, batches: 3 }
    : { items: 10_000, turns: 200, batches: 9 };
  return await withService(context, { turnsAtOnce }, async (service) => {
    const [light = ''] = await service.seed(1, 0);
    await turnsOf(service, light, warmUpTurns);
    await endsOf(service, 1);
    context.say(`${turns} turns and ${batches} batches of ${smallItems}, alone`);
    const turnsAlone = await turnsOf(service, light, turns);
    const batchesAlone = await endsOf(service, batches);
    context.say(`the same beside a batch of ${items}`);
    const large = await submit(service, items);
    await until(async () => (await show(service, large)).counts.answered > 0);
    const turnsBeside = await turnsOf(service, light, turns);
    const batchesBeside = await endsOf(service, batches);
    const { status, counts } = await show(service, large);
    if (status !== 'running') throw new Error(`the large batch is ${status} before all was measured beside it`);
    context.say(`the large batch has ${counts.answered} answers; it is cancelled`);
    await service.ask('POST', `/v1/batches/${large}/cancel`, {});
    await until(async () => (await show(service, large)).status === 'ended');
    return [lineOfTurns(items, turnsAlone, turnsBeside), lineOfBatches(items, batchesAlone, batchesBeside)];
  });
}

function lineOfTurns(items: number, alone: readonly number[], beside: readonly number[]): BarLine {
  const stepMs = quantile(alone, 0.5) / stepsPerTurn;
  const [aloneMs, besideMs] = [quantile(alone, 0.99), quantile(beside, 0.99)];
  return {
    part: 'o',
    what: `p99 of a session beside a batch of ${items}, less one step, to p99 alone`,
    floor: `alone ${formatNumber(aloneMs)} ms, median ${formatNumber(median(alone))} ms`,
    holdfast: `beside ${formatNumber(besideMs)} ms, median ${formatNumber(median(beside))} ms; a step ${formatNumber(stepMs)} ms`,
    measured: (besideMs - stepMs) / aloneMs,
    unit: 'x',
    bar: 2,
    sense: 'atMost',
  };
}

function lineOfBatches(items: number, alone: readonly number[], beside: readonly number[]): BarLine {
  return {
    part: 'o',
    what: `a batch of ${smallItems} beside one of ${items}, to the same alone, median`,
    floor: `alone ${formatNumber(median(alone))} ms`,
    holdfast: `beside ${formatNumber(median(beside))} ms`,
    measured: median(beside) / median(alone),
    unit: 'x',
    bar: 3,
    sense: 'atMost',
  };
}

/** How long each turn of a session takes, one after the other, in milliseconds. */
async function turnsOf(service: BenchService, session: string, count: number): Promise<number[]> {
  const latencies: number[] = [];
  for (let turn = 1; turn <= count; turn += 1) {
    const from = performance.now();
    await service.send(session, turnText);
    latencies.push(performance.now() - from);
  }
  return latencies;
}

/** How long small batches take from their submission to their end, one after the other, in milliseconds. */
async function endsOf(service: BenchService, count: number): Promise<number[]> {
  const latencies: number[] = [];
  for (let batch = 1; batch <= count; batch += 1) {
    const from = performance.now();
    const id = await submit(service, smallItems);
    await until(async () => (await show(service, id)).status === 'ended');
    latencies.push(performance.now() - from);
  }
  return latencies;
}

async function submit(service: BenchService, count: number): Promise<string> {
  const items = Array.from({ length: count }, () => ({ text: turnText }));
  const { id } = (await service.ask('POST', '/v1/batches', { items, via: 'live' })) as { id: string };
  return id;
}

async function show(
  service: BenchService,
  id: string,
): Promise<{ status: string; outcome: string | null; counts: { answered: number } }> {
  return (await service.ask('GET', `/v1/batches/${id}`)) as Awaited<ReturnType<typeof show>>;
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await delay(lookEveryMs);
}
