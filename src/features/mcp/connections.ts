// The connections of a process to MCP servers: opened when a server is first used, shared by all calls, closed when none has used them for a while.
// A worker that ends closes all of them.
import type { Config, McpServerSettings } from '../../config.ts';
import type { Database } from '../../database/database.ts';
import type { Logger } from '../../logger.ts';
import type { OpenClient } from './open-client.ts';
import { requestMcpList } from './store/servers.ts';

/** A connection that no call uses is closed after this time. */
const IDLE_MS = 5 * 60_000;

interface Connection {
  client: Promise<OpenClient>;
  users: number;
  idle: NodeJS.Timeout | undefined;
}

export interface ConnectionParts {
  config: Config;
  servers: Readonly<Record<string, McpServerSettings>>;
  database: Database;
  logger: Logger;
  idleMs?: number;
}

/** One for each process, which has one database. */
const opened = new WeakMap<Database, Connections>();

export function connectionsOf(parts: ConnectionParts): Connections {
  const connections = opened.get(parts.database) ?? new Connections(parts);
  opened.set(parts.database, connections);
  return connections;
}

export class Connections {
  readonly #parts: ConnectionParts;
  readonly #open = new Map<string, Connection>();
  readonly #closing = new Set<Promise<void>>();
  #isStopped = false;

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
  }

  /** Gives the work a connection to a server. Rejects with the reason when there is none, and with that of the signal after an abort. */
  async use<Result>(
    server: string,
    { signal, work }: { signal: AbortSignal; work: (client: OpenClient) => Promise<Result> },
  ): Promise<Result> {
    const connection = this.#connect(server);
    connection.users += 1;
    clearTimeout(connection.idle);
    try {
      return await work(await raceAbort(connection.client, signal));
    } finally {
      connection.users -= 1;
      if (connection.users === 0) this.#closeWhenIdle(server, connection);
    }
  }

  /** Closes a connection that is of no use any more; calls on it are lost. */
  drop(server: string): void {
    const connection = this.#open.get(server);
    if (connection === undefined) return;
    this.#open.delete(server);
    clearTimeout(connection.idle);
    const closing = connection.client.then((client) => client.close()).catch(() => undefined);
    this.#closing.add(closing);
    void closing.then(() => this.#closing.delete(closing));
  }

  /** Closes the connection to a server that answers nothing: one whose call has timed out may hang. */
  async dropIfSilent(server: string): Promise<void> {
    const connection = this.#open.get(server);
    const client = await connection?.client.catch(() => undefined);
    if (client === undefined || (await client.ping())) return;
    if (this.#open.get(server) === connection) this.drop(server);
  }

  /** Closes all, and opens none from now on. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const server of this.#open.keys()) this.drop(server);
    await Promise.all(this.#closing);
  }

  #connect(server: string): Connection {
    const known = this.#open.get(server);
    if (known !== undefined) return known;
    const settings = this.#parts.servers[server];
    if (settings === undefined) throw new Error(`no server of the configuration is named ${server}`);
    if (this.#isStopped) throw new Error('the worker is shutting down');
    const connection: Connection = { client: this.#openClient(server, settings), users: 0, idle: undefined };
    this.#open.set(server, connection);
    connection.client.catch(() => this.#remove(server, connection));
    return connection;
  }

  async #openClient(server: string, settings: McpServerSettings): Promise<OpenClient> {
    const { openClient } = await import('./open-client.ts');
    const { config, logger, database } = this.#parts;
    // The list is asked for again by the process that claims it.
    const ask = (): void =>
      void requestMcpList(database, server).catch((error: unknown) =>
        database.outages.report(error, 'MCP server could not be marked'),
      );
    const client = await openClient(
      { config, name: server, settings },
      {
        changed: ask,
        closed: () => {
          logger.warn({ server }, 'MCP server has ended its connection; the next call opens another');
          this.#removeClient(server, client);
          ask();
        },
      },
    );
    logger.info({ server, ...client.info }, 'MCP server is connected');
    return client;
  }

  #remove(server: string, connection: Connection): void {
    clearTimeout(connection.idle);
    if (this.#open.get(server) === connection) this.#open.delete(server);
  }

  #removeClient(server: string, client: OpenClient): void {
    const connection = this.#open.get(server);
    void connection?.client.then(
      (open) => open === client && this.#remove(server, connection),
      () => undefined,
    );
  }

  #closeWhenIdle(server: string, connection: Connection): void {
    clearTimeout(connection.idle);
    if (this.#open.get(server) !== connection) return;
    connection.idle = setTimeout(() => this.drop(server), this.#parts.idleMs ?? IDLE_MS);
    connection.idle.unref();
  }
}

async function raceAbort<Value>(value: Promise<Value>, signal: AbortSignal): Promise<Value> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason as Error);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([value, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
