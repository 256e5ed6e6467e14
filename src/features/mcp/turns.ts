// The tools of MCP servers in turns. A turn opens with the rows of its agent's servers, whether
// they can be reached or not; one statement says whether the tools that this process has read are
// still those.
import type { Config, McpServerSettings } from '../../config.ts';
import type { TurnFeature, TurnParts } from '../../kernel/turn/context.ts';
import type { ChangingTools } from '../../tools/toolset.ts';
import type { Tool } from '../../tools/tool.ts';
import { connectionsOf, type Connections } from './connections.ts';
import { createFindAndCall } from './find-and-call.ts';
import { createMcpTool } from './mcp-tool.ts';
import { createNodesTool } from './nodes.ts';
import { judgeTools } from './rules.ts';
import { tasksInTurns } from './tasks.ts';
import { readMcpLists, readMcpStates, readMcpVersions, type StoredList } from './store/servers.ts';

export function mcpInTurns({ config, database, logger }: TurnParts): TurnFeature {
  const servers = enabledServers(config);
  if (Object.keys(servers).length === 0) return {};
  const connections = connectionsOf({ config, servers, database, logger });
  const known = new Map<string, StoredList>();

  /** The lists of servers as they are stored now. */
  async function readLists(names: readonly string[]): Promise<StoredList[]> {
    const versions = await readMcpVersions(database, names);
    const changed = versions
      .filter(({ name, version }) => known.get(name)?.version !== version)
      .map(({ name }) => name);
    if (changed.length > 0) for (const list of await readMcpLists(database, changed)) known.set(list.name, list);
    return versions.flatMap(({ name }) => known.get(name) ?? []);
  }

  return {
    ...tasksInTurns({ database, connections }),
    async tools(agentId) {
      const names = serversOf(servers, agentId);
      if (names.length === 0) return null;
      const lists = (await readLists(names)).toSorted((a, b) => (a.name < b.name ? -1 : 1));
      return {
        version: JSON.stringify(lists.map(({ name, version }) => [name, version])),
        choose: (rules) => chooseTools(config, { lists, connections, database, rules }),
      };
    },
  };
}

export function enabledServers({ mcp }: Pick<Config, 'mcp'>): Record<string, McpServerSettings> {
  return Object.fromEntries(Object.entries(mcp.servers).filter(([, { enabled }]) => enabled));
}

/** The names of the servers whose tools an agent has. */
function serversOf(servers: Readonly<Record<string, McpServerSettings>>, agentId: string): string[] {
  return Object.entries(servers).flatMap(([name, { agents }]) => ((agents?.includes(agentId) ?? true) ? [name] : []));
}

function chooseTools(
  { mcp }: Pick<Config, 'mcp'>,
  parts: {
    lists: readonly StoredList[];
    connections: Connections;
    database: TurnParts['database'];
    rules: Parameters<ChangingTools['choose']>[0];
  },
): Tool[] {
  const { lists, connections, database, rules } = parts;
  const callable = lists.flatMap(({ name, tools }) => {
    const settings = mcp.servers[name];
    if (settings === undefined) return [];
    return judgeTools(name, settings, tools)
      .filter(({ leftOut }) => leftOut === null)
      .map((tool) => ({ ...tool, tool: createMcpTool(tool, settings, connections) }))
      .filter(({ tool, offeredAs }) => rules.isAllowed(tool) && !rules.isTaken(offeredAs));
  });
  const isOfNode = ({ server }: { server: string }): boolean => mcp.servers[server]?.node === true;
  const ofNodes = callable.filter(isOfNode);
  const nodes =
    ofNodes.length === 0 ? [] : [createNodesTool(ofNodes, async (names) => await readMcpStates(database, names))];
  const others = callable.filter((each) => !isOfNode(each));
  return [
    ...nodes.filter((tool) => rules.isAllowed(tool) && !rules.isTaken(tool.spec.name)),
    ...(others.length > mcp.toolsMax ? createFindAndCall(others) : others.map(({ tool }) => tool)),
  ];
}
