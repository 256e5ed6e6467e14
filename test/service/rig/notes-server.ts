// An MCP server with notes that others have written: it reads them, deletes them and publishes
// them, and appends what it has done to a file. `node notes-server.ts <folder>`.
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

const folder = process.argv[2] ?? '';
const server = new McpServer({ name: 'notes', version: '1.0.0' });
const inputSchema = { name: z.string() };
const answer = (text: string) => ({ content: [{ type: 'text' as const, text }] });

server.registerTool('read', { description: 'Read a note', inputSchema }, ({ name }) =>
  answer(readFileSync(join(folder, name), 'utf8')),
);
for (const name of ['delete', 'publish']) {
  server.registerTool(name, { description: `${name} a note`, inputSchema }, (input) => {
    appendFileSync(join(folder, 'done'), `${name} ${input.name}\n`);
    return answer(`${name}: done`);
  });
}
await server.connect(new StdioServerTransport());
