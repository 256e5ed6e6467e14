// Counts what a database committed, from `pg_stat_database`. A backend that goes idle keeps its
// last counts to itself for ten seconds, but one that ends reports at once: so a reading is exact
// when every connection to the database has ended, and what is counted is the whole life of a
// service.
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

export interface CommitCount {
  /** All commits, those that only read among them. */
  commits: number;
  /** Those that wrote: transactions that were given a number. Of the whole server. */
  writes: number;
}

export interface CommitCounter {
  /** The counts so far. Resolves when no client is connected to the database any more. */
  read(): Promise<CommitCount>;
  close(): Promise<void>;
}

const pollMs = 5;
const goneWithinMs = 5_000;

/**
 * Opens a counter of the commits of one database, from a connection to another, which leaves no
 * trace in the count.
 */
export async function openCommitCounter(adminUrl: string, database: string): Promise<CommitCounter> {
  const client = new pg.Client({ connectionString: adminUrl, application_name: 'bench' });
  await client.connect();
  async function countClients(): Promise<number> {
    const { rows } = await client.query<{ clients: string }>(
      `select count(*) as clients from pg_stat_activity where datname = $1 and backend_type = 'client backend'`,
      [database],
    );
    return Number(rows[0]?.clients ?? 0);
  }
  return {
    async read() {
      // A backend that ends notifies no client, so this polls.
      for (const deadline = performance.now() + goneWithinMs; (await countClients()) > 0; await delay(pollMs)) {
        if (performance.now() > deadline)
          throw new Error(
            `${database} still has connections after ${goneWithinMs} ms; stop the service before counting its commits`,
          );
      }
      const { rows } = await client.query<{ commits: string; writes: string }>(
        `select xact_commit as commits, pg_snapshot_xmax(pg_current_snapshot()) as writes
         from pg_stat_database where datname = $1`,
        [database],
      );
      return { commits: Number(rows[0]?.commits ?? 0), writes: Number(rows[0]?.writes ?? 0) };
    },
    close: () => client.end(),
  };
}
