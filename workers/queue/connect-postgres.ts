// BullMQ's connections to PostgreSQL, one for all queues and one for each worker, on pools and a
// listening client that are ours.
//
// BullMQ's connection asks for the version of its schema before its first statement, and keeps the
// answer permanently: after a failure it would never work again. So it is asked here, before
// BullMQ's objects see the connection, and one that failed is not used.
import {
  PostgresConnection,
  PostgresQueueBackend,
  SchemaMigrationRequiredError,
  SchemaVersionMismatchError,
  type PgPool,
  type PgPoolClient,
} from 'bullmq';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { migrateQueue } from './migrate-queue.ts';
import type { QueueServer } from './queue-backend.ts';
import { EventEmitter } from 'node:events';

export interface PostgresOptions {
  databaseUrl: string;
  /** Called with each error. */
  onError: (error: Error) => void;
  /**
   * False: the schema is expected to be there (`--no-migrate`), and is not created again when it is
   * dropped.
   */
  isMigrating: boolean;
}

/** A notification is lost only with its connection, whose end is noticed. */
const SLEEP_MS = 5_000;

/**
 * A worker that finds no job asks again after its sleep, so while workers sleep, a statement has
 * answered within this time.
 */
const ANSWER_MS = SLEEP_MS + 1_000;

/** BullMQ's workers immediately repeat most failed statements, as fast as they fail. */
const FAILURE_PAUSE_MS = 100;

/**
 * What BullMQ asks when it has found no job, and before it sleeps: when the next delayed job is
 * due, and whether a rate limit holds the workers back. Holdfast has neither, so there are no rows.
 * A delayed job that another program adds waits for the next poll.
 */
