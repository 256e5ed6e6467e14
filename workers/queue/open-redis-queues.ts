// The queue in Redis: one connection to ring with, one for the workers' commands, and one for each worker to wait on. Ringing
// fails fast, because a caller waits for it; workers wait for Redis to be available again.
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
 * BullMQ asks the server for its version before its first command, and keeps a failure permanently. The connection was tested when the
 * queue was opened, so each command is sent immediately and fails or succeeds by itself.
 */
const UNTRIED = { skipVersionCheck: true, skipWaitingForReady: true };

/** The event streams are not read, but BullMQ needs them. */
const EVENTS_MAX = 100;

/** Opens the queue in Redis. Rejects when Redis cannot be reached. */
export async function openRedisQueues({ redisUrl, logger, outages }: RedisQueuesOptions): Promise<QueueBackend> {
  const ringing = connectionTo(redisUrl, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: COMMAND_TIMEOUT_MS,
  });
  await connectOnce(ringing);
  await warnOfEviction(ringing, logger);
  // BullMQ waits on a copy of this connection, which must retry without a limit. It connects by itself: a connection that BullMQ opens
  // fails permanently when the first attempt fails.
  const working = connectionTo(redisUrl, { maxRetriesPerRequest: null, lazyConnect: false });
  for (const connection of [ringing, working]) connection.on('error', outages.failed);
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
      // BullMQ's worker returns a job that it fetches after its stop; nothing is held here.
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
    lazyConnect: true,
    ...options,
    replyMapping: 'legacy',
    connectTimeout: CONNECT_TIMEOUT_MS,
    retryStrategy: (times: number) => Math.min(50 * times, RECONNECT_MS_MAX),
  });
}

/** Redis cannot be used at the start. */
class QueueUnreachableError extends Error {
  readonly code = 'queue_unreachable';
  constructor(address: string, reason: string, cause: unknown) {
    super(`Redis cannot be reached at ${address}: ${reason}`, { cause });
    this.name = 'QueueUnreachableError';
  }
}

/** Connects, for the first time; later the connection is restored by itself. */
async function connectOnce(redis: Redis): Promise<void> {
  const { host, port } = redis.options;
  let reason: Error | null = null;
  const remember = (error: Error): void => void (reason = error);
  redis.on('error', remember);
  const late = AbortSignal.timeout(CONNECT_TIMEOUT_MS);
  const isLate = new Promise<never>((_, reject) => {
    late.addEventListener('abort', () => reject(new Error(`no answer within ${CONNECT_TIMEOUT_MS} ms`)), {
      once: true,
    });
  });
  try {
    await Promise.race([redis.connect(), isLate]);
  } catch (error) {
    redis.disconnect();
    // The promise says only that the connection was closed.
    const cause = reason ?? (error as Error);
    throw new QueueUnreachableError(`${host}:${port}`, cause.message, cause);
  } finally {
    redis.off('error', remember);
  }
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
    logger.warn({ policy }, 'Redis evicts keys when its memory is full; set its maxmemory-policy to noeviction');
  }
}
