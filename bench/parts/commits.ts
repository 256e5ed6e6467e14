// (c) Commits per turn, read from `pg_stat_database`: under the load of 64 sessions, where statements are shared, and alone, where
// nothing is. Counted over the life of a service, minus those of one that does nothing. Transactions that wrote are those that
// were given a number; the others only read, and of those a client that waits for its answer causes one or two by itself. So
// under load all of them are judged, and alone those that wrote.
import { formatNumber, type BarLine } from '../rig/bar.ts';
import { withService, type BenchContext, type BenchPart } from '../rig/bench-context.ts';
import { openCommitCounter, type CommitCount, type CommitCounter } from '../rig/commit-count.ts';
import { historyEntriesUsual, turnText } from '../rig/prompts.ts';
import { seedSessions } from '../rig/seed-sessions.ts';

export const commits: BenchPart = { letter: 'c', title: 'commits per turn', run };

const floorCommits = 5;

async function run(context: BenchContext): Promise<BarLine[]> {
  const turns = context.isQuick ? { loaded: 8, alone: 60 } : { loaded: 25, alone: 200 };
  const { place } = context;
  const counter = await openCommitCounter(place.adminUrl, new URL(place.databaseUrl).pathname.slice(1));
  try {
    context.say('a service that does nothing, one with 64 sessions, one with a single session');
    const idle = await countLife(context, counter, { sessions: 1, turnsEach: 0 });
    const loaded = await countLife(context, counter, { sessions: 64, turnsEach: turns.loaded });
    const single = await countLife(context, counter, { sessions: 1, turnsEach: turns.alone });
    return [
      lineOf('commits per turn at 64 sessions', perTurn(loaded, idle, 64 * turns.loaded), 'commits'),
      lineOf('commits that wrote, per turn alone', perTurn(single, idle, turns.alone), 'writes'),
    ];
  } finally {
    await counter.close();
  }
}

/** What a service commits from its start to its end. */
async function countLife(
  context: BenchContext,
  counter: CommitCounter,
  load: { sessions: number; turnsEach: number },
): Promise<CommitCount> {
  const sessions = await seedSessions(context.place.databaseUrl, load.sessions, historyEntriesUsual);
  const before = await counter.read();
  await withService(context, {}, async (service) => {
    if (load.turnsEach > 0) await service.run({ ...load, sessions, text: turnText });
  });
  const after = await counter.read();
  return { commits: after.commits - before.commits, writes: after.writes - before.writes };
}

function perTurn(life: CommitCount, idle: CommitCount, turns: number): CommitCount {
  return { commits: (life.commits - idle.commits) / turns, writes: (life.writes - idle.writes) / turns };
}

function lineOf(what: string, count: CommitCount, judged: keyof CommitCount): BarLine {
  return {
    part: 'c',
    what,
    floor: String(floorCommits),
    holdfast: `${formatNumber(count.commits)}, of which ${formatNumber(count.writes)} wrote`,
    measured: count[judged],
    unit: '',
    bar: 7,
    sense: 'atMost',
  };
}
