// (a) Turns per second of 64 sessions, against the floor on the same server: with the queue in PostgreSQL, as `npm start` has it, and
// with the queue in Redis.
import { alternate } from '../rig/alternate.ts';
import { formatNumber, type BarLine } from '../rig/bar.ts';
import { withService, type BenchContext, type BenchPart } from '../rig/bench-context.ts';
import type { LoadResult } from '../rig/closed-loop.ts';
import { turnText } from '../rig/prompts.ts';
import { startRedisServer, type RedisServer } from '../rig/redis-server.ts';
import { medianOf } from '../rig/statistics.ts';

export const throughput: BenchPart = { letter: 'a', title: 'turns per second at 64 sessions', run };

const sessions = 64;

async function run(context: BenchContext): Promise<BarLine[]> {
  const embedded = await measure(context, { what: 'turns/s at 64 sessions, embedded', bar: 0.5 });
  let redis: RedisServer;
  try {
    redis = await startRedisServer();
  } catch (error) {
    const holdfast = error instanceof Error ? error.message : String(error);
    return [embedded, { ...lineOf('turns/s at 64 sessions, Redis', 0.8), floor: '', holdfast, measured: null }];
  }
  try {
    return [embedded, await measure(context, { what: 'turns/s at 64 sessions, Redis', bar: 0.8, redisUrl: redis.url })];
  } finally {
    await redis.stop();
  }
}

async function measure(
  context: BenchContext,
  { what, bar, ...options }: { what: string; bar: number; redisUrl?: string },
): Promise<BarLine> {
  const { rounds, turnsEach, warmUpTurns } = context.isQuick
    ? { rounds: 2, turnsEach: 6, warmUpTurns: 4 }
    : { rounds: 5, turnsEach: 16, warmUpTurns: 10 };
  const load = { sessions, turnsEach, text: turnText };
  return await withService(context, options, async (service) => {
    context.say(`${what}: warming up`);
    await context.floor.run({ ...load, turnsEach: warmUpTurns });
    await service.run({ ...load, turnsEach: warmUpTurns });
    context.say(`${what}: floor and service by turns, ${rounds} rounds`);
    const { floor, ...found } = await alternate(
      rounds,
      { floor: () => context.floor.run(load), service: () => service.run(load) },
      ({ turnsPerSecond }) => turnsPerSecond,
    );
    return {
      ...lineOf(what, bar),
      floor: describe(floor),
      holdfast: describe(found.service),
      measured: found.ratio,
    };
  });
}

function lineOf(what: string, bar: number): Omit<BarLine, 'floor' | 'holdfast' | 'measured'> {
  return { part: 'a', what, unit: 'x', bar, sense: 'atLeast' };
}

function describe(rounds: LoadResult[]): string {
  const [rate, p50, p99] = [
    medianOf(rounds, (one) => one.turnsPerSecond),
    medianOf(rounds, (one) => one.p50Ms),
    medianOf(rounds, (one) => one.p99Ms),
  ];
  return `${formatNumber(rate)}/s, p50 ${p50.toFixed(0)} p99 ${p99.toFixed(0)} ms`;
}
