// (o) What else runs beside a large live batch: a light session, and a small batch. With the lanes
// of a service as it is installed, so that the batch has its own slots; each is measured alone and
// beside the batch on the same service.
import { formatNumber, type BarLine } from '../rig/bar.ts';
import { withService, type BenchContext, type BenchPart } from '../rig/bench-context.ts';
import type { BenchService } from '../rig/bench-service.ts';
import { msOf } from '../rig/ms-of.ts';
import { besideLine, turnsOf, warmUpTurns } from '../rig/one-by-one.ts';
import { turnText } from '../rig/prompts.ts';
import { median } from '../rig/statistics.ts';
import { until } from '../rig/until.ts';

export const fairBatches: BenchPart = { letter: 'o', title: 'beside a large batch', run };

/** The default of `lanes`. */
const turnsAtOnce = 'main=4,subagent=8,cron=2,batch=4';
const smallItems = 10;
const pollMs = 10;

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
    await until(pollMs, async () => (await show(service, large)).counts.answered > 0);
    const turnsBeside = await turnsOf(service, light, turns);
    const batchesBeside = await endsOf(service, batches);
    const { status, counts } = await show(service, large);
    if (status !== 'running') throw new Error(`the large batch is ${status} before all was measured beside it`);
    context.say(`the large batch has ${counts.answered} answers; it is cancelled`);
    await service.ask('POST', `/v1/batches/${large}/cancel`, {});
    await until(pollMs, async () => (await show(service, large)).status === 'ended');
    return [
      besideLine(
        { part: 'o', what: `p99 of a session beside a batch of ${items}, less one step, to p99 alone` },
        turnsAlone,
        turnsBeside,
      ),
      lineOfBatches(items, batchesAlone, batchesBeside),
    ];
  });
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

/**
 * How long small batches take from their submission to their end, one after the other, in
 * milliseconds.
 */
async function endsOf(service: BenchService, count: number): Promise<number[]> {
  const latencies: number[] = [];
  for (let batch = 1; batch <= count; batch += 1) {
    latencies.push(
      await msOf(async () => {
        const id = await submit(service, smallItems);
        await until(pollMs, async () => (await show(service, id)).status === 'ended');
      }),
    );
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
