// The lists of tools of MCP servers in a worker: one of all workers asks a server that is due, when
// workers start, when the server reports a change, when a person asks, and every so often. What it
// answers is stored; a server that does not answer keeps the tools that it had.
import { createHash } from 'node:crypto';
import type { McpServerSettings } from '../../config.ts';
import type { Process, ProcessPart } from '../../kernel/process-part.ts';
import { canonicalJson } from '../../core/json.ts';
import { cutHead, storableText } from '../../core/text.ts';
import { connectionsOf, type Connections } from './connections.ts';
import { cancelLeftTasks } from './tasks.ts';
import {
  claimDueMcpServers,
  HAS_DUE_SERVERS_SQL,
  noteMcpServers,
  readMcpVersions,
  releaseMcpServer,
  storeMcpLoss,
  storeMcpTools,
} from './store/servers.ts';
import { HAS_LEFT_TASKS_SQL } from './store/tasks.ts';
import { enabledServers } from './turns.ts';

/**
 * A server that runs elsewhere may change at any time; one that is a process of the worker hardly
 * does.
 */
const EVERY_MS = { http: 10 * 60_000, stdio: 60 * 60_000 };
const PAUSE_MS = { first: 0, min: 200, max: 1_000 };
/** A worker that starts waits so long for the tools of servers that were never listed. */
const FIRST_MS = 10_000;
const ERROR_CHARS_MAX = 1_000;

type Asking = Pick<Process, 'logger'> & {
  servers: Readonly<Record<string, McpServerSettings>>;
  database: Process['service']['database'];
  connections: Connections;
};

export async function openMcp({ service, logger }: Pick<Process, 'service' | 'logger'>): Promise<ProcessPart> {
  const { config, database } = service;
  const servers = enabledServers(config);
  const names = Object.keys(servers);
  if (names.length === 0) return {};
  const connections = connectionsOf({ config, servers, database, logger });
  const asking = { servers, database, connections, logger };
  await noteMcpServers(database, names);
  const stopped = new AbortController();
  const first = askDueServers(asking, stopped.signal);
  first.catch(() => undefined);
  const listed = await readMcpVersions(database, names);
  if (listed.length < names.length)
    await Promise.race([first, new Promise((resolve) => setTimeout(resolve, FIRST_MS).unref())]);
  return {
    rounds: [
      {
        work: { sql: HAS_DUE_SERVERS_SQL, values: () => ({ names }) },
        round: (signal) => askDueServers(asking, signal),
        pauseMs: PAUSE_MS,
        failure: 'MCP servers could not be asked for their tools; the next round retries',
      },
      {
        work: { sql: HAS_LEFT_TASKS_SQL, values: () => ({ servers: names }) },
        round: (signal) => cancelLeftTasks({ database, connections, servers: names }, signal),
        pauseMs: { first: 1_000, min: 1_000, max: 5_000 },
        failure: 'Tasks of MCP servers could not be cancelled; the next round retries',
      },
    ],
    async stop() {
      stopped.abort();
      await connections.stop();
      await first.catch(() => undefined);
    },
  };
}

/** One round; answers whether a server was due. */
export async function askDueServers(asking: Asking, signal: AbortSignal): Promise<boolean> {
  const due = await claimDueMcpServers(
    asking.database,
    Object.entries(asking.servers).map(([name, { command }]) => ({
      name,
      everyMs: command === undefined ? EVERY_MS.http : EVERY_MS.stdio,
    })),
  );
  await Promise.all(due.map((name) => askServer(asking, name, signal)));
  return due.length > 0;
}

async function askServer({ database, connections, logger }: Asking, name: string, signal: AbortSignal): Promise<void> {
  try {
    const { info, tools } = await connections.use(name, {
      signal,
      work: async (client) => ({ info: client.info, tools: await client.listTools() }),
    });
    const hashed = tools.map((tool) => ({ ...tool, sha256: hash(tool.definition) }));
    await storeMcpTools(database, {
      name,
      info,
      tools: hashed,
      sha256: hash(Object.fromEntries(hashed.map((tool) => [tool.name, tool.sha256]))),
    });
  } catch (error) {
    if (signal.aborted) return await releaseMcpServer(database, name);
    void connections.dropIfSilent(name);
    const reason = cutHead(storableText(error instanceof Error ? error.message : String(error)), ERROR_CHARS_MAX);
    logger.warn({ err: error, server: name }, 'MCP server cannot be reached; its tools stay as they were');
    await storeMcpLoss(database, { name, error: reason });
  }
}

function hash(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}
