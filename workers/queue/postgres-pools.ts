// The connections to the queue in PostgreSQL. Each worker has one by its name, by which BullMQ's tools know it, and shares some with all others of its
// process. They may commit without waiting for the disk, because the reconciler sends a ring again that a crash has lost.
import pg from 'pg';

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

/** Opens pools, which connect at their first statement. `onError` gets the errors of connections. */
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
  // Each connection can have such a plan once. The pool closes a connection whose statement has failed.
  for (let triesLeft = SHARED_MAX + 1; ; triesLeft -= 1) {
    try {
      return await choose().query(statement);
    } catch (error) {
      if (!isPlanGone(error) || triesLeft === 0) throw error;
    }
  }
}

/** True when the server has no longer what a prepared statement was made for: the schema was dropped or migrated. */
function isPlanGone(error: unknown): boolean {
  return ['0A000', '26000'].includes((error as { code?: string }).code ?? '');
}
