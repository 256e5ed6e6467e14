// (n) Statistics, the overview and the lists of a service with very many turns, beside those of a
// service with few. Both have the same open turns and waiting messages.
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { migrate } from '../../src/database/migrate.ts';
import { withConnection } from '../rig/ask-database.ts';
import { formatNumber, type BarLine } from '../rig/bar.ts';
import type { BenchContext, BenchPart } from '../rig/bench-context.ts';
import { benchApiKey, type BenchService } from '../rig/bench-service.ts';
import { seedTurns } from '../rig/seed-turns.ts';
import { median } from '../rig/statistics.ts';
import { until } from '../rig/until.ts';

export const statisticsAtScale: BenchPart = { letter: 'n', title: 'statistics and lists of many turns', run };

const few = 5_000;
export const statistics = ['/v1/stats', '/metrics'];
/** Requests within a second share one answer, so measurements must be further apart. */
export const figures = ['/v1/overview', '/v1/attention'];
const figuresEveryMs = 1_050;
/** The filters that an index serves, one that nothing matches, and one that most match. */
export const lists = [
  '/v1/turns?steps=none',
  '/v1/turns?steps=none&status=failed',
  '/v1/turns?steps=none&kind=cron',
  '/v1/turns?steps=none&agent=main&model=anthropic/claude-sonnet-5-5',
  '/v1/turns?steps=none&session=agent:main:turns-7',
  '/v1/turns?steps=none&q=turns-77',
  '/v1/turns/count',
  '/v1/turns/count?status=failed',
  '/v1/sessions',
  '/v1/sessions?order=updated',
  '/v1/sessions?agent=main&status=waiting',
  '/v1/sessions?q=turns-77',
  '/v1/messages?status=failed',
  '/v1/messages?status=waiting',
  '/v1/waiting',
  '/v1/dead-letters',
  '/v1/deliveries',
  '/v1/agents',
  '/v1/workers',
  '/v1/crons',
  '/v1/heartbeats',
  '/v1/batches',
  '/v1/bulk-actions',
  '/v1/usage?by=day&group=agent',
];
const pollMs = 200;

async function run(context: BenchContext): Promise<BarLine[]> {
  const many = context.isQuick ? 200_000 : 5_000_000;
  const small = await serviceWith(context, few);
  const large = await serviceWith(context, many);
  try {
    const lines: BarLine[] = [];
    const services = { small, large };
    for (const path of statistics) lines.push(lineOf(await compare(path, services, usual), many));
    for (const path of figures) lines.push(lineOf(await compare(path, services, spread), many));
    const ofLists: Comparison[] = [];
    for (const path of lists) ofLists.push(await compare(path, services, usual));
    return [...lines, ...worstOf(ofLists).map((comparison) => lineOf(comparison, many, `of ${lists.length} lists: `))];
  } finally {
    await Promise.all([small.stop(), large.stop()]);
  }
}

/** A service on a separate server that has counted this many turns, as after an upgrade. */
async function serviceWith(context: BenchContext, turns: number): Promise<BenchService> {
  const place = await context.openPlace();
  await migrate(place.databaseUrl);
  const begin = performance.now();
  await seedTurns(place.databaseUrl, turns);
  const seeded = performance.now();
  const service = await context.startService({ place });
  await untilCounted(place.databaseUrl);
  const [seedS, countS] = [(seeded - begin) / 1000, (performance.now() - seeded) / 1000];
  context.say(
    `${turns} turns: made in ${formatNumber(seedS)} s; started and counted once in ${formatNumber(countS)} s`,
  );
  return service;
}

/** Resolves when the statistics have counted every row. */
export function untilCounted(databaseUrl: string): Promise<void> {
  return withConnection(databaseUrl, (client) =>
    until(pollMs, async () => {
      const { rows } = await client.query<{ isCounted: boolean }>(
        `select counted_at is not null and sessions_to = (select id from holdfast.sessions order by id desc limit 1) as "isCounted"
         from holdfast.roll_up_cursor`,
      );
      return rows[0]?.isCounted === true;
    }),
  );
}

interface Comparison {
  path: string;
  smallMs: number;
  largeMs: number;
}

interface Polls {
  warmUps: number;
  polls: number;
  everyMs: number;
}

const usual: Polls = { warmUps: 20, polls: 100, everyMs: 0 };
const spread: Polls = { warmUps: 2, polls: 15, everyMs: figuresEveryMs };

async function compare(
  path: string,
  { small, large }: { small: BenchService; large: BenchService },
  { warmUps, polls, everyMs }: Polls,
): Promise<Comparison> {
  const times = new Map<BenchService, number[]>([
    [small, []],
    [large, []],
  ]);
  for (let poll = -warmUps; poll < polls; poll += 1) {
    for (const [service, taken] of times) {
      const ms = await timeOf(service, path);
      if (poll >= 0) taken.push(ms);
    }
    if (everyMs > 0) await delay(everyMs);
  }
  return { path, smallMs: median(times.get(small)!), largeMs: median(times.get(large)!) };
}

/** The list that grows most, and the one that takes longest. */
function worstOf(comparisons: readonly Comparison[]): Comparison[] {
  const most = (figure: (comparison: Comparison) => number): Comparison =>
    comparisons.toSorted((a, b) => figure(b) - figure(a))[0]!;
  return [...new Set([most(({ smallMs, largeMs }) => largeMs / smallMs), most(({ largeMs }) => largeMs)])];
}

function lineOf({ path, smallMs, largeMs }: Comparison, many: number, before = ''): BarLine {
  return {
    part: 'n',
    what: `${before}${path} with ${many} turns, to ${few}`,
    floor: `${formatNumber(smallMs)} ms`,
    holdfast: `${formatNumber(largeMs)} ms`,
    measured: largeMs / smallMs,
    unit: 'x',
    bar: 3,
    sense: 'atMost',
  };
}

async function timeOf(service: BenchService, path: string): Promise<number> {
  const begin = performance.now();
  const answer = await fetch(new URL(path, service.url), { headers: { authorization: `Bearer ${benchApiKey}` } });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${path} was answered ${answer.status}: ${text.slice(0, 500)}`);
  return performance.now() - begin;
}
