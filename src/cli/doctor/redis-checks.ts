// The checks of Redis: whether it answers, its version, and whether it evicts data.
import { Redis } from 'ioredis';
import type { Config } from '../../config.ts';
import { CHECK_TIMEOUT_MS, reasonOf, type Check, type Finding } from './check.ts';

const SERVER_VERSION_MIN = 7;

/** The checks of Redis; without REDIS_URL there is nothing to check. */
export function redisChecks(config: Config): Check[] {
  const { redisUrl } = config.runtime;
  const check: Check = {
    code: 'redis',
    title: 'Redis',
    run: async () => ({ status: 'skipped', reason: 'not configured: the queue is in PostgreSQL' }),
  };
  return [redisUrl === undefined ? check : { ...check, run: () => redisFinding(redisUrl) }];
}

async function redisFinding(url: string): Promise<Finding> {
  const redis = new Redis(url, {
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
    return {
      status: 'error',
      reason: `cannot be reached: ${reasonOf(error)}`,
      fix: 'start it, or correct REDIS_URL; without REDIS_URL the queue is in PostgreSQL',
    };
  } finally {
    redis.disconnect();
  }
}

/** From the text of INFO. Losing the queue costs time and never a message (G22), so data that Redis may lose is worth only a warning. */
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
    return { status: 'error', reason: `${reason} is too old`, fix: 'upgrade to Redis 7 or Valkey 8' };
  }
  const policy = fields.get('maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction') {
    return {
      status: 'warning',
      reason: `${reason}; maxmemory-policy ${policy} discards jobs when memory is short`,
      fix: 'redis-cli config set maxmemory-policy noeviction',
    };
  }
  if (fields.get('aof_enabled') === '0') {
    return {
      status: 'warning',
      reason: `${reason}; appendonly is off: after a restart of Redis waiting jobs are enqueued again, some seconds later`,
      fix: 'redis-cli config set appendonly yes',
    };
  }
  return { status: 'ok', reason: `${reason}; noeviction; appendonly` };
}
