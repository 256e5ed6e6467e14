// BullMQ's connections to PostgreSQL, one for all queues and one for each worker, on pools and a listening client that are ours.
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
import type pg from 'pg';
import { migrateQueue } from './migrate-queue.ts';
import { createPostgresListener } from './postgres-listener.ts';
import { chooseFree, openQueuePools, queryPrepared } from './postgres-pools.ts';
import type { QueueServer } from './queue-backend.ts';

export interface PostgresOptions {
  databaseUrl: string;
  /** Called with each error. */
  onError: (error: Error) => void;
  /** False: the schema is expected to be there (`--no-migrate`), and is not created again when it is dropped. */
  isMigrating: boolean;
}

/** A notification is lost only with its connection, whose end is noticed. */
const SLEEP_MS = 5_000;

/** A worker that finds no job asks again after its sleep, so while workers sleep, a statement has answered within this time. */
const ANSWER_MS = SLEEP_MS + 1_000;

/** BullMQ's workers immediately repeat most failed statements, as fast as they fail. */
const FAILURE_PAUSE_MS = 100;

/**
 * What BullMQ asks when it has found no job, and before it sleeps: when the next delayed job is due, and whether a rate limit holds the
 * workers back. Holdfast has neither, so there are no rows. A delayed job that another program adds waits for the next poll.
 */
const NEEDLESS = /\bnext_(?:signal|delay)\(/;

/**
 * Statements after which a job waits for a worker; their first value is the queue. The server sends a notification of the job, too, which this process
 * ignores when the statement was its own.
 */
const ADDING = /\b(?:add_job|add_jobs_bulk|move_active_to_wait|move_stalled_jobs_to_wait)\(/;

/** Connects to the queue in the database; creates or upgrades its schema first. Rejects when the database cannot be reached. */
export async function connectPostgres({ databaseUrl, onError, isMigrating }: PostgresOptions): Promise<QueueServer> {
  if (isMigrating) await migrateQueue(databaseUrl);
  const heal = isMigrating ? createHealer(databaseUrl, onError) : () => undefined;
  /** When a statement has answered last, monotonic, if nothing has failed since: as good as a ping. */
  const answers = { lastAtMs: Number.NEGATIVE_INFINITY };
  const pools = openQueuePools(databaseUrl, (error) => {
    answers.lastAtMs = Number.NEGATIVE_INFINITY;
    onError(error);
  });
  const listener = createPostgresListener({ createClient: pools.createListenClient, isOwn: pools.isOwn });
  const connections: PostgresConnection[] = [];
  const connect = async (own: pg.Pool): Promise<PostgresConnection> => {
    // A worker that listens again polls for jobs once before it sleeps. If that poll fails, BullMQ sleeps nevertheless, after an outage
    // for up to an hour, while new jobs wait. Its sleep is therefore ended, as if the connection had been lost, and it polls again.
    const wakeWorker = (): void => void connection.emit('listenerinvalidated');
    let isChecked = false;
    const connection = new PostgresConnection(
      seenByBullMQ({
        own,
        choose: () => chooseFree(own, pools.shared),
        // With its first client, BullMQ's connection asks for the version of the schema; it listens on the others.
        takeClient: () => (isChecked ? listener.takePlace() : own.connect()),
        tell: listener.tell,
        heal,
        wakeWorker,
        answers,
      }),
    );
    connection.on('error', onError);
    await connection.waitUntilReady();
    isChecked = true;
    connections.push(connection);
    return connection;
  };
  const producing = await connect(pools.shared).catch(async (error: unknown) => {
    await pools.close();
    const isOfLayout = error instanceof SchemaMigrationRequiredError || error instanceof SchemaVersionMismatchError;
    throw isOfLayout ? new QueueLayoutMissingError(error) : error;
  });
  return {
    kind: 'postgres',
    sleepMs: SLEEP_MS,
    queueBackend: (name, options) =>
      new PostgresQueueBackend(producing, name, { ...options, connection: producing.pool }, false),
    async connectWorker(queue) {
      const connection = await connect(pools.openOwn(queue));
      return (name, options) =>
        new PostgresQueueBackend(connection, name, { ...options, connection: producing.pool }, true);
    },
    async ping() {
      if (performance.now() - answers.lastAtMs < ANSWER_MS) return;
      await pools.shared.query('/* queue: ping */ select 1');
    },
    async close() {
      await Promise.all(connections.map((connection) => connection.close()));
      await Promise.all([listener.close(), pools.close()]);
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

interface SeenParts {
  own: pg.Pool;
  choose: () => pg.Pool;
  takeClient: () => Promise<unknown>;
  tell: (queue: string) => void;
  heal: () => void;
  wakeWorker: () => void;
  answers: { lastAtMs: number };
}

/**
 * A pool as BullMQ sees it. A statement fails after a pause and wakes the worker of the connection, one that misses the schema has it made again, one
 * that adds a job tells the workers of this process, and a needless one is not sent.
 */
function seenByBullMQ({ own, choose, takeClient, tell, heal, wakeWorker, answers }: SeenParts): PgPool {
  // BullMQ asks for the part of a pool that is here.
  const seen = {
    connect: takeClient,
    end: () => own.end(),
    on: (event: 'error', listener: (error: Error) => void) => own.on(event, listener),
    removeAllListeners: (event?: string) => own.removeAllListeners(event),
    async query(text: string, values: unknown[] = []) {
      if (NEEDLESS.test(text)) return { rows: [] };
      try {
        const result = await queryPrepared(choose, text, values);
        answers.lastAtMs = performance.now();
        return result;
      } catch (error) {
        answers.lastAtMs = Number.NEGATIVE_INFINITY;
        if (isSchemaMissing(error)) heal();
        if (isRefusal(error)) throw error;
        await delay(FAILURE_PAUSE_MS);
        wakeWorker();
        throw error;
      } finally {
        // Also if it failed: only its answer may have been lost.
        if (ADDING.test(text)) tell(String(values[0]));
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
