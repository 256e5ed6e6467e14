// (c) Commits per turn, read from `pg_stat_database`: under the load of 64 sessions, where statements are shared, and alone, where
// nothing is. Counted over the life of a service, minus those of one that does nothing. Transactions that wrote are those that
// were given a number; the others only read, and of those a client that waits for its answer causes one or two by itself. So
// under load all of them are judged, and alone those that wrote.
//
// With the queue in Redis they are Holdfast's own, and are judged. With the queue in PostgreSQL those of BullMQ come on top: they are
// printed without a bar.
import { formatNumber, type BarLine } from '../rig/bar.ts';
import { withService, type BenchContext, type BenchPart } from '../rig/bench-context.ts';
import { openCommitCounter, type CommitCount } from '../rig/commit-count.ts';
import { historyEntriesUsual, turnText } from '../rig/prompts.ts';
import { startRedisServer, type RedisServer } from '../rig/redis-server.ts';

export const commits: BenchPart = { letter: 'c', title: 'commits per turn', run };

const floorCommits = 5;
const commitsMax = 7;

async function run(context: BenchContext): Promise<BarLine[]> {
  const embedded = await measure(context, { queue: 'the queue in PostgreSQL', bar: null });
  let redis: RedisServer;
  try {
    redis = await startRedisServer();
  } catch (error) {
    const holdfast = error instanceof Error ? error.message : String(error);
    const what = 'commits per turn, the queue in Redis';
    return [...embedded, { part: 'c', what, floor: '', holdfast, measured: null, unit: '', bar: null }];
  }
  try {
    return [
      ...(await measure(context, { queue: 'the queue in Redis', bar: commitsMax, redisUrl: redis.url })),
      ...embedded,
    ];
  } finally {
    await redis.stop();
  }
}

interface Measured {
  queue: string;
  bar: number | null;
  redisUrl?: string;
}

async function measure(context: BenchContext, { queue, bar, ...options }: Measured): Promise<BarLine[]> {
  const turns = context.isQuick ? { loaded: 8, alone: 60 } : { loaded: 25, alone: 200 };
  const { place } = context;
  const databaseUrl = options.redisUrl === undefined ? place.databaseUrl : place.redisDatabaseUrl;
  const counter = await openCommitCounter(place.adminUrl, new URL(databaseUrl).pathname.slice(1));
  /** The commits of a service from its start to its end. */
  const countLife = async (load: { sessions: number; turnsEach: number }): Promise<CommitCount> => {
    const before = await counter.read();
    await withService(context, options, async (service) => {
      const sessions = await service.seed(load.sessions, historyEntriesUsual);
      if (load.turnsEach > 0) await service.run({ ...load, sessions, text: turnText });
    });
    const after = await counter.read();
    return { commits: after.commits - before.commits, writes: after.writes - before.writes };
  };
  try {
    context.say(`${queue}: a service that does nothing, one with 64 sessions, one with a single session`);
    const idle = await countLife({ sessions: 1, turnsEach: 0 });
    const loaded = perTurn(await countLife({ sessions: 64, turnsEach: turns.loaded }), idle, 64 * turns.loaded);
    const single = perTurn(await countLife({ sessions: 1, turnsEach: turns.alone }), idle, turns.alone);
    return [
      lineOf(`commits per turn at 64 sessions, ${queue}`, { count: loaded, judged: 'commits', bar }),
      lineOf(`commits that wrote, per turn alone, ${queue}`, { count: single, judged: 'writes', bar }),
    ];
  } finally {
    await counter.close();
  }
}

function perTurn(life: CommitCount, idle: CommitCount, turns: number): CommitCount {
  return { commits: (life.commits - idle.commits) / turns, writes: (life.writes - idle.writes) / turns };
}

function lineOf(
  what: string,
  { count, judged, bar }: { count: CommitCount; judged: keyof CommitCount; bar: number | null },
): BarLine {
  return {
    part: 'c',
    what,
    floor: String(floorCommits),
    holdfast: `${formatNumber(count.commits)}, of which ${formatNumber(count.writes)} wrote`,
    measured: count[judged],
    unit: '',
    ...(bar === null ? { bar } : { bar, sense: 'atMost' }),
  };
}
