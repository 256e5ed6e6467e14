// BullMQ's own queues and workers, on either server: in Redis when there is one, else in the
// database. This file is the only place that makes them, and nothing above it knows which server it
// is.
import { Queue, Worker } from 'bullmq';
import { JOB_LOCK_MS, STALLED_COUNT_MAX, STALLED_INTERVAL_MS, type QueueName } from '../../jobs/index.ts';
import { type Logger, createOutageLog } from '../../src/logger.ts';
import type { ProducerQueue, QueueBackend, QueueServer } from './queue-backend.ts';

export interface QueueBackendOptions {
  databaseUrl: string;
  /** Absent: the queue lives in the database. */
  redisUrl?: string | undefined;
  logger: Pick<Logger, 'warn' | 'info'>;
  /** False: the queue's schema is not created or upgraded (`--no-migrate`). */
  isMigrating?: boolean;
  /** How long a job's lock lasts, in milliseconds; it is renewed at half of that. */
  jobLockMs?: number;
  /**
   * How long an idle worker waits for a notification before it asks for jobs, in milliseconds;
   * absent: as its server needs.
   */
  sleepMs?: number;
}

/**
 * Keeps Holdfast's keys apart from others'. Two installations need two databases of Redis, or they
 * take each other's jobs.
 */
const PREFIX = 'holdfast';

/**
 * The pause after a command that failed because there was no connection. BullMQ's default is 15 s,
 * longer than a restart of a server.
 */
const RETRY_MS = 500;

/**
 * Holdfast reads no events of BullMQ, which always writes them: the last ones are kept for its
 * tools.
 */
const EVENTS_MAX = 100;

/**
 * Opens the queue; rejects when it cannot be reached. The other server's driver is not even loaded.
 */
export async function openQueueBackend(options: QueueBackendOptions): Promise<QueueBackend> {
  const { databaseUrl, redisUrl, logger, isMigrating = true, jobLockMs = JOB_LOCK_MS } = options;
  const outages = createOutageLog({ dependency: 'queue', logger, isOutage: () => true });
  let isClosed = false;
  const onError = (error: Error): void => {
    if (!isClosed && !isOfOneJob(error)) outages.failed(error);
  };
  const server = await connect();
  const shared = { prefix: PREFIX, connection: {} };
  const queues = new Map<QueueName, ProducerQueue>();

  async function connect(): Promise<QueueServer> {
    if (redisUrl !== undefined) {
      const { connectRedis } = await import('./connect-redis.ts');
      return await connectRedis({ redisUrl, logger, onError });
    }
    const { connectPostgres } = await import('./connect-postgres.ts');
    return await connectPostgres({ databaseUrl, onError, isMigrating });
  }

  return {
    kind: server.kind,
    outages,
    queue(name) {
      let queue = queues.get(name);
      if (queue === undefined) {
        const opened = new Queue(name, { ...shared, streams: { events: { maxLen: EVENTS_MAX } } }, server.queueBackend);
        opened.on('error', onError);
        queues.set(name, (queue = opened));
      }
      return queue;
    },
    async startWorker(name, { concurrency, process }) {
      const workerBackend = await server.connectWorker(name);
      const worker = new Worker(
        name,
        (job, token) => process(job, token ?? ''),
        {
          ...shared,
          concurrency,
          drainDelay: (options.sleepMs ?? server.sleepMs) / 1000,
          runRetryDelay: RETRY_MS,
          lockDuration: jobLockMs,
          stalledInterval: STALLED_INTERVAL_MS,
          maxStalledCount: STALLED_COUNT_MAX,
        },
        workerBackend,
      );
      worker.on('error', onError);
      return worker;
    },
    async ping() {
      await server.ping();
      outages.answered();
    },
    async close() {
      await Promise.all(Array.from(queues.values(), (queue) => queue.close()));
      await server.close();
      // A pool does not wait until the server has noticed: one that stops now has last words for
      // each connection.
      isClosed = true;
    },
  };
}

/**
 * True when the queue answered, and refused one job: it was wiped, or was given to another worker.
 * BullMQ gives the refusal of a command a negative number, and that of a renewal of locks a
 * sentence.
 */
function isOfOneJob(error: Error): boolean {
  const { code } = error as { code?: unknown };
  return (typeof code === 'number' && code < 0) || error.message.startsWith('could not renew lock for job ');
}
