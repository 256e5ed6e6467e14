// The queue in Redis: one connection to ring with, one for the workers' commands, and one for each worker to wait on. Ringing
// fails fast, because a caller waits for it; what works waits for Redis to come back.
import { createRedisBackend, Queue, Worker, type IQueueBackend } from 'bullmq';
import { Redis, type RedisOptions } from 'ioredis';
import { JOB_LOCK_MS, STALLED_COUNT_MAX, STALLED_INTERVAL_MS } from '../../jobs/index.ts';
import type { Logger } from '../../src/logger.ts';
import type { OutageLog } from '../../src/outage-log.ts';
import type { QueueBackend } from './queue-backend.ts';

export interface RedisQueuesOptions {
  redisUrl: string;
  logger: Pick<Logger, 'warn' | 'info'>;
  outages: OutageLog;
}

/** Keeps Holdfast's keys apart from others'. Two installations need two databases of Redis, or they take each other's rings. */
const PREFIX = 'holdfast';

const COMMAND_TIMEOUT_MS = 2_000;
const CONNECT_TIMEOUT_MS = 5_000;
const RECONNECT_MS_MAX = 1_000;

/**
 * How long a sleeping worker may hear nothing before it looks by itself, in seconds. Short, because a worker that was frozen while it
 * slept may hold the one mark that would wake the others.
 */
const SLEEP_SECONDS = 0.5;

/** After a command that failed for want of a connection. BullMQ's default is 15 s, longer than a restart of Redis. */
const RETRY_MS = 500;

/**
 * BullMQ asks the server for its version before its first command, and remembers for ever when that fails. The connection was tried when
 * the queue was opened, so each command is sent at once and fails or succeeds by itself.
 */
const UNTRIED = { skipVersionCheck: true, skipWaitingForReady: true };

/** Nobody reads the event streams; BullMQ cannot do without them. */
const EVENTS_MAX = 100;

/** Opens the queue in Redis. Rejects when Redis cannot be reached. */
export async function openRedisQueues({ redisUrl, logger, outages }: RedisQueuesOptions): Promise<QueueBackend> {
  const ringing = connectionTo(redisUrl, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: COMMAND_TIMEOUT_MS,
  });
  // BullMQ waits on a copy of this one, and demands that it is patient.
  const working = connectionTo(redisUrl, { maxRetriesPerRequest: null });
  for (const connection of [ringing, working]) connection.on('error', outages.failed);
  try {
    await ringing.connect();
    await warnOfEviction(ringing, logger);
  } catch (error) {
    ringing.disconnect();
    throw error;
  }
  const shared = { prefix: PREFIX, streams: { events: { maxLen: EVENTS_MAX } } };
  return {
    kind: 'redis',
    outages,
    openQueue: (name) => {
      const queue = new Queue(name, { ...shared, ...UNTRIED, connection: ringing });
      queue.on('error', outages.failed);
      return queue;
    },
    openConsumer: (name, { concurrency, process }) => {
      const polls = { lastAtMs: null as number | null };
      const worker = new Worker(
        name,
        (job, token) => process(job, token ?? ''),
        {
          prefix: PREFIX,
          connection: working,
          concurrency,
          drainDelay: SLEEP_SECONDS,
          runRetryDelay: RETRY_MS,
          lockDuration: JOB_LOCK_MS,
          stalledInterval: STALLED_INTERVAL_MS,
          maxStalledCount: STALLED_COUNT_MAX,
        },
        (...of) => withPollTimes(createRedisBackend(...of), { polls, outages }),
      );
      worker.on('error', outages.failed);
      // A job that is taken after the worker was told to stop is given back by it; nothing is held here.
      const nothingHeld = (): Promise<void> => Promise.resolve();
      return { worker, lastPollAtMs: () => polls.lastAtMs, interrupt: nothingHeld, resume: nothingHeld };
    },
    async ping() {
      await ringing.ping();
      outages.answered();
    },
    async close() {
      ringing.disconnect();
      working.disconnect();
    },
  };
}

function connectionTo(redisUrl: string, options: RedisOptions): Redis {
  return new Redis(redisUrl, {
    ...options,
    lazyConnect: true,
    replyMapping: 'legacy',
    connectTimeout: CONNECT_TIMEOUT_MS,
    retryStrategy: (times: number) => Math.min(50 * times, RECONNECT_MS_MAX),
  });
}

/** Notes when Redis last answered one of the commands that take jobs. */
function withPollTimes<Backend extends IQueueBackend>(
  backend: Backend,
  { polls, outages }: { polls: { lastAtMs: number | null }; outages: OutageLog },
): Backend {
  const noted = <Result>(answer: Result): Result => {
    polls.lastAtMs = performance.now();
    outages.answered();
    return answer;
  };
  const moveToActive = backend.moveToActive.bind(backend);
  const waitForJob = backend.waitForJob.bind(backend);
  backend.moveToActive = async (...of) => noted(await moveToActive(...of));
  backend.waitForJob = async (...of) => noted(await waitForJob(...of));
  return backend;
}

/** A Redis that evicts keys loses rings: each costs the reconciler's interval. */
async function warnOfEviction(redis: Redis, logger: RedisQueuesOptions['logger']): Promise<void> {
  // Hosted servers may refuse to tell.
  const answer = await redis.config('GET', 'maxmemory-policy').catch(() => null);
  const policy = Array.isArray(answer) ? String(answer[1]) : 'unknown';
  if (policy !== 'noeviction' && policy !== 'unknown') {
    logger.warn({ policy }, 'Redis evicts keys when its memory is full; set maxmemory-policy to noeviction');
  }
}
