// (a) Turns per second of 64 sessions, against the floor on the same server: with the queue in
// PostgreSQL, as `npm start` has it, and with the queue in Redis.
import { alternate } from '../rig/alternate.ts';
import type { BarLine } from '../rig/bar.ts';
import { withService, type BenchContext, type BenchPart } from '../rig/bench-context.ts';
import { describeLoads } from '../rig/closed-loop.ts';
import { turnText } from '../rig/prompts.ts';
import { startRedisServer, type RedisServer } from '../rig/redis-server.ts';

export const throughput: BenchPart = { letter: 'a', title: 'turns per second at 64 sessions', run };

const sessions = 64;
/** Fractions of the floor. */
const barOf = { embedded: 0.45, redis: 0.6 };

async function run(context: BenchContext): Promise<BarLine[]> {
  const embedded = await measure(context, { what: 'turns/s at 64 sessions, embedded', bar: barOf.embedded });
  let redis: RedisServer;
  try {
    redis = await startRedisServer();
  } catch (error) {
    const holdfast = error instanceof Error ? error.message : String(error);
    return [embedded, { ...lineOf('turns/s at 64 sessions, Redis', barOf.redis), floor: '', holdfast, measured: null }];
  }
  try {
    return [
      embedded,
      await measure(context, { what: 'turns/s at 64 sessions, Redis', bar: barOf.redis, redisUrl: redis.url }),
    ];
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
    : { rounds: 5, turnsEach: 16, warmUpTurns: 30 };
  const load = { sessions, turnsEach, text: turnText };
  return await withService(context, options, async (service) => {
    context.say(`${what}: warming up`);
    await context.floor.run({ ...load, turnsEach: warmUpTurns });
    await service.run({ ...load, turnsEach: warmUpTurns });
    context.say(`${what}: floor and service by turns, ${rounds} rounds`);
    const { runsOf, ratioOf } = await alternate(
      rounds,
      [
        { name: 'floor', measure: () => context.floor.run(load) },
        { name: 'service', measure: () => service.run(load) },
      ],
      ({ turnsPerSecond }) => turnsPerSecond,
    );
    return {
      ...lineOf(what, bar),
      floor: describeLoads(runsOf('floor')),
      holdfast: describeLoads(runsOf('service')),
      measured: ratioOf('service', 'floor'),
    };
  });
}

function lineOf(what: string, bar: number) {
  return { part: 'a', what, unit: 'x', bar, sense: 'atLeast' } as const;
}
