// An MCP server of the newer line of the protocol's library, which notes the key of each call in a
// file. `node modern-server.ts stdio`, or `http`: then it prints its port. Its tool `grow` gives it
// one more tool.
import { appendFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { HUGE, statusAfterRun } from './gateway.ts';

const file = process.env['COUNT_FILE'] ?? '';
const TINY_PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAACXBIWXMAAAPoAAAD6AG1e1JrAAAAEElEQVQI12P4z8AARAwQCgAf7gP9QDZ6TgAAAABJRU5ErkJggg==';

function createModernServer(): McpServer {
  const server = new McpServer({ name: 'modern', version: '2.0.0' });
  server.registerTool(
    'ask',
    { description: 'asks', inputSchema: z.object({ fault: z.string().default('none') }) },
    ({ fault }, { mcpReq }) => {
      appendFileSync(file, `${String(mcpReq._meta?.['holdfast/idempotencyKey'])}\n`);
      if (fault === 'die') process.kill(process.pid, 'SIGKILL');
      return { content: [{ type: 'text', text: fault === 'huge' ? HUGE : 'asked' }] };
    },
  );
  // What the everything server of the earlier line has.
  const reads = { readOnlyHint: true };
  server.registerTool(
    'echo',
    { description: 'echoes', inputSchema: z.object({ message: z.string() }), annotations: reads },
    ({ message }) => ({ content: [{ type: 'text', text: `Echo: ${message}` }] }),
  );
  server.registerTool('get-tiny-image', { description: 'an image', inputSchema: z.object({}) }, () => ({
    content: [{ type: 'image', mimeType: 'image/png', data: TINY_PNG }],
  }));
  server.registerTool('get-resource-reference', { description: 'a resource', inputSchema: z.object({}) }, () => ({
    content: [{ type: 'resource', resource: { uri: 'demo://resource/1', mimeType: 'text/plain', text: 'text' } }],
  }));
  const weather = z.object({ temperature: z.number() });
  server.registerTool(
    'get-structured-content',
    { description: 'an object', inputSchema: z.object({ location: z.string() }), outputSchema: weather },
    () => ({ content: [], structuredContent: { temperature: 33 } }),
  );
  server.registerTool(
    'get-sum',
    { description: 'adds', inputSchema: z.object({ a: z.number(), b: z.number() }) },
    ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }] }),
  );
  server.registerTool('grow', { description: 'grows', inputSchema: z.object({}) }, () => {
    server.registerTool('grown', { description: 'is new', inputSchema: z.object({}) }, () => ({ content: [] }));
    return { content: [{ type: 'text', text: 'grown' }] };
  });
  return server;
}

async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { fetch } = handler;
  const body = incoming.method === 'POST' ? await text(incoming) : null;
  const status = body === null ? null : statusAfterRun(file, JSON.parse(body));
  if (status !== null) return void outgoing.writeHead(status).end('from the gateway');
  const headers = new Headers(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]));
  const response = await fetch(
    new Request(`http://127.0.0.1${incoming.url}`, { method: incoming.method ?? 'GET', headers, body }),
  );
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) outgoing.end();
  else Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0]).pipe(outgoing);
}

const handler = createMcpHandler(createModernServer);
if (process.argv[2] === 'stdio') {
  process.stdin.on('end', () => process.exit(0));
  serveStdio(createModernServer);
} else {
  const http = createServer((incoming, outgoing) => void answer(incoming, outgoing));
  http.listen(Number(process.argv[3] ?? 0), '127.0.0.1', () => {
    process.stdout.write(`${(http.address() as { port: number }).port}\n`);
  });
}
