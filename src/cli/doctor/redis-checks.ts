// The checks of Redis: whether it answers, its version, and whether it evicts data.
import { Redis } from 'ioredis';
import type { Config } from '../../config.ts';
import { CHECK_TIMEOUT_MS, failure, ok, explain, skipped, warning, type Finding } from './check.ts';

const SERVER_VERSION_MIN = 7;

/** Without REDIS_URL there is nothing to check. */
export async function redisFinding({ runtime: { redisUrl } }: Config): Promise<Finding> {
  if (redisUrl === undefined) return skipped('not configured: the queue is in PostgreSQL');
  const redis = new Redis(redisUrl, {
    lazyConnect: true,
    connectTimeout: CHECK_TIMEOUT_MS,
    commandTimeout: CHECK_TIMEOUT_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    return keepingFinding(await redis.info());
  } catch (error) {
    return failure(
      `cannot be reached: ${explain(error)}`,
      'start it, or correct REDIS_URL; without REDIS_URL the queue is in PostgreSQL',
    );
  } finally {
    redis.disconnect();
  }
}

/**
 * From the text of INFO. Losing the queue costs time and never a message (G22), so data that Redis
 * may lose is worth only a warning.
 */
export function keepingFinding(info: string): Finding {
  const fields = new Map(
    info.split(/\r?\n/).map((line): [string, string] => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1)];
    }),
  );
  const version = fields.get('valkey_version') ?? fields.get('redis_version') ?? '0';
  const reason = `version ${version}`;
  if (Number.parseInt(version, 10) < SERVER_VERSION_MIN) {
    return failure(`${reason} is too old`, 'upgrade to Redis 7 or Valkey 8');
  }
  const policy = fields.get('maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction') {
    return warning(
      `${reason}; maxmemory-policy ${policy} discards jobs when memory is short`,
      'redis-cli config set maxmemory-policy noeviction',
    );
  }
  if (fields.get('aof_enabled') === '0') {
    return warning(
      `${reason}; appendonly is off: after a restart of Redis waiting jobs are enqueued again, some seconds later`,
      'redis-cli config set appendonly yes',
    );
  }
  return ok(`${reason}; noeviction; appendonly`);
}
