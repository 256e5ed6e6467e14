// (n) Statistics of a service with very many turns, beside those of a service with few. Both count the same open turns and waiting messages.
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { migrate } from '../../src/store/migrate.ts';
import { formatNumber, type BarLine } from '../rig/bar.ts';
import type { BenchContext, BenchPart } from '../rig/bench-context.ts';
import { benchApiKey, type BenchService } from '../rig/bench-service.ts';
import { seedTurns } from '../rig/seed-turns.ts';
import { median } from '../rig/statistics.ts';

export const statisticsAtScale: BenchPart = { letter: 'n', title: 'statistics of many turns', run };

const few = 5_000;
const paths = ['/v1/stats', '/metrics'];
const warmUps = 20;
const looks = 100;
const lookEveryMs = 200;

async function run(context: BenchContext): Promise<BarLine[]> {
  const many = context.isQuick ? 200_000 : 5_000_000;
  const small = await serviceWith(context, few);
  const large = await serviceWith(context, many);
  try {
    const lines: BarLine[] = [];
    for (const path of paths) lines.push(await compare(path, { small, large, many }));
    return lines;
  } finally {
    await Promise.all([small.stop(), large.stop()]);
  }
}

/** A service on a server of its own that has counted so many turns, as after an upgrade. */
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

async function untilCounted(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'bench' });
  await client.connect();
  try {
    for (;;) {
      const { rows } = await client.query<{ isCounted: boolean }>(
        `select counted_at is not null and sessions_to = (select id from holdfast.sessions order by id desc limit 1) as "isCounted"
         from holdfast.roll_up_cursor`,
      );
      if (rows[0]?.isCounted === true) return;
      await delay(lookEveryMs);
    }
  } finally {
    await client.end();
  }
}

async function compare(
  path: string,
  { small, large, many }: { small: BenchService; large: BenchService; many: number },
): Promise<BarLine> {
  const times = new Map<BenchService, number[]>([
    [small, []],
    [large, []],
  ]);
  for (let look = -warmUps; look < looks; look += 1) {
    for (const [service, taken] of times) {
      const ms = await timeOf(service, path);
      if (look >= 0) taken.push(ms);
    }
  }
  const [smallMs, largeMs] = [median(times.get(small)!), median(times.get(large)!)];
  return {
    part: 'n',
    what: `${path} with ${many} turns, to ${few}`,
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
