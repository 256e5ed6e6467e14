// BullMQ's connections to Redis: one to ring with, one for the workers' commands, and one for each
// worker to wait on. Ringing fails fast, because a caller waits for it; workers wait for Redis to
// be available again.
import { createRedisBackend } from 'bullmq';
import { Redis, type RedisOptions } from 'ioredis';
import { withDeadline } from '../../src/clock.ts';
import type { Logger } from '../../src/logger.ts';
import type { QueueServer } from './queue-backend.ts';

export interface RedisServerOptions {
  redisUrl: string;
  logger: Pick<Logger, 'warn'>;
  /** Called with each error. */
  onError: (error: Error) => void;
}

const COMMAND_TIMEOUT_MS = 2_000;
const CONNECT_TIMEOUT_MS = 5_000;
const RECONNECT_MS_MAX = 1_000;

/**
 * Short, because a worker that was frozen while it slept may hold the one mark that would wake the
 * others.
 */
const SLEEP_MS = 500;

/**
 * BullMQ asks the server for its version before its first command, and keeps a failure permanently.
 * The connection was tested when the queue was opened, so each command is sent immediately and
 * fails or succeeds by itself.
 */
const UNTRIED = { skipVersionCheck: true, skipWaitingForReady: true };

/** Connects to the queue in Redis. Rejects when Redis cannot be reached. */
export async function connectRedis({ redisUrl, logger, onError }: RedisServerOptions): Promise<QueueServer> {
  const ringing = connectionTo(redisUrl, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: COMMAND_TIMEOUT_MS,
  });
  await connectOnce(ringing);
  await warnOfEviction(ringing, logger);
  // BullMQ waits on a copy of this connection, which must retry without a limit. It connects by
  // itself: a connection that BullMQ opens fails permanently when the first attempt fails.
  const working = connectionTo(redisUrl, { maxRetriesPerRequest: null, lazyConnect: false });
  for (const connection of [ringing, working]) connection.on('error', onError);
  return {
    kind: 'redis',
    sleepMs: SLEEP_MS,
    queueBackend: (name, options, more) =>
      createRedisBackend(name, { ...options, ...UNTRIED, connection: ringing }, more),
    // BullMQ copies the connection for each worker.
    async connectWorker() {
      return (name, options, more) => createRedisBackend(name, { ...options, connection: working }, more);
    },
    async ping() {
      await ringing.ping();
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
  const late = (): Error => new Error(`no answer within ${CONNECT_TIMEOUT_MS} ms`);
  try {
    await withDeadline({ ms: CONNECT_TIMEOUT_MS, late }, () => redis.connect());
  } catch (error) {
    redis.disconnect();
    // The promise says only that the connection was closed.
    const cause = reason ?? (error as Error);
    throw new QueueUnreachableError(`${host}:${port}`, cause.message, cause);
  } finally {
    redis.off('error', remember);
  }
}

/** A Redis that evicts keys loses rings: each costs the reconciler's interval. */
async function warnOfEviction(redis: Redis, logger: RedisServerOptions['logger']): Promise<void> {
  // Hosted servers may refuse this command.
  const answer = await redis.config('GET', 'maxmemory-policy').catch(() => null);
  const policy = Array.isArray(answer) ? String(answer[1]) : 'unknown';
  if (policy !== 'noeviction' && policy !== 'unknown') {
    logger.warn({ policy }, 'Redis evicts keys when its memory is full; set its maxmemory-policy to noeviction');
  }
}
