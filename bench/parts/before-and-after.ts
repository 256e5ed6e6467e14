// (before) This tree and an older commit by turns, beside the floor: turns per second at 64 sessions in three settings, a turn alone, and
// memory. Both run on this machine in one run, each on a PostgreSQL server of its own with the same settings.
import { alternate, type Alternation } from '../rig/alternate.ts';
import { formatNumber, type BarLine } from '../rig/bar.ts';
import { withService, type BenchContext, type BenchPart } from '../rig/bench-context.ts';
import type { BenchPlace } from '../rig/bench-place.ts';
import type { BenchService, ServiceOptions } from '../rig/bench-service.ts';
import { openCheckout } from '../rig/checkout.ts';
import { describeLoads, type LoadResult } from '../rig/closed-loop.ts';
import { formatComparison, type ComparisonRow } from '../rig/comparison.ts';
import { memoryOfTree, peakMemory } from '../rig/process-memory.ts';
import { turnText } from '../rig/prompts.ts';
import { startRedisServer } from '../rig/redis-server.ts';
import { medianOf } from '../rig/statistics.ts';

const sessions = 64;

type Side = 'floor' | 'before' | 'after';

/** What one run of a load found; the floor's memory is not measured. */
interface Figures extends LoadResult {
  peakMegabytes: number;
}

interface Setting {
  title: string;
  /** The least fraction of the floor; null: none is promised. */
  bar: number | null;
  options: Pick<ServiceOptions, 'redisUrl' | 'isSplit'>;
}

interface Services {
  before: BenchService;
  after: BenchService;
}

/** The comparison with this commit. */
export function beforeAndAfter(commit: string): BenchPart {
  return {
    letter: 'before',
    title: `this tree and an older commit (${commit})`,
    run: (context) => run(context, commit),
  };
}

async function run(context: BenchContext, commit: string): Promise<BarLine[]> {
  context.say(`checking out ${commit}`);
  const checkout = await openCheckout(commit);
  const redis = await startRedisServer();
  const redisBefore = await startRedisServer();
  try {
    const place = await context.openPlace();
    const old = { place, rootDir: checkout.rootDir };
    const lines: BarLine[] = [];
    const rows: ComparisonRow[] = [];
    const add = async (setting: Setting, olderRedisUrl?: string): Promise<void> => {
      const older = { ...old, ...setting.options, ...(olderRedisUrl === undefined ? {} : { redisUrl: olderRedisUrl }) };
      const measured = await measureSetting(context, setting, older);
      rows.push(...measured.rows);
      lines.push(measured.line);
    };
    await add({ title: 'embedded', bar: 0.45, options: {} });
    await add({ title: 'Redis', bar: 0.6, options: { redisUrl: redis.url } }, redisBefore.url);
    await add({ title: 'PostgreSQL, 4 processes', bar: null, options: { isSplit: true } });
    for (const row of formatComparison(rows)) context.say(row);
    return lines;
  } finally {
    await redis.stop();
    await redisBefore.stop();
    checkout.remove();
  }
}

async function measureSetting(
  context: BenchContext,
  setting: Setting,
  older: Setting['options'] & { place: BenchPlace; rootDir: string },
): Promise<{ line: BarLine; rows: ComparisonRow[] }> {
  const { title, bar, options } = setting;
  return await withService(context, older, (before) =>
    withService(context, options, async (after) => {
      const services = { before, after };
      const idle = { before: memoryOfTree(before.pid).megabytes, after: memoryOfTree(after.pid).megabytes };
      const loaded = await measureLoad(context, services, title);
      const what = `turns/s at ${sessions} sessions, ${title}`;
      const rows = [rowOf(loaded, { what, unit: '', valueOf: ({ turnsPerSecond }) => turnsPerSecond })];
      // The rest is the same question in every setting, so the one that users start with answers it.
      if (title === 'embedded') {
        rows.push(await measureAlone(context, services), ...memoryRows(loaded, idle));
      }
      return { rows, line: lineOf(what, bar, loaded) };
    }),
  );
}

