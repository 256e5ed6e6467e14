// Holdfast as an MCP server: `POST /mcp` performs routes of the API as tools, for clients that
// speak the Model Context Protocol.
import type { Feature } from '../../kernel/features.ts';

export const mcpServer: Feature = {
  name: 'mcp-server',
  routes: [() => import('./routes.ts')],
};
