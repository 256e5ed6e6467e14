// (growth) What a service with a million sessions and five million turns costs a turn and a start,
// beside one with a thousand sessions; which tables are read as a whole meanwhile; and what the
// deletion of a million old turns costs the turns of 64 sessions.
import { setTimeout as delay } from 'node:timers/promises';
import { migrate } from '../../src/database/migrate.ts';
import { migrateQueue } from '../../workers/queue/migrate-queue.ts';
import { alternate } from '../rig/alternate.ts';
import { askDatabase } from '../rig/ask-database.ts';
import { formatNumber, type BarLine } from '../rig/bar.ts';
import type { BenchContext, BenchPart } from '../rig/bench-context.ts';
import type { BenchPlace } from '../rig/bench-place.ts';
import type { BenchService } from '../rig/bench-service.ts';
import { describeLoads, type LoadResult } from '../rig/closed-loop.ts';
import { historyEntriesUsual, turnText } from '../rig/prompts.ts';
import { seedTurns, turnsPerSession } from '../rig/seed-turns.ts';
import { median, medianOf } from '../rig/statistics.ts';
import { withProcess } from '../rig/with-process.ts';
import { figures, lists, statistics, untilCounted } from './statistics-at-scale.ts';

export const growth: BenchPart = { letter: 'growth', title: 'a database of many sessions, and retention', run };

const few = 5_000;
const bars = { turn: 1.2, start: 1.2, readAsAWhole: 0, retention: 1.5 };
/** A table with more rows than this must never be read as a whole. */
const largeRows = 100_000;
const crowd = 64;
/** Rows are counted by the server with a delay of up to a second. */
const statisticsDelayMs = 2_000;
/** Older than every row of the benchmark, so that nothing is deleted. */
const keepAll = { retention: { turns: '3650d' } };
const keepAMonth = { retention: { turns: '30d' } };

interface Side {
  place: BenchPlace;
  service: BenchService;
}

async function run(context: BenchContext): Promise<BarLine[]> {
  const { many, old } = context.isQuick ? { many: 200_000, old: 100_000 } : { many: 5_000_000, old: 1_000_000 };
  const small = await sideWith(context, few, 0);
  const large = await sideWith(context, many, old);
  const lines: BarLine[] = [];
  try {
    const before = await wholeReads(large.place.databaseUrl);
    lines.push(
      await compareTurns(context, { small, large, many }),
      await compareStarts(context, { small, large, many }),
    );
    for (const path of [...statistics, ...figures, ...lists]) await large.service.ask('GET', path);
    await delay(statisticsDelayMs);
    lines.push(lineOfReads(before, await wholeReads(large.place.databaseUrl), many));
  } finally {
    await Promise.all([small.service.stop(), large.service.stop()]);
  }
  return [...lines, await besideRetention(context, large.place, old)];
}

/** A service on a separate server with this many turns, all of which are in the statistics. */
async function sideWith(context: BenchContext, turns: number, old: number): Promise<Side> {
  const place = await context.openPlace();
  await migrate(place.databaseUrl);
  await migrateQueue(place.databaseUrl);
  const begin = performance.now();
  await seedTurns(place.databaseUrl, turns, { isWhole: true, old });
  const seconds = formatNumber((performance.now() - begin) / 1_000);
  const [size] = await askDatabase<{ bytes: number }>(
    place.databaseUrl,
    'select pg_database_size(current_database())::float8 as bytes',
  );
  const megabytes = formatNumber((size?.bytes ?? 0) / 1e6);
  context.say(
    `${turns} turns in ${turns / turnsPerSession} sessions, made in ${seconds} s: ${megabytes} MB, ${formatNumber((size?.bytes ?? 0) / turns)} bytes per turn`,
  );
  const service = await context.startService({ place, settings: keepAll });
  await untilCounted(place.databaseUrl);
  return { place, service };
}

interface Sides {
  small: Side;
  large: Side;
  many: number;
}

/**
 * Turns one after the other in one session, with both databases by turns: what the statements cost
 * is not hidden by a queue.
 */
async function compareTurns(context: BenchContext, { small, large, many }: Sides): Promise<BarLine> {
  const { rounds, turnsEach } = context.isQuick ? { rounds: 3, turnsEach: 20 } : { rounds: 9, turnsEach: 60 };
  for (const { service } of [small, large]) await service.run({ sessions: crowd, turnsEach: 5, text: turnText });
  context.say(`${rounds} rounds of ${turnsEach} turns with each`);
  const { runsOf, ratioOf } = await alternate(
    rounds,
    [
      { name: 'small', measure: () => small.service.run({ sessions: 1, turnsEach, text: turnText }) },
      { name: 'large', measure: () => large.service.run({ sessions: 1, turnsEach, text: turnText }) },
    ],
    ({ p50Ms }) => p50Ms,
  );
  const each = (name: 'small' | 'large'): string => `${formatNumber(medianOf(runsOf(name), ({ p50Ms }) => p50Ms))} ms`;
  return {
    part: 'growth',
    what: `a turn with ${many} turns, to ${few}`,
    floor: each('small'),
    holdfast: each('large'),
    measured: ratioOf('large', 'small'),
    unit: 'x',
    bar: bars.turn,
    sense: 'atMost',
  };
}

