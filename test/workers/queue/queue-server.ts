// The servers on which a queue can run, behind one interface, so that one suite can test both.
import { createPostgresBackend, Queue } from 'bullmq';
import pg from 'pg';
import { Redis } from 'ioredis';
import { emptyQueue } from '../../servers/empty-queue.ts';
import { startTestPostgres } from '../../servers/postgres.ts';
import { isRedisWanted, startTestRedis } from '../../servers/redis.ts';

export interface QueueServer {
  databaseUrl: string;
  redisUrl?: string;
  /** Deletes everything in the queue, as an operator would. */
  wipe(): Promise<void>;
  /** Ends the server as a crash does. */
  kill(): Promise<void>;
  restart(): Promise<void>;
  /** Makes the server ignore commands until the returned function is called. */
  hang(): Promise<() => Promise<void>>;
  stop(): Promise<void>;
  /** A queue as a tool of BullMQ opens it, without our options. */
  openTool(name: string): Pick<Queue, 'getJobs' | 'getJobCounts' | 'getWorkers' | 'close'>;
}

/** How to start each of them; Redis is left out when the run has none. */
export function queueServers(): { name: string; start: () => Promise<QueueServer> }[] {
  const postgres = { name: 'postgres', start: startPostgresQueue };
  return isRedisWanted() ? [postgres, { name: 'redis', start: startRedisQueue }] : [postgres];
}

async function startPostgresQueue(): Promise<QueueServer> {
  const server = await startTestPostgres();
  const databaseUrl = await server.createDatabase('queue');
  return {
    databaseUrl,
    wipe: () => emptyQueue(databaseUrl),
    kill: () => server.kill(),
    restart: () => server.restart(),
    async hang() {
      const client = new pg.Client({ connectionString: databaseUrl });
      await client.connect();
      await client.query('begin');
      await client.query('lock table bullmq.job in access exclusive mode');
      return () => client.end();
    },
    stop: () => server.stop(),
    openTool: (name) => new Queue(name, { connection: { connectionString: databaseUrl } }, createPostgresBackend),
  };
}

async function startRedisQueue(): Promise<QueueServer> {
  const server = await startTestRedis();
  return {
    // Never connected to: the queue is in Redis.
    databaseUrl: 'postgres://127.0.0.1:1/none',
    redisUrl: server.url,
    async wipe() {
      const redis = new Redis(server.url);
      await redis.flushall();
      redis.disconnect();
    },
    kill: () => server.kill(),
    restart: () => server.restart(),
    async hang() {
      const thaw = server.freeze();
      return async () => thaw();
    },
    stop: () => server.stop(),
    openTool: (name) => new Queue(name, { connection: { url: server.url }, prefix: 'holdfast' }),
  };
}