async function measureLoad(
  context: BenchContext,
  { before, after }: Services,
  title: string,
): Promise<Alternation<Side, Figures>> {
  const { rounds, turnsEach, warmUpTurns } = context.isQuick
    ? { rounds: 2, turnsEach: 6, warmUpTurns: 4 }
    : { rounds: 5, turnsEach: 16, warmUpTurns: 30 };
  const load = { sessions, turnsEach, text: turnText };
  context.say(`${title}: warming up`);
  for (const side of [context.floor, before, after]) await side.run({ ...load, turnsEach: warmUpTurns });
  context.say(`${title}: floor, before and after by turns, ${rounds} rounds`);
  const measure = async (service: BenchService): Promise<Figures> => {
    const { result, peak } = await peakMemory(service.pid, () => service.run(load));
    return { ...result, peakMegabytes: peak.megabytes };
  };
  return await alternate<Side, Figures>(
    rounds,
    [
      { name: 'floor', measure: async () => ({ ...(await context.floor.run(load)), peakMegabytes: 0 }) },
      { name: 'before', measure: () => measure(before) },
      { name: 'after', measure: () => measure(after) },
    ],
    ({ turnsPerSecond }) => turnsPerSecond,
  );
}

async function measureAlone(context: BenchContext, { before, after }: Services): Promise<ComparisonRow> {
  const { rounds, turnsEach } = context.isQuick ? { rounds: 1, turnsEach: 10 } : { rounds: 7, turnsEach: 20 };
  const load = { sessions: 1, turnsEach, text: turnText };
  context.say('a turn alone');
  const valueOf = ({ p50Ms }: LoadResult): number => p50Ms;
  const found = await alternate<Side, LoadResult>(
    rounds,
    [
      { name: 'floor', measure: () => context.floor.run(load) },
      { name: 'before', measure: () => before.run(load) },
      { name: 'after', measure: () => after.run(load) },
    ],
    valueOf,
  );
  return rowOf(found, { what: 'a turn alone, median', unit: ' ms', valueOf });
}

function memoryRows(loaded: Alternation<Side, Figures>, idle: Record<'before' | 'after', number>): ComparisonRow[] {
  const peakOf = (side: Side): number => Math.max(...loaded.runsOf(side).map(({ peakMegabytes }) => peakMegabytes));
  const row = (what: string, before: number, after: number): ComparisonRow => ({
    what,
    unit: ' MB',
    floor: null,
    before,
    after,
    change: after / before,
    ofFloor: null,
  });
  return [
    row('memory, idle', idle.before, idle.after),
    row(`memory, highest with ${sessions} sessions`, peakOf('before'), peakOf('after')),
  ];
}

function rowOf<Kind extends LoadResult>(
  found: Alternation<Side, Kind>,
  { what, unit, valueOf }: { what: string; unit: string; valueOf: (figures: Kind) => number },
): ComparisonRow {
  const valueAt = (side: Side): number => medianOf(found.runsOf(side), valueOf);
  return {
    what,
    unit,
    floor: valueAt('floor'),
    before: valueAt('before'),
    after: valueAt('after'),
    change: found.ratioOf('after', 'before'),
    ofFloor: found.ratioOf('after', 'floor'),
  };
}

function lineOf(what: string, bar: number | null, found: Alternation<Side, Figures>): BarLine {
  const before = medianOf(found.runsOf('before'), ({ turnsPerSecond }) => turnsPerSecond);
  const figure = {
    part: 'before',
    what,
    floor: describeLoads(found.runsOf('floor')),
    holdfast: `${describeLoads(found.runsOf('after'))}; before ${formatNumber(before)}/s`,
    measured: found.ratioOf('after', 'floor'),
    unit: 'x',
  };
  return bar === null ? { ...figure, bar } : { ...figure, bar, sense: 'atLeast' };
}
