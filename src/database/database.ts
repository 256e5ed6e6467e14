// The connections to PostgreSQL, in three pools: `hot` for the few statements of a turn, and the
// one that reads how messages ended (coalesced, so a handful of connections carries hundreds of
// turns; each is planned once, and the planner settings allow indexes only, because generic plans
// over `unnest` guess wrongly), `views` for the other statements of requests, and `reads` for what
// GET requests read: few connections and a short time limit, so that reading, however much is asked
// for, never takes a connection or much of the server from turns. No connection is ever held across
// a model or tool call (G9).
import pg, { type Pool } from 'pg';
import { listCauses, giveCodes, withCode, isPassingFault } from './passing-faults.ts';
import { parseKeepingIntegers } from '../core/json.ts';
import { Gate } from '../gate.ts';
import { type Logger, createOutageLog, type OutageLog } from '../logger.ts';
import { checkEventIds } from './event-ids.ts';
import type { ViewDatabase } from './page.ts';
import { watchStorage } from './watch-storage.ts';

export interface DatabaseOptions {
  url: string;
  /** Seen in pg_stat_activity, after `holdfast:`. */
  role: string;
  hotConnections?: number;
  /** Where outages of the database are logged; absent: nowhere. */
  logger?: Pick<Logger, 'info' | 'warn'>;
  /** Called after each named statement with its time, in milliseconds. Must not throw. */
  onStatement?: ((name: string, durationMs: number) => void) | undefined;
}

/**
 * Connections of which few are in transactions at a time, so that a row which is locked for long
 * leaves some to other statements; without `transactions`, all may be.
 */
export type LimitedPool = pg.Pool & { transactions?: Gate };

export interface Database {
  hot: LimitedPool;
  views: ViewDatabase;
  reads: ViewDatabase;
  /**
   * Takes the faults that parts of the process survive, so that an outage is a few lines in the
   * log.
   */
  outages: OutageLog;
  /** Throws the last fault of the storage, for some seconds after it. */
  checkStorage(): void;
  close(): Promise<void>;
}

/**
 * How long a caller waits for a free connection before it fails because the database is busy, in
 * milliseconds.
 */
const CONNECT_TIMEOUT_MS = 5_000;

/** No statement of Holdfast takes long; one that does is a fault, and ends, in milliseconds. */
const STATEMENT_TIMEOUT_MS = 30_000;

/** A read of a GET request that takes longer ends, in milliseconds. */
const READ_TIMEOUT_MS = 3_000;

const READ_CONNECTIONS = 3;

const HOT_TRANSACTIONS_MAX = 3;

const HOT_PLANNER = [
  'plan_cache_mode=force_generic_plan',
  'enable_seqscan=off',
  // On tables that look small, a bitmap of a whole index seems as cheap as one row of it, and the
  // plan is kept while they grow.
  'enable_bitmapscan=off',
  'enable_hashjoin=off',
  'enable_mergejoin=off',
  'jit=off',
];