const NEEDLESS = /\bnext_(?:signal|delay)\(/;

/**
 * Statements after which a job waits for a worker; their first value is the queue. The server sends
 * a notification of the job, too, which this process ignores when the statement was its own.
 */
const ADDING = /\b(?:add_job|add_jobs_bulk|move_active_to_wait|move_stalled_jobs_to_wait)\(/;

/**
 * Connects to the queue in the database; creates or upgrades its schema first. Rejects when the
 * database cannot be reached.
 */
export async function connectPostgres({ databaseUrl, onError, isMigrating }: PostgresOptions): Promise<QueueServer> {
  if (isMigrating) await migrateQueue(databaseUrl);
  const heal = isMigrating ? createHealer(databaseUrl, onError) : () => undefined;
  /**
   * When a statement has answered last, monotonic, if nothing has failed since: as good as a ping.
   */
  const answers = { lastAtMs: Number.NEGATIVE_INFINITY };
  const pools = openQueuePools(databaseUrl, (error) => {
    answers.lastAtMs = Number.NEGATIVE_INFINITY;
    onError(error);
  });
  const listener = createPostgresListener({ createClient: pools.createListenClient, isOwn: pools.isOwn });
  const connections: PostgresConnection[] = [];
  const connect = async (own: pg.Pool): Promise<PostgresConnection> => {
    // A worker that listens again polls for jobs once before it sleeps. If that poll fails, BullMQ
    // sleeps nevertheless, after an outage for up to an hour, while new jobs wait. Its sleep is
    // therefore ended, as if the connection had been lost, and it polls again.
    const wakeWorker = (): void => void connection.emit('listenerinvalidated');
    let isChecked = false;
    const connection = new PostgresConnection(
      seenByBullMQ({
        own,
        choose: () => chooseFree(own, pools.shared),
        // With its first client, BullMQ's connection asks for the version of the schema; it listens
        // on the others.
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
 * A pool as BullMQ sees it. A statement fails after a pause and wakes the worker of the connection,
 * one that misses the schema has it made again, one that adds a job tells the workers of this
 * process, and a needless one is not sent.
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

/**
 * True when the queue's tables, functions or schema do not exist: they were dropped while this
 * process ran.
 */
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

// The one connection of a process that listens for jobs. PostgreSQL wakes every session of a
// database that listens, at each notification of any channel, so the workers of a process share
// one. BullMQ's connection of each worker gets a place here instead of a client of its own. Every
// place receives the notifications of the server, and the end of the connection. BullMQ then
// requests a new place, and the first such request connects again.

/** BullMQ's functions send the name of a queue that has a job. */
const CHANNEL = 'bullmq_jobs';

export interface PostgresListener {
  /** A place for a worker; rejects when the database cannot be reached. */
  takePlace(): Promise<PgPoolClient>;
  /** Tells the workers of this process that a queue has a job. */
  tell: (queue: string) => void;
  close(): Promise<void>;
}

interface ListenerOptions {
  createClient: () => pg.Client;
  /**
   * True for the server's process of one of our connections: its notifications say what `tell` has
   * said before.
   */
  isOwn: (processId: number) => boolean;
}

/** Makes a listener, which connects when the first place is taken. */
export function createPostgresListener({ createClient, isOwn }: ListenerOptions): PostgresListener {
  const places = new Set<Place>();
  let connected: Promise<pg.Client> | null = null;

  function connect(): Promise<pg.Client> {
    const client = createClient();
    const end = (error: Error): void => {
      if (connected !== attempt) return;
      connected = null;
      client.end().catch(() => undefined);
      const left = [...places];
      places.clear();
      for (const place of left) place.emit('error', error);
    };
    client.on('error', end);
    client.on('notification', ({ channel, payload, processId }) => {
      if (channel === CHANNEL && payload !== undefined && !isOwn(processId)) tell(payload);
    });
    const listen = async (): Promise<pg.Client> => {
      await client.connect();
      await client.query(`LISTEN ${CHANNEL}`);
      return client;
    };
    const attempt = listen();
    attempt.catch(end);
    return attempt;
  }

  function tell(queue: string): void {
    for (const place of places) place.emit('notification', { channel: CHANNEL, payload: queue });
  }

  return {
    async takePlace() {
      const attempt = (connected ??= connect());
      await attempt;
      // It may have ended in the moment in which it began to listen.
      if (connected !== attempt) throw new Error('the connection that listens for jobs has ended');
      const place = new Place(() => void places.delete(place));
      places.add(place);
      return place as unknown as PgPoolClient;
    },
    tell,
    async close() {
      const client = await connected?.catch(() => undefined);
      connected = null;
      await client?.end();
    },
  };
}

/** What BullMQ uses of a client to listen with. */
class Place extends EventEmitter {
  readonly release: () => void;

  constructor(leave: () => void) {
    super();
    this.release = leave;
  }

  /** BullMQ's own `LISTEN`, which was sent before there was a place. */
  query(): Promise<{ rows: [] }> {
    return Promise.resolve({ rows: [] });
  }
}

// The connections to the queue in PostgreSQL. Each worker has one by its name, by which BullMQ's
// tools know it, and shares some with all others of its process. They may commit without waiting
// for the disk, because the reconciler sends a ring again that a crash has lost.

export interface QueuePools {
  /** For the statements of all queues. */
  shared: pg.Pool;
  /** A connection for a worker, with this name. */
  openOwn: (name: string) => pg.Pool;
  /** A connection to listen on. */
  createListenClient: () => pg.Client;
  /** True for the server's process of a connection that is here. */
  isOwn: (processId: number) => boolean;
  close(): Promise<void>;
}

const SHARED_MAX = 2;
const QUERY_TIMEOUT_MS = 10_000;
const CONNECT_TIMEOUT_MS = 5_000;
/** A connection that is idle is tested so often: one that was dropped silently is noticed. */
const KEEP_ALIVE_MS = 10_000;
/** For those that are shared; the others keep the names of workers. */
const IDLE_TIMEOUT_MS = 60_000;

/** BullMQ's statements name no schema. */
const SETTINGS = '-c search_path=bullmq -c synchronous_commit=off';

/** BullMQ has about 80 statements; one that is new here after so many is sent without a name. */
const NAMES_MAX = 200;

/**
 * Opens pools, which connect at their first statement. `onError` gets the errors of connections.
 */
export function openQueuePools(databaseUrl: string, onError: (error: Error) => void): QueuePools {
  const pools: pg.Pool[] = [];
  const processIds = new Set<number>();

  function optionsOf(name: string): pg.ClientConfig {
    return {
      connectionString: databaseUrl,
      application_name: name,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: QUERY_TIMEOUT_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      options: SETTINGS,
    };
  }

  function open(name: string, options: { max: number; idleTimeoutMillis: number }): pg.Pool {
    const pool = new pg.Pool({ ...optionsOf(name), ...options });
    pool.on('connect', (client) => {
      // The types of `pg` leave it out.
      const { processID } = client as pg.PoolClient & { processID: number };
      processIds.add(processID);
      client.on('end', () => processIds.delete(processID));
      client.on('error', onError);
    });
    pools.push(pool);
    return pool;
  }

  return {
    shared: open('holdfast:queue', { max: SHARED_MAX, idleTimeoutMillis: IDLE_TIMEOUT_MS }),
    openOwn: (name) => open(name, { max: 1, idleTimeoutMillis: 0 }),
    createListenClient: () => new pg.Client(optionsOf('holdfast:queue:listen')),
    isOwn: (processId) => processIds.has(processId),
    close: async () => void (await Promise.all(pools.map((pool) => pool.end()))),
  };
}

/** The connection of a worker while it is free, else the shared ones. */
export function chooseFree(own: pg.Pool, shared: pg.Pool): pg.Pool {
  return own.idleCount > 0 || own.totalCount === 0 ? own : shared;
}

const names = new Map<string, string>();

/** Sends a statement of BullMQ, which the server prepares once for each connection. */
export async function queryPrepared(choose: () => pg.Pool, text: string, values: unknown[]): Promise<pg.QueryResult> {
  let name = names.get(text);
  if (name === undefined && names.size < NAMES_MAX) names.set(text, (name = `bullmq:${names.size}`));
  const statement = { text, values, ...(name === undefined ? {} : { name }) };
  // Each connection can have such a plan once. The pool closes a connection whose statement has
  // failed.
  for (let triesLeft = SHARED_MAX + 1; ; triesLeft -= 1) {
    try {
      return await choose().query(statement);
    } catch (error) {
      if (!isPlanGone(error) || triesLeft === 0) throw error;
    }
  }
}

/**
 * True when the server has no longer what a prepared statement was made for: the schema was dropped
 * or migrated.
 */
function isPlanGone(error: unknown): boolean {
  return ['0A000', '26000'].includes((error as { code?: string }).code ?? '');
}
