// BullMQ's connections to PostgreSQL, on one pool that is ours: one for all queues, and one for each worker, which holds a client of
// the pool to listen on. They may commit without waiting for the disk, because the reconciler sends a ring again that a crash has lost.
//
// BullMQ's connection asks for the version of its schema before its first statement, and keeps the answer permanently: after a failure it
// would never work again. So it is asked here, before BullMQ's objects see the connection, and one that failed is not used.
import {
  PostgresConnection,
  PostgresQueueBackend,
  SchemaMigrationRequiredError,
  SchemaVersionMismatchError,
  type PgPool,
} from 'bullmq';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { QUEUE_NAMES } from '../../jobs/index.ts';
import { migrateQueue } from './migrate-queue.ts';
import type { QueueServer } from './queue-backend.ts';

export interface PostgresOptions {
  databaseUrl: string;
  /** Called with each error. */
  onError: (error: Error) => void;
  /** False: the schema is expected to be there (`--no-migrate`), and is not created again when it is dropped. */
  isMigrating: boolean;
}

/** A client to listen on for each queue, and some for statements. */
const POOL_SIZE = QUEUE_NAMES.length + 3;
const QUERY_TIMEOUT_MS = 10_000;
const CONNECT_TIMEOUT_MS = 5_000;
const IDLE_TIMEOUT_MS = 60_000;

/** A notification is lost only with its connection, whose end is noticed. */
const SLEEP_MS = 5_000;

/** BullMQ's workers immediately repeat most failed statements, as fast as they fail. */
const FAILURE_PAUSE_MS = 100;

/**
 * What BullMQ asks when it has found no job, and before it sleeps: when the next delayed job is due, and whether a rate limit holds the
 * workers back. Holdfast has neither, so there are no rows. A delayed job that another program adds waits for the next poll.
 */
const NEEDLESS = /\bnext_(?:signal|delay)\(/;

/** BullMQ's statements name no schema. */
const SETTINGS = '-c search_path=bullmq -c synchronous_commit=off';

/** Connects to the queue in the database; creates or upgrades its schema first. Rejects when the database cannot be reached. */
export async function connectPostgres({ databaseUrl, onError, isMigrating }: PostgresOptions): Promise<QueueServer> {
  if (isMigrating) await migrateQueue(databaseUrl);
  const heal = isMigrating ? createHealer(databaseUrl, onError) : () => undefined;
  const pool = openPool(databaseUrl, onError);
  const connections: PostgresConnection[] = [];
  const connect = async (): Promise<PostgresConnection> => {
    // A worker that listens again polls for jobs once before it sleeps. If that poll fails, BullMQ sleeps nevertheless, after an outage
    // for up to an hour, while new jobs wait. Its sleep is therefore ended, as if the connection had been lost, and it polls again.
    const wakeWorker = (): void => void connection.emit('listenerinvalidated');
    const connection = new PostgresConnection(seenByBullMQ(pool, { heal, wakeWorker }));
    connection.on('error', onError);
    await connection.waitUntilReady();
    connections.push(connection);
    return connection;
  };
  const producing = await connect().catch(async (error: unknown) => {
    await pool.end();
    const isOfLayout = error instanceof SchemaMigrationRequiredError || error instanceof SchemaVersionMismatchError;
    throw isOfLayout ? new QueueLayoutMissingError(error) : error;
  });
  return {
    kind: 'postgres',
    sleepMs: SLEEP_MS,
    queueBackend: (name, options) =>
      new PostgresQueueBackend(producing, name, { ...options, connection: producing.pool }, false),
    async connectWorker(queue) {
      const connection = await connect();
      // BullMQ's tools know a worker by this name. BullMQ would set it while it begins to listen; `pg` warns of two concurrent statements.
      await connection.setListenClientName(queue);
      return (name, options) =>
        new PostgresQueueBackend(connection, name, { ...options, connection: producing.pool }, true);
    },
    async ping() {
      await pool.query('/* queue: ping */ select 1');
    },
    async close() {
      // A worker that still runs a job holds a client of the pool.
      await Promise.all(connections.map((connection) => connection.close()));
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

function openPool(databaseUrl: string, onError: (error: Error) => void): pg.Pool {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    application_name: 'holdfast:queue',
    max: POOL_SIZE,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    options: SETTINGS,
  });
  pool.on('connect', (client) => client.on('error', onError));
  return pool;
}

/**
 * The pool as BullMQ sees it: a statement fails after a pause and wakes the worker of the connection, one that misses the schema has it
 * made again, and a needless one is not sent.
 */
function seenByBullMQ(pool: pg.Pool, { heal, wakeWorker }: { heal: () => void; wakeWorker: () => void }): PgPool {
  // BullMQ asks for the part of a pool that is here.
  const seen = {
    connect: () => pool.connect(),
    end: () => pool.end(),
    on: (event: 'error', listener: (error: Error) => void) => pool.on(event, listener),
    removeAllListeners: (event?: string) => pool.removeAllListeners(event),
    async query(text: string, values?: unknown[]) {
      if (NEEDLESS.test(text)) return { rows: [] };
      try {
        return await pool.query(text, values);
      } catch (error) {
        if (isSchemaMissing(error)) heal();
        if (isRefusal(error)) throw error;
        await delay(FAILURE_PAUSE_MS);
        wakeWorker();
        throw error;
      }
    },
  };
  return seen as unknown as PgPool;
}

/** True when the queue's tables, functions or schema do not exist: they were dropped while this process ran. */
function isSchemaMissing(error: unknown): boolean {
  return ['42P01', '42883', '3F000', '42704'].includes((error as { code?: string }).code ?? '');
}

/** True when BullMQ's own functions refuse a command. */
function isRefusal(error: unknown): boolean {
  return (error as { code?: string }).code === 'BM001';
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
