// Ends the connections on which workers wait for jobs, as a network failure or an operator does.
// The other connections stay.
import { Redis } from 'ioredis';
import pg from 'pg';

/** Ends them in the queue's server, and returns how many there were. */
export function endListeners({ databaseUrl, redisUrl }: { databaseUrl: string; redisUrl?: string }): Promise<number> {
  return redisUrl === undefined ? endOnPostgres(databaseUrl) : endOnRedis(redisUrl);
}

/** A connection that listens has nothing else to do, so `LISTEN` is its last statement. */
async function endOnPostgres(databaseUrl: string): Promise<number> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rowCount } = await client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and query ~* '(?n)^\\s*listen '`,
    );
    return rowCount ?? 0;
  } finally {
    await client.end();
  }
}

/** A worker waits for a job in `bzpopmin`. */
async function endOnRedis(redisUrl: string): Promise<number> {
  const redis = new Redis(redisUrl);
  try {
    const clients = (await redis.client('LIST')) as string;
    const waiting = clients.split('\n').filter((line) => line.includes('cmd=bzpopmin'));
    for (const line of waiting) await redis.client('KILL', 'ID', /\bid=(\d+)/.exec(line)![1]!);
    return waiting.length;
  } finally {
    redis.disconnect();
  }
}
