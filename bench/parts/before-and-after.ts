// (before) This tree, or a newer commit, and an older commit by turns, beside the floor: turns per
// second at 64 sessions in three settings, a turn alone, and memory. Both run on this machine in
// one run, each on a PostgreSQL server of its own with the same settings.
import { alternate, type Alternation } from '../rig/alternate.ts';
import { formatNumber, type BarLine } from '../rig/bar.ts';
import { withService, type BenchContext, type BenchPart, type StartOptions } from '../rig/bench-context.ts';
import { splitRoles, type BenchService } from '../rig/bench-service.ts';
import { describeLoads, type LoadResult } from '../rig/closed-loop.ts';
import { openTrees, type ComparedCommits } from '../rig/compared-trees.ts';
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
  /** True: the queue is in Redis. */
  hasRedis?: boolean;
  /** True: in four processes. */
  isSplit?: boolean;
}

interface Services {
  before: BenchService;
  after: BenchService;
}

/** The comparison of these commits. */
export function beforeAndAfter({ before, after }: ComparedCommits): BenchPart {
  return {
    letter: 'before',
    title: `${after ?? 'this tree'} and an older commit (${before})`,
    run: (context) => run(context, { before, after }),
  };
}

async function run(context: BenchContext, commits: ComparedCommits): Promise<BarLine[]> {
  const trees = await openTrees(context, commits);
  const redisUrls = { before: await startRedisServer(), after: await startRedisServer() };
  try {
    const lines: BarLine[] = [];
    const add = async (setting: Setting): Promise<void> => {
      const optionsOf = (side: 'before' | 'after') => ({
        ...trees[side],
        ...(setting.hasRedis ? { redisUrl: redisUrls[side].url } : {}),
        ...(setting.isSplit ? { roles: splitRoles } : {}),
      });
      const found = await measureSetting(context, setting, {
        before: optionsOf('before'),
        after: optionsOf('after'),
      });
      for (const row of formatComparison(found.rows)) context.say(row);
      // The bars are promises of this tree.
      lines.push(...found.lines.map((line) => (commits.after === null ? line : { ...line, bar: null })));
    };
    await add({ title: 'embedded', bar: 0.45 });
    await add({ title: 'Redis', bar: 0.6, hasRedis: true });
    await add({ title: 'PostgreSQL, 4 processes', bar: null, isSplit: true });
    return lines;
  } finally {
    for (const side of ['before', 'after'] as const) {
      await redisUrls[side].stop();
    }
    trees.remove();
  }
}

async function measureSetting(
  context: BenchContext,
  { title, bar }: Setting,
  options: Record<'before' | 'after', StartOptions>,
): Promise<{ lines: BarLine[]; rows: ComparisonRow[] }> {
  return await withService(context, options.before, (before) =>
    withService(context, options.after, async (after) => {
      const services = { before, after };
      const idle = { before: memoryOfTree(before.pid).megabytes, after: memoryOfTree(after.pid).megabytes };
      // The rest is the same question in every setting, so the one that users start with answers
      // it.
      const isFirst = title === 'embedded';
      const loaded = await measureLoad(context, services, title);
      const what = `turns/s at ${sessions} sessions, ${title}`;
      const rows = [rowOf(loaded, { what, unit: '', valueOf: ({ turnsPerSecond }) => turnsPerSecond })];
      if (isFirst) rows.push(await measureAlone(context, services), ...memoryRows(loaded, idle));
      return { rows, lines: [lineOf(what, bar, loaded)] };
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
  return { ...figure, bar, sense: 'atLeast' };
}
