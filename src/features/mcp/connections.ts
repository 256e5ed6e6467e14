// The connections of a process to MCP servers: opened when a server is first used, shared by all
// calls, closed when none has used them for a while. A worker that ends closes all of them.
import type { Config, McpServerSettings } from '../../config.ts';
import type { Database } from '../../database/database.ts';
import type { Logger } from '../../logger.ts';
import { sandboxStep } from '../../tools/sandbox/rules/sandbox-step.ts';
import type { OpenClient } from './server-port.ts';
import { requestMcpList, suspectMcpServer } from './store/servers.ts';

/** The most processes of sessions at once. Each browser has some 200 MB. */
const OF_SESSIONS_MAX = 20;
/** No name of a server has it. */
const BETWEEN = '#';

/** Names the connection of a server, or that of a session to a server which has one for each. */
export function connectionKey(server: string, { perSession }: McpServerSettings, sessionKey: string): string {
  return perSession === true ? `${server}${BETWEEN}${sessionKey}` : server;
}

function serverOf(key: string): string {
  return key.split(BETWEEN, 1)[0] ?? key;
}

/** A connection that no call uses is closed after this time. */
const IDLE_MS = 5 * 60_000;

interface Connection {
  client: Promise<OpenClient>;
  users: number;
  wasUsed: boolean;
  idle: NodeJS.Timeout | undefined;
  /** Once it is being closed. */
  closing?: Promise<void>;
}

export interface ConnectionParts {
  config: Config;
  servers: Readonly<Record<string, McpServerSettings>>;
  database: Database;
  logger: Logger;
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
  /** The connections that new work gets. */
  readonly #open = new Map<string, Connection>();
  /**
   * All that are not closed: also those that have been replaced, until no work uses them any more.
   */
  readonly #all = new Set<Connection>();
  #isStopped = false;

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
  }

  /**
   * Gives the work a connection, and whether it is the first to use it. Rejects with the reason
   * when there is none, and with that of the signal after an abort.
   */
  async use<Result>(
    key: string,
    { signal, work }: { signal: AbortSignal; work: (client: OpenClient, isNew: boolean) => Promise<Result> },
  ): Promise<Result> {
    const connection = this.#connect(key);
    connection.users += 1;
    // The one that was used last stands last.
    this.#open.delete(key);
    this.#open.set(key, connection);
    clearTimeout(connection.idle);
    try {
      const client = await raceAbort(connection.client, signal);
      const isNew = !connection.wasUsed;
      connection.wasUsed = true;
      return await work(client, isNew);
    } finally {
      connection.users -= 1;
      if (connection.users === 0) this.#closeUnused(key, connection);
    }
  }

  /**
   * After a failure: asks the server whether it answers on its connection, and if not, gives
   * another one to the next work. Answers whether it does. Does not reject.
   */
  async dropIfSilent(key: string): Promise<boolean> {
    const connection = this.#open.get(key);
    const client = await connection?.client.catch(() => undefined);
    if (connection === undefined || client === undefined) return false;
    if (await client.ping()) return true;
    this.#drop(key, connection);
    return false;
  }

  /**
   * The same after a failed call. A server that does not answer is asked for its tools now, so that
   * people see soon that it is away. Does not reject.
   */
  async checkAfterCall(key: string): Promise<void> {
    if (!(await this.dropIfSilent(key))) this.#ask(key, suspectMcpServer);
  }

  /** Closes all, and opens none from now on. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#open.clear();
    await Promise.all([...this.#all].map((connection) => this.#close(connection)));
  }

  #connect(key: string): Connection {
    const known = this.#open.get(key);
    if (known !== undefined) return known;
    const server = serverOf(key);
    const settings = this.#parts.servers[server];
    if (settings === undefined) throw new Error(`no server of the configuration is named ${server}`);
    if (this.#isStopped) throw new Error('the worker is shutting down');
    if (key !== server) this.#makeRoom(server);
    const client = this.#openClient(key, settings);
    const connection: Connection = { client, users: 0, wasUsed: false, idle: undefined };
    this.#open.set(key, connection);
    this.#all.add(connection);
    connection.client.catch(() => this.#drop(key, connection));
    return connection;
  }

  /** Closes the process that has not been used for the longest time, if there are too many. */
  #makeRoom(server: string): void {
    const own = [...this.#open].filter(([key]) => key !== server && serverOf(key) === server);
    if (own.length < OF_SESSIONS_MAX) return;
    const unused = own.find(([, { users }]) => users === 0);
    if (unused === undefined) throw new Error(`${OF_SESSIONS_MAX} sessions use it at once; try again later`);
    this.#drop(...unused);
  }

  async #openClient(key: string, settings: McpServerSettings): Promise<OpenClient> {
    const { openClient } = await import('./open-client.ts');
    const { config, logger, database } = this.#parts;
    const server = serverOf(key);
    const ask = (): void => this.#ask(key, requestMcpList);
    const client = await openClient(
      { config, database, name: server, settings },
      {
        changed: ask,
        closed: () => {
          logger.warn({ server }, 'MCP server has ended its connection; the next call opens another');
          this.#dropClient(key, client);
          ask();
        },
      },
    );
    logger.info({ server, ...client.info }, 'MCP server is connected');
    const { isOn, reason = null, isDecided } = client.info.sandbox ?? {};
    if (reason !== null && isDecided === false)
      logger.warn(
        { server, reason, fix: sandboxStep(reason) },
        isOn === true ? 'MCP server lacks something in the sandbox' : 'MCP server runs outside the sandbox',
      );
    return client;
  }

  /** The list is asked for by the process that claims it. */
  #ask(key: string, mark: (database: Database, server: string) => Promise<unknown>): void {
    const { database } = this.#parts;
    mark(database, serverOf(key)).catch((error: unknown) =>
      database.outages.report(error, 'MCP server could not be marked'),
    );
  }

  /** The next work gets another connection; this one is closed when no work uses it any more. */
  #drop(key: string, connection: Connection): void {
    if (this.#open.get(key) !== connection) return;
    this.#open.delete(key);
    if (connection.users === 0) void this.#close(connection);
  }

  #dropClient(key: string, client: OpenClient): void {
    const connection = this.#open.get(key);
    void connection?.client.then(
      (open) => open === client && this.#drop(key, connection),
      () => undefined,
    );
  }

  #closeUnused(key: string, connection: Connection): void {
    if (this.#open.get(key) !== connection) return void this.#close(connection);
    connection.idle = setTimeout(() => this.#drop(key, connection), IDLE_MS);
    connection.idle.unref();
  }

  /** Work that still uses it is lost. */
  #close(connection: Connection): Promise<void> {
    clearTimeout(connection.idle);
    connection.closing ??= connection.client
      .then((client) => client.close())
      .catch(() => undefined)
      .then(() => void this.#all.delete(connection));
    return connection.closing;
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
