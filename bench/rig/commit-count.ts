// Counts what a database committed, from `pg_stat_database`. A backend that goes idle may keep its last counts to itself for ten
// seconds, so a reading waits that long; commits of that wait are told apart by the rate of an idle service.
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

const reportDelayMs = 10_500;

export interface CommitCount {
  /** All commits, those that only read among them. */
  commits: number;
  /** Those that wrote: transactions that were given a number. */
  writes: number;
}

export interface CommitCounter {
  /** Waits until all that happened before is reported, and returns the counts so far. */
  read(): Promise<CommitCount>;
  /** Commits per second of the database while nothing is asked of the service. Takes as long as a reading. */
  idleRate(): Promise<CommitCount>;
  close(): Promise<void>;
}

/** Opens a counter of the commits of one database, from a connection to another, which leaves no trace in the count. */
export async function openCommitCounter(adminUrl: string, database: string): Promise<CommitCounter> {
  const client = new pg.Client({ connectionString: adminUrl, application_name: 'bench' });
  await client.connect();
  async function readNow(): Promise<CommitCount> {
    const { rows } = await client.query<{ commits: string; writes: string }>(
      `select xact_commit as commits, pg_snapshot_xmax(pg_current_snapshot()) as writes
       from pg_stat_database where datname = $1`,
      [database],
    );
    return { commits: Number(rows[0]?.commits ?? 0), writes: Number(rows[0]?.writes ?? 0) };
  }
  async function read(): Promise<CommitCount> {
    await delay(reportDelayMs);
    return await readNow();
  }
  return {
    read,
    async idleRate() {
      const before = await read();
      const after = await read();
      const seconds = reportDelayMs / 1000;
      return { commits: (after.commits - before.commits) / seconds, writes: (after.writes - before.writes) / seconds };
    },
    close: () => client.end(),
  };
}

/** Commits per turn of a load between two readings: what the service does by itself while the second one waits is not its. */
export function commitsPerTurn(
  before: CommitCount,
  after: CommitCount,
  idleRate: CommitCount,
  turns: number,
): CommitCount {
  const waited = reportDelayMs / 1000;
  return {
    commits: (after.commits - before.commits - idleRate.commits * waited) / turns,
    writes: (after.writes - before.writes - idleRate.writes * waited) / turns,
  };
}
