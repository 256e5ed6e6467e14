// The queue in PostgreSQL: at most four connections for a process, however many queues and workers it has. It may commit
// without waiting for the disk, because the reconciler sends a ring again that a crash has lost.
import {
  assertSchemaCompatibility,
  PostgresConnection,
  Queue,
  SchemaMigrationRequiredError,
  SchemaVersionMismatchError,
  Worker,
  type PgPool,
} from 'bullmq';
import pg from 'pg';
import { JOB_LOCK_MS, STALLED_COUNT_MAX, STALLED_INTERVAL_MS } from '../../jobs/index.ts';
import type { OutageLog } from '../../src/outage-log.ts';
import { migrateQueue } from './migrate-queue.ts';
import { PlainJobsBackend, type SharedPostgres } from './postgres-backend.ts';
import { createPostgresExchange } from './postgres-exchange.ts';
import { createPostgresSignal } from './postgres-signal.ts';
import type { QueueBackend } from './queue-backend.ts';

export interface PostgresQueuesOptions {
  databaseUrl: string;
  outages: OutageLog;
  /** False: the schema is expected to be there (`--no-migrate`), and is not created again when it is dropped. */
  isMigrating: boolean;
}

const POOL_SIZE = 3;
const QUERY_TIMEOUT_MS = 10_000;
const CONNECT_TIMEOUT_MS = 5_000;

/** How long an idle worker sleeps when nothing rings; the signal's poll is what finds a lost ring. */
const SLEEP_SECONDS = 60;

// The tables are nearly empty most of the time, so plans made from their statistics are wrong as soon as they are not: only
// the way through the indexes is good for both. BullMQ's own statements name no schema.
const SETTINGS = [
  'search_path=bullmq',
  'synchronous_commit=off',
  'plan_cache_mode=force_generic_plan',
  'enable_seqscan=off',
  'enable_bitmapscan=off',
  'enable_hashjoin=off',
  'enable_mergejoin=off',
  'enable_sort=off',
  'jit=off',
];

/** Opens the queue in the database; creates or upgrades its schema first. Rejects when the database cannot be reached. */
export async function openPostgresQueues(options: PostgresQueuesOptions): Promise<QueueBackend> {
  const { databaseUrl, outages, isMigrating } = options;
  if (isMigrating) await migrateQueue(databaseUrl);
  const pool = openPool(databaseUrl, outages);
  if (!isMigrating) await requireQueueLayout(pool);
  const heal = isMigrating ? createHealer(databaseUrl, outages.failed) : () => undefined;
  const onError = (error: Error): void => {
    outages.failed(error);
    if (isSchemaMissing(error)) heal();
  };
  const shared: SharedPostgres = {
    connection: new ReadyConnection(pool as PgPool),
    exchange: createPostgresExchange(pool, JOB_LOCK_MS),
    signal: createPostgresSignal({ databaseUrl, onError }),
    consumers: new Map(),
    onError,
  };
  return {
    kind: 'postgres',
    outages,
    openQueue: (name) => {
      const backend = new PlainJobsBackend(shared, name, 0);
      const queue = new Queue(name, { connection: {}, skipMetasUpdate: true }, () => backend);
      queue.on('error', onError);
      return queue;
    },
    openConsumer: (name, { concurrency, process }) => {
      const backend = new PlainJobsBackend(shared, name, concurrency);
      const worker = new Worker(
        name,
        (job, token) => process(job, token ?? ''),
        {
          connection: {},
          concurrency,
          drainDelay: SLEEP_SECONDS,
          lockDuration: JOB_LOCK_MS,
          stalledInterval: STALLED_INTERVAL_MS,
          maxStalledCount: STALLED_COUNT_MAX,
        },
        () => backend,
      );
      worker.on('error', onError);
      return {
        worker,
        lastPollAtMs: () => lastPollAtMs(shared),
        interrupt: () => backend.disconnectBlocking(),
        resume: () => backend.reconnectBlocking(),
      };
    },
    async ping() {
      await pool.query('/* queue: ping */ select 1');
    },
    async close() {
      await shared.signal.close();
      await shared.exchange.flush().catch(onError);
      shared.exchange.close();
      await pool.end();
    },
  };
}

/** The queue's tables are not those of the installed BullMQ. */
class QueueLayoutMissingError extends Error {
  readonly code = 'layout_missing';
  constructor(cause: Error) {
    super('The tables of the queue (schema "bullmq") are missing or have another version than this one needs.', {
      cause,
    });
    this.name = 'QueueLayoutMissingError';
  }
}

async function requireQueueLayout(pool: pg.Pool): Promise<void> {
  try {
    await assertSchemaCompatibility(pool);
  } catch (error) {
    await pool.end();
    const isOfLayout = error instanceof SchemaMigrationRequiredError || error instanceof SchemaVersionMismatchError;
    throw isOfLayout ? new QueueLayoutMissingError(error) : error;
  }
}

/**
 * BullMQ's connection, which checks its schema before its first statement and keeps a failure of that check permanently. The schema was
 * checked when the queue was opened, so each statement is sent immediately and fails or succeeds by itself.
 */
class ReadyConnection extends PostgresConnection {
  override waitUntilReady(): Promise<void> {
    return Promise.resolve();
  }
}

function openPool(databaseUrl: string, outages: OutageLog): pg.Pool {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    application_name: 'holdfast:queue',
    max: POOL_SIZE,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: 60_000,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
    options: SETTINGS.map((setting) => `-c ${setting}`).join(' '),
  });
  pool.on('error', outages.failed);
  pool.on('connect', (client) => client.on('error', outages.failed));
  // The pool gives the error of the query that a connection was used for, or false.
  pool.on('release', (error: unknown) => {
    if (!(error instanceof Error)) outages.answered();
  });
  return pool;
}

/** When the consuming path last worked. The poll does not count while the statements that take jobs fail. */
function lastPollAtMs({ exchange, signal }: SharedPostgres): number | null {
  const { lastSuccessAtMs, isFailing } = exchange.health();
  const polledAtMs = signal.lastPollAtMs();
  if (isFailing || polledAtMs === null) return lastSuccessAtMs;
  return Math.max(polledAtMs, lastSuccessAtMs ?? 0);
}

/** True when the queue's tables, functions or schema do not exist: they were dropped while this process ran. */
function isSchemaMissing(error: Error): boolean {
  return ['42P01', '42883', '3F000', '42704'].includes((error as { code?: string }).code ?? '');
}

/** Returns a function that creates the schema again; calls during that share one creation. */
function createHealer(databaseUrl: string, onError: (error: Error) => void): () => void {
  let isHealing = false;
  return () => {
    if (isHealing) return;
    isHealing = true;
    void migrateQueue(databaseUrl)
      .catch(onError)
      .finally(() => (isHealing = false));
  };
}
