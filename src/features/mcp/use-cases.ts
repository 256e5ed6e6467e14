// What people may have done with MCP servers.
import { pause } from '../../clock.ts';
import type { McpServerView } from '../../contract/mcp.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { requestMcpList } from './store/servers.ts';
import { listServers } from './views.ts';

/**
 * The longest that a probe waits for a worker to have asked the server, and the time between two
 * checks.
 */
export const PROBE_MS = 40_000;
const CHECK_MS = 100;

/** Has a worker ask a server; null: none has. */
export async function probeServer({ config, database, views }: Service, server: string): Promise<McpServerView | null> {
  const at = await requestMcpList(database, server);
  for (let waitedMs = 0; at !== null && waitedMs < PROBE_MS; waitedMs += CHECK_MS) {
    await pause(CHECK_MS);
    const found = (await listServers(config, views)).find(({ name }) => name === server);
    if (found?.checkedAt !== null && found !== undefined && Date.parse(found.checkedAt) >= at.getTime()) return found;
  }
  return null;
}
