// (i) What it costs to compact a history of 180,000 tokens: how many model calls more than a turn
// makes anyway, and how long the turns of another session take meanwhile, which has nothing to do
// with it. The same turns alone are the baseline.
import { formatNumber, type BarLine } from '../rig/bar.ts';
import { withService, type BenchContext, type BenchPart } from '../rig/bench-context.ts';
import type { BenchService } from '../rig/bench-service.ts';
import { msOf } from '../rig/ms-of.ts';
import { turnText } from '../rig/prompts.ts';
import { median, quantile } from '../rig/statistics.ts';

export const compaction: BenchPart = { letter: 'i', title: 'compaction', run };

/** Entries of 400 characters, 100 tokens: a little more than what leaves the reserve free. */
const longEntries = 1_850;
const callsPerTurn = 2;
const warmUpTurns = 30;

async function run(context: BenchContext): Promise<BarLine[]> {
  return await withService(context, {}, (service) => measure(context, service));
}

async function measure(context: BenchContext, service: BenchService): Promise<BarLine[]> {
  const { sessions, turnsAlone } = context.isQuick
    ? { sessions: 3, turnsAlone: 30 }
    : { sessions: 10, turnsAlone: 150 };
  const [other] = await service.seed(1, 0);
  const [warmUp, ...long] = await service.seed(sessions + 1, longEntries);
  context.say(`the turns of a session alone, and while ${sessions} others are compacted one after the other`);
  for (let turn = 1; turn <= warmUpTurns; turn += 1) await service.send(other!, turnText);
  await service.send(warmUp!, turnText);
  const alone: number[] = [];
  for (let turn = 1; turn <= turnsAlone; turn += 1) alone.push(await msOf(() => service.send(other!, turnText)));
  const extra: number[] = [];
  const beside: number[] = [];
  const compacting: number[] = [];
  for (const session of long) {
    await context.model.takeCalls();
    let isDone = false;
    const compacted = msOf(() => service.send(session, turnText)).finally(() => (isDone = true));
    const latencies: number[] = [];
    // Another one is running when the turn that compacts ends: it counts, too.
    do latencies.push(await msOf(() => service.send(other!, turnText)));
    while (!isDone);
    compacting.push(await compacted);
    const calls = await context.model.takeCalls();
    extra.push(calls.length - callsPerTurn * (1 + latencies.length));
    beside.push(...latencies);
  }
  return [
    {
      part: 'i',
      what: 'model calls more for a history of 180,000 tokens',
      floor: `${callsPerTurn} of the turn itself`,
      holdfast: `${extra.join(', ')} in ${long.length} sessions; the whole turn ${formatNumber(median(compacting))} ms`,
      measured: Math.max(...extra),
      unit: '',
      bar: 1,
      sense: 'atMost',
    },
    {
      part: 'i',
      what: 'a turn of another session meanwhile, more than alone',
      floor: `alone ${formatNumber(median(alone))} ms, p99 ${formatNumber(quantile(alone, 0.99))} ms`,
      holdfast: `${formatNumber(median(beside))} ms, slowest ${formatNumber(Math.max(...beside))} ms of ${beside.length}`,
      measured: median(beside) - median(alone),
      unit: ' ms',
      // A session that had to wait would take as long as the turn that compacts.
      bar: 100,
      sense: 'atMost',
    },
  ];
}