/** Opens both pools; connects lazily, at the first query. */
export function openDatabase(options: DatabaseOptions): Database {
  // An integer that a number would round, for example in the schema of a client's tool, reaches the
  // model with its digits.
  pg.types.setTypeParser(pg.types.builtins.JSON, parseKeepingIntegers);
  let isClosing = false;
  const { logger = SILENT } = options;
  const storage = watchStorage();
  const outages = createOutageLog({
    dependency: 'database',
    logger,
    isOutage: isPassingFault,
    onFault: (error) => storage.note(listCauses(error).at(-1)),
  });
  const listeners = {
    // A connection that is being closed may still report that its server is shutting down.
    onError: (error: Error): void => {
      // A transaction that waited for its own process for too long is no fault of the database; it
      // is made again.
      const isIdle = 'code' in error && error.code === '25P03';
      if (!isClosing && !isIdle) outages.report(error, 'Database connection failed');
    },
    onAnswer: () => outages.answered(),
    async onConnect(client: pg.ClientBase): Promise<void> {
      if (await checkEventIds(client))
        logger.warn({}, 'Database server has changed; event ids continue after the newest stored event');
    },
  };
  const parts = { ...options, ...listeners, timeoutMs: STATEMENT_TIMEOUT_MS };
  const hot = Object.assign(openPool(parts, 'hot', options.hotConnections ?? 8, HOT_PLANNER), {
    transactions: new Gate(HOT_TRANSACTIONS_MAX),
  });
  const views: ViewDatabase = openPool(parts, 'views', 6, ['jit=off']);
  const reads: ViewDatabase = openPool({ ...parts, timeoutMs: READ_TIMEOUT_MS }, 'reads', READ_CONNECTIONS, [
    'jit=off',
  ]);
  views.storage = storage;
  reads.storage = storage;
  return {
    hot,
    views,
    reads,
    outages,
    checkStorage: () => storage.check(),
    async close() {
      isClosing = true;
      await Promise.all([hot.end(), views.end(), reads.end()]);
    },
  };
}

const SILENT = { info: () => undefined, warn: () => undefined };

interface PoolOptions extends DatabaseOptions {
  /** A statement that takes longer ends, in milliseconds. */
  timeoutMs: number;
  /** Called for errors of idle connections, which the next query replaces. */
  onError: (error: Error) => void;
  /** Called when a connection is returned after a successful query. */
  onAnswer: () => void;
  /**
   * Called with each new connection. Returns a promise: the connection is used when it resolves,
   * and closed when it rejects.
   */
  onConnect: (client: pg.ClientBase) => unknown;
}

function openPool(options: PoolOptions, name: string, max: number, settings: string[]): pg.Pool {
  const pool = new pg.Pool({
    connectionString: options.url,
    application_name: `holdfast:${options.role}:${name}`,
    max,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: 60_000,
    statement_timeout: options.timeoutMs,
    // The answer may be lost with the host that sent it; then the statement is retried on another
    // connection.
    query_timeout: options.timeoutMs + 5_000,
    keepAlive: true,
    // pg-pool waits for the promise, which its types do not say.
    onConnect: options.onConnect,
    options: settings.map((setting) => `-c ${setting}`).join(' '),
  });
  giveCodes(pool);
  if (options.onStatement !== undefined) timeStatements(pool, options.onStatement);
  const onError = (error: Error): void => options.onError(withCode(error) as Error);
  pool.on('error', onError);
  pool.on('release', (error: unknown) => {
    if (error === undefined || error === null || error === false) options.onAnswer();
  });
  pool.on('connect', (client) => client.on('error', onError));
  return pool;
}

/**
 * The SQLSTATE and the words with which the database refused a statement; null for any other error.
 */
export function findRefusal(error: unknown): string | null {
  return error instanceof pg.DatabaseError ? `${error.code ?? 'no SQLSTATE'}: ${error.message}` : null;
}

// Measures how long the statements of a pool take, with the wait for a connection.

/** The digits for the options of a statement, which are no part of its name. */
const OPTIONS = /-[01]+$/;

/** Replaces the pool's `query` by one that measures statements with a name. */
export function timeStatements(pool: Pool, onStatement: (name: string, durationMs: number) => void): void {
  const send = pool.query.bind(pool) as (...values: unknown[]) => unknown;
  const query = (...values: unknown[]): unknown => {
    const name = readName(values[0]);
    const answer = send(...values);
    if (name === null || !(answer instanceof Promise)) return answer;
    const startedAt = performance.now();
    const end = (): void => onStatement(name, performance.now() - startedAt);
    answer.then(end, end);
    return answer;
  };
  // It accepts and returns the same as each form of the pool's own method.
  pool.query = query as Pool['query'];
}

function readName(query: unknown): string | null {
  const name = (query as { name?: unknown } | null)?.name;
  return typeof name === 'string' ? name.replace(OPTIONS, '') : null;
}