/**
 * From the start of the process to its readiness, with the server of the database running already.
 */
async function compareStarts(context: BenchContext, { small, large, many }: Sides): Promise<BarLine> {
  const starts = context.isQuick ? 3 : 7;
  context.say(`${starts} starts of a further process with each`);
  const { runsOf, ratioOf } = await alternate(
    starts,
    [
      { name: 'small', measure: () => startBeside(small.place) },
      { name: 'large', measure: () => startBeside(large.place) },
    ],
    (ms) => ms,
  );
  return {
    part: 'growth',
    what: `start to ready with ${many} turns, to ${few}`,
    floor: `${formatNumber(median(runsOf('small')))} ms`,
    holdfast: `${formatNumber(median(runsOf('large')))} ms`,
    measured: ratioOf('large', 'small'),
    unit: 'x',
    bar: bars.start,
    sense: 'atMost',
  };
}

async function startBeside(place: BenchPlace): Promise<number> {
  return await withProcess({ databaseUrl: place.databaseUrl, settings: keepAll }, ({ readyMs }) =>
    Promise.resolve(readyMs),
  );
}

/** How often each table was read as a whole, and how many rows it has. */
async function wholeReads(databaseUrl: string): Promise<Map<string, { scans: number; rows: number }>> {
  const found = await askDatabase<{ name: string; scans: number; rows: number }>(
    databaseUrl,
    `select s.relname as name, s.seq_scan::float8 as scans, c.reltuples::float8 as rows
     from pg_stat_user_tables s join pg_class c on c.oid = s.relid where s.schemaname = 'holdfast'`,
  );
  return new Map(found.map(({ name, ...rest }) => [name, rest]));
}

function lineOfReads(
  before: Awaited<ReturnType<typeof wholeReads>>,
  after: Awaited<ReturnType<typeof wholeReads>>,
  many: number,
): BarLine {
  const large = [...after].filter(([, { rows }]) => rows > largeRows);
  const read = large.filter(([name, { scans }]) => scans > (before.get(name)?.scans ?? 0)).map(([name]) => name);
  return {
    part: 'growth',
    what: `large tables read as a whole by turns, starts, lists and metrics with ${many} turns`,
    floor: `of ${large.length}: ${large.map(([name]) => name).join(', ')}`,
    holdfast: read.length === 0 ? 'none' : read.join(', '),
    measured: read.length,
    unit: '',
    bar: bars.readAsAWhole,
    sense: 'atMost',
  };
}

/**
 * The turns of 64 sessions while the scheduler deletes old turns, and while it finds none old
 * enough.
 */
async function besideRetention(context: BenchContext, place: BenchPlace, old: number): Promise<BarLine> {
  const { rounds, turnsEach } = context.isQuick ? { rounds: 3, turnsEach: 10 } : { rounds: 7, turnsEach: 30 };
  const service = await context.startService({ place, settings: keepAll, roles: ['api,worker'] });
  const deleted: number[] = [];
  try {
    const sessions = await service.seed(crowd, historyEntriesUsual);
    const load = (settings: object): Promise<{ loaded: LoadResult; turns: number }> =>
      withProcess({ databaseUrl: place.databaseUrl, settings, roles: 'scheduler' }, async () => {
        const before = await deletedTurns(place.databaseUrl);
        const loaded = await service.run({ sessions, turnsEach, text: turnText });
        return { loaded, turns: (await deletedTurns(place.databaseUrl)) - before };
      });
    await load(keepAll);
    context.say(`${rounds} rounds of ${crowd} sessions with and without the deletion of ${old} old turns`);
    const { runsOf, ratioOf } = await alternate(
      rounds,
      [
        { name: 'without', measure: async () => (await load(keepAll)).loaded },
        {
          name: 'with',
          async measure() {
            await beginPass(place.databaseUrl);
            const { loaded, turns } = await load(keepAMonth);
            deleted.push(turns);
            return loaded;
          },
        },
      ],
      ({ p99Ms }) => p99Ms,
    );
    if (deleted.some((turns) => turns === 0)) throw new Error(`nothing was deleted in a round: ${deleted.join(', ')}`);
    return {
      part: 'growth',
      what: `p99 of ${crowd} sessions while old turns are deleted (${formatNumber(median(deleted))} a round), to p99 without`,
      floor: describeLoads(runsOf('without')),
      holdfast: describeLoads(runsOf('with')),
      measured: ratioOf('with', 'without'),
      unit: 'x',
      bar: bars.retention,
      sense: 'atMost',
    };
  } finally {
    await service.stop();
  }
}

/** A pass that found nothing old enough is complete, and the next one would be minutes away. */
async function beginPass(databaseUrl: string): Promise<void> {
  await askDatabase(
    databaseUrl,
    'update holdfast.retention set position = null, cutoff_at = null, completed_at = null',
  );
}

async function deletedTurns(databaseUrl: string): Promise<number> {
  const [row] = await askDatabase<{ deleted: number }>(
    databaseUrl,
    `select deleted::float8 as deleted from holdfast.retention where kind = 'turns'`,
  );
  return row?.deleted ?? 0;
}
