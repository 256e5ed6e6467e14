// Chooses where the queue lives: in Redis when there is one, else in the database. Nothing above this file knows which.
import type { Logger } from '../../src/logger.ts';
import { createOutageLog } from '../../src/outage-log.ts';
import type { QueueBackend } from './queue-backend.ts';

export interface QueueBackendOptions {
  databaseUrl: string;
  /** Absent: the queue lives in the database. */
  redisUrl?: string | undefined;
  logger: Pick<Logger, 'warn' | 'info'>;
  /** False: the queue's schema is not created or upgraded (`--no-migrate`). */
  isMigrating?: boolean;
}

/** Opens the queue; rejects when it cannot be reached. The other backend's driver is not even loaded. */
export async function openQueueBackend(options: QueueBackendOptions): Promise<QueueBackend> {
  const { databaseUrl, redisUrl, logger, isMigrating = true } = options;
  // After any error of the queue's driver or of BullMQ, the queue counts as unavailable.
  const outages = createOutageLog({ dependency: 'queue', logger, isOutage: () => true });
  if (redisUrl !== undefined) {
    const { openRedisQueues } = await import('./open-redis-queues.ts');
    return openRedisQueues({ redisUrl, logger, outages });
  }
  const { openPostgresQueues } = await import('./open-postgres-queues.ts');
  return openPostgresQueues({ databaseUrl, outages, isMigrating });
}
