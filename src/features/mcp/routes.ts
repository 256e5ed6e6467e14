// MCP servers.
import { z } from 'zod';
import * as schemas from '../../contract/mcp.ts';
import { noFields, defineRead, defineRoute, type Api, type Route } from '../../api/route.ts';
import { conflict, notFound, type Problem } from '../../api/problem.ts';
import { PROBE_MS, probeServer } from './use-cases.ts';
import { listServers, listTools } from './views.ts';

const getServers = defineRead({
  operationId: 'listMcpServers',
  belongs: 'service',
  path: '/v1/mcp/servers',
  summary: 'The MCP servers of the configuration, with how they answered last',
  query: z.strictObject({}),
  shows: { description: 'All servers', schema: schemas.mcpServers },
  read: async (_request, { context }) => ({
    items: await listServers(context.config, context.reads),
    nextCursor: null,
  }),
});

const getTools = defineRead({
  operationId: 'listMcpTools',
  belongs: 'service',
  path: '/v1/mcp/servers/{server}/tools',
  summary: 'The tools of an MCP server, with what has changed in their descriptions',
  query: z.strictObject({}),
  shows: { description: 'All of its tools', schema: schemas.mcpTools },
  async read({ params: { server } }, { context }) {
    const items = await listTools(context.config, context.reads, server);
    if (items === null) throw unknown(server);
    return { items, nextCursor: null };
  },
});

const postProbe = defineRoute({
  operationId: 'probeMcpServer',
  belongs: 'service',
  method: 'POST',
  path: '/v1/mcp/servers/{server}/probe',
  summary: 'Have a worker ask an MCP server for its tools now, and answer with how that ended',
  isLong: true,
  body: noFields,
  answers: {
    200: { description: 'How it ended', schema: schemas.mcpProbe },
    409: { description: 'The server is switched off, or no worker has asked it' },
  },
  async handle({ params: { server } }, api) {
    return { status: 200, body: await probe(server, api) };
  },
});

async function probe(server: string, { context }: Api): Promise<schemas.McpProbe> {
  const { mcp } = context.config;
  const settings = Object.hasOwn(mcp.servers, server) ? mcp.servers[server] : undefined;
  if (settings === undefined) throw unknown(server);
  if (!settings.enabled)
    throw conflict(`The MCP server ${server} is switched off: set mcp.servers.${server}.enabled to true.`);
  const asked = await probeServer(context.service, server);
  if (asked === null)
    throw conflict(
      `No worker has asked the MCP server ${server} within ${PROBE_MS / 1000} s. Start a worker with this configuration, then try again.`,
    );
  const { state, error, toolCount, serverName, serverVersion, protocol } = asked;
  return { state, error, toolCount, serverName, serverVersion, protocol };
}

function unknown(server: string): Problem {
  return notFound(`MCP server ${server}. GET /v1/mcp/servers lists those of the configuration`);
}

export const routes: Route[] = [getServers, getTools, postProbe];
