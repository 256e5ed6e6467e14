// (before) This tree, or a newer commit, and an older commit by turns, beside the floor: turns per second at 64 sessions in three settings, a turn
// alone, and memory; without the floor, turns per second and processor time per turn of a process that has just started and of a warm one.
// Both run on this machine in one run, each on a PostgreSQL server of its own with the same settings.
import { alternate, type Alternation } from '../rig/alternate.ts';
import { formatNumber, type BarLine } from '../rig/bar.ts';
import { withService, type BenchContext, type BenchPart, type StartOptions } from '../rig/bench-context.ts';
import { splitRoles, type BenchService } from '../rig/bench-service.ts';
import { openCheckout } from '../rig/checkout.ts';
import { describeLoads, type LoadResult } from '../rig/closed-loop.ts';
import { formatComparison, type ComparisonRow } from '../rig/comparison.ts';
import { memoryOfTree, peakMemory } from '../rig/process-memory.ts';
import { processorMsOf } from '../rig/process-tree.ts';
import { turnText } from '../rig/prompts.ts';
import { startRedisServer } from '../rig/redis-server.ts';
import { median, medianOf } from '../rig/statistics.ts';

const sessions = 64;

/** How many sessions send turns to a warm process, and what this tree may lose there. */
const sessionCounts = [1, 8, 32, 128];
const leastOfBefore = 0.7;
const mostProcessorTime = 1.6;

/** The first turns after a start are those of 32 sessions. */
const coldLoad = { sessions: 32, turnsEach: 16, text: turnText };

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

export interface ComparedCommits {
  before: string;
  /** Null: this tree. */
  after: string | null;
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
  const trees = { before: await openTree(context, commits.before), after: await openTree(context, commits.after) };
  const redisUrls = { before: await startRedisServer(), after: await startRedisServer() };
  try {
    const lines: BarLine[] = [];
    const add = async (setting: Setting): Promise<void> => {
      const optionsOf = (side: 'before' | 'after') => ({
        ...trees[side].options,
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
      trees[side].remove();
    }
  }
}

/** A commit with a server of its own, or for null this tree on the server of the run. */
async function openTree(context: BenchContext, commit: string | null): Promise<Tree> {
  if (commit === null) return { options: {}, remove: () => {} };
  context.say(`checking out ${commit}`);
  const checkout = await openCheckout(commit);
  const options = { place: await context.openPlace(), rootDir: checkout.rootDir };
  return { options, remove: () => checkout.remove() };
}

interface Tree {
  options: StartOptions;
  remove(): void;
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
      // The rest is the same question in every setting, so the one that users start with answers it.
      const isFirst = title === 'embedded';
      const cold = isFirst ? await measurePlain(services, coldLoad, 1) : null;
      const loaded = await measureLoad(context, services, title);
      const what = `turns/s at ${sessions} sessions, ${title}`;
      const rows = [rowOf(loaded, { what, unit: '', valueOf: ({ turnsPerSecond }) => turnsPerSecond })];
      const lines = [lineOf(what, bar, loaded)];
      if (cold !== null) {
        const coldTurns = `the first ${coldLoad.sessions * coldLoad.turnsEach} turns`;
        rows.push(await measureAlone(context, services), ...memoryRows(loaded, idle), ...plainRows(coldTurns, cold));
        for (const count of sessionCounts) {
          const warm = await measureWarm(context, services, count);
          const row = plainRows(`${count} sessions`, warm);
          rows.push(...row);
          lines.push(...plainLines(row));
        }
      }
      return { rows, lines };
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

/** Turns per second, and the processor time of the service per turn in milliseconds. */
interface PlainFigures {
  turnsPerSecond: number;
  processorMs: number;
}

type Plain = Alternation<'before' | 'after', PlainFigures>;

function measureWarm(context: BenchContext, services: Services, count: number): Promise<Plain> {
  context.say(`${count} sessions`);
  const [rounds, turns] = context.isQuick ? [2, 128] : [5, 512];
  const turnsEach = Math.max(4, Math.ceil(turns / count));
  return measurePlain(services, { sessions: count, turnsEach, text: turnText }, rounds);
}

function measurePlain({ before, after }: Services, load: typeof coldLoad, rounds: number): Promise<Plain> {
  const measure = async (service: BenchService): Promise<PlainFigures> => {
    const began = processorMsOf(service.pids, 'postgres');
    const { turns, turnsPerSecond } = await service.run(load);
    return { turnsPerSecond, processorMs: (processorMsOf(service.pids, 'postgres') - began) / turns };
  };
  return alternate(
    rounds,
    [
      { name: 'before', measure: () => measure(before) },
      { name: 'after', measure: () => measure(after) },
    ],
    ({ processorMs }) => processorMs,
  );
}

function plainRows(what: string, found: Plain): ComparisonRow[] {
  const row = (name: string, unit: string, valueOf: (figures: PlainFigures) => number): ComparisonRow => {
    const [befores, afters] = [found.runsOf('before').map(valueOf), found.runsOf('after').map(valueOf)];
    const change = median(afters.map((value, round) => value / befores[round]!));
    return { what: name, unit, floor: null, before: median(befores), after: median(afters), change, ofFloor: null };
  };
  return [
    row(`turns/s, ${what}`, '', ({ turnsPerSecond }) => turnsPerSecond),
    row(`processor time per turn, ${what}`, ' ms', ({ processorMs }) => processorMs),
  ];
}

function plainLines(rows: readonly ComparisonRow[]): BarLine[] {
  return rows.map(({ what, unit, before, after, change }) => ({
    part: 'before',
    what: `${what}, to before`,
    floor: `before ${formatNumber(before)}${unit}`,
    holdfast: formatNumber(after) + unit,
    measured: change,
    unit: 'x',
    ...(unit === '' ? { bar: leastOfBefore, sense: 'atLeast' } : { bar: mostProcessorTime, sense: 'atMost' }),
  }));
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
