// (c) Commits per turn, read from `pg_stat_database`: of agent turns under the load of 64 sessions,
// where statements are shared, and alone, where nothing is. Counted over the life of a service,
// minus those of one that does nothing. Transactions that wrote are those that were given a number;
// the others only read, and of those a client that waits for its answer causes one or two by
// itself. So under load all of them are judged, and alone those that wrote.
//
// With the queue in Redis they are Holdfast's own, and are judged. With the queue in PostgreSQL
// those of BullMQ come on top, and each session that listens begins one at every notification: they
// are judged for plain turns, in one process and in four.
import { formatNumber, type BarLine } from '../rig/bar.ts';
import { withService, type BenchContext, type BenchPart, type StartOptions } from '../rig/bench-context.ts';
import { splitRoles } from '../rig/bench-service.ts';
import { openCommitCounter, type CommitCount } from '../rig/commit-count.ts';
import { historyEntriesUsual, plainTurnText, turnText } from '../rig/prompts.ts';
import { startRedisServer, type RedisServer } from '../rig/redis-server.ts';
import { plainTransactions } from '../rig/turn-bars.ts';

export const commits: BenchPart = { letter: 'c', title: 'commits per turn', run };

const floorCommits = 5;
const commitsMax = 7;
const sessions = 64;

async function run(context: BenchContext): Promise<BarLine[]> {
  const plain = [await measurePlain(context, 1), await measurePlain(context, 4)];
  const embedded = await measure(context, { queue: 'the queue in PostgreSQL', bar: null });
  let redis: RedisServer;
  try {
    redis = await startRedisServer();
  } catch (error) {
    const holdfast = error instanceof Error ? error.message : String(error);
    const what = 'commits per turn, the queue in Redis';
    return [...embedded, ...plain, { part: 'c', what, floor: '', holdfast, measured: null, unit: '', bar: null }];
  }
  try {
    return [
      ...(await measure(context, { queue: 'the queue in Redis', bar: commitsMax, redisUrl: redis.url })),
      ...embedded,
      ...plain,
    ];
  } finally {
    await redis.stop();
  }
}

/** The turns in the life of a service, in sessions with so many entries of history. */
interface Load {
  sessions: number;
  entries: number;
  turnsEach: number;
  text: string;
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
  context.say(`${queue}: a service that does nothing, one with ${sessions} sessions, one with a single session`);
  const load = { entries: historyEntriesUsual, text: turnText };
  const [loaded, alone] = await countPerTurn(context, { databaseUrl, options }, [
    { ...load, sessions, turnsEach: turns.loaded },
    { ...load, sessions: 1, turnsEach: turns.alone },
  ]);
  return [
    lineOf(`commits per turn at ${sessions} sessions, ${queue}`, { count: loaded!, judged: 'commits', bar }),
    lineOf(`commits that wrote, per turn alone, ${queue}`, { count: alone!, judged: 'writes', bar }),
  ];
}

async function measurePlain(context: BenchContext, processes: 1 | 4): Promise<BarLine> {
  const { place } = context;
  const [databaseUrl, options] =
    processes === 1 ? [place.databaseUrl, {}] : [place.splitDatabaseUrl, { roles: splitRoles }];
  context.say(`plain turns, processes: ${processes}`);
  const [count] = await countPerTurn(context, { databaseUrl, options }, [
    { sessions, entries: 0, turnsEach: context.isQuick ? 16 : 50, text: plainTurnText },
  ]);
  const what = `transactions per plain turn at ${sessions} sessions, the queue in PostgreSQL, processes: ${processes}`;
  return lineOf(what, { count: count!, judged: 'commits', bar: plainTransactions[processes] });
}

/** What each of the loads commits per turn, in a service of its own. */
async function countPerTurn(
  context: BenchContext,
  { databaseUrl, options }: { databaseUrl: string; options: StartOptions },
  loads: readonly Load[],
): Promise<CommitCount[]> {
  const counter = await openCommitCounter(context.place.adminUrl, new URL(databaseUrl).pathname.slice(1));
  /** The commits of a service from its start to its end. */
  const countLife = async (load: Load): Promise<CommitCount> => {
    const before = await counter.read();
    await withService(context, options, async (service) => {
      const keys = await service.seed(load.sessions, load.entries);
      if (load.turnsEach > 0) await service.run({ ...load, sessions: keys });
    });
    const after = await counter.read();
    return { commits: after.commits - before.commits, writes: after.writes - before.writes };
  };
  try {
    const idle = await countLife({ sessions: 1, entries: 0, turnsEach: 0, text: '' });
    const found: CommitCount[] = [];
    for (const load of loads) {
      const { commits: all, writes } = await countLife(load);
      const turns = load.sessions * load.turnsEach;
      found.push({ commits: (all - idle.commits) / turns, writes: (writes - idle.writes) / turns });
    }
    return found;
  } finally {
    await counter.close();
  }
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
    bar,
    sense: 'atMost',
  };
}
