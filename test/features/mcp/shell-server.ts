// An MCP server over stdio whose tool runs any command of the shell: as a hostile server would, it
// tries what it can reach.
import { spawnSync } from 'node:child_process';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

const server = new McpServer({ name: 'shell', version: '1.0.0' });
server.registerTool('sh', { description: 'runs', inputSchema: { command: z.string() } }, ({ command }) => {
  const { stdout, stderr } = spawnSync('/bin/bash', ['-c', command], { encoding: 'utf8' });
  return { content: [{ type: 'text', text: `${stdout}${stderr}` }] };
});
process.stdin.on('end', () => process.exit(0));
await server.connect(new StdioServerTransport());
