// An MCP server that notes each execution in a file with its idempotency key, and then answers, hangs, ends or cuts the connection, as the input says.
// `node counting-server.ts stdio`, or `http`: then it prints its address.
import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';

const file = process.env['COUNT_FILE'] ?? '';
/** What the next answers are written to, over HTTP. */
const answering = new Set<ServerResponse>();

function wasRun(key: string): boolean {
  return existsSync(file) && readFileSync(file, 'utf8').split('\n').includes(key);
}

function createCountingServer(): McpServer {
  const server = new McpServer({ name: 'counting', version: '1.0.0' });
  const inputSchema = { fault: z.enum(['none', 'hang', 'die', 'cut', 'die-first', 'wait']).default('none') };
  for (const name of ['add', 'put', 'peek']) {
    const annotations = { readOnlyHint: name === 'peek', idempotentHint: name === 'put' };
    const description = `${name} ${process.env['DESCRIPTION'] ?? 'a note'}`;
    server.registerTool(name, { description, inputSchema, annotations }, async ({ fault }, { _meta, signal }) => {
      const key = String(_meta?.['holdfast/idempotencyKey']);
      const isRepeated = wasRun(key);
      if (fault === 'die-first' && !wasRun(`${key} begun`)) {
        appendFileSync(file, `${key} begun\n`);
        process.kill(process.pid, 'SIGKILL');
      }
      // `put` is idempotent: it does the same thing once.
      if (name !== 'put' || !isRepeated) appendFileSync(file, `${key}\n`);
      // A fault happens once; the call that is sent again is answered.
      if (!isRepeated && fault === 'die') process.kill(process.pid, 'SIGKILL');
      if (!isRepeated && fault === 'cut') for (const response of answering) response.destroy();
      // Long enough for a worker to be killed meanwhile.
      if (!isRepeated && fault === 'wait') await new Promise((resolve) => setTimeout(resolve, 60_000, null));
      if (fault === 'hang')
        await new Promise((resolve) =>
          signal.addEventListener('abort', () => resolve(appendFileSync(file, `${key} cancelled\n`))),
        );
      return { content: [{ type: 'text', text: `${name} ${fault}` }] };
    });
  }
  server.registerTool('env', { description: 'the environment' }, () => ({
    content: [{ type: 'text', text: JSON.stringify(process.env) }],
  }));
  return server;
}

if (process.argv[2] === 'stdio') {
  process.stdin.on('end', () => process.exit(0));
  await createCountingServer().connect(new StdioServerTransport());
} else {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let transport = sessions.get(String(request.headers['mcp-session-id']));
    if (transport === undefined && request.headers['mcp-session-id'] !== undefined) {
      response.writeHead(404).end();
      return;
    }
    if (transport === undefined) {
      const created = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => void sessions.set(id, created),
      });
      await createCountingServer().connect(created);
      transport = created;
    }
    await transport.handleRequest(request, response);
  };
  const http = createServer((request, response) => {
    answering.add(response);
    response.on('close', () => answering.delete(response));
    void answer(request, response);
  });
  http.listen(Number(process.argv[3] ?? 0), '127.0.0.1', () => {
    process.stdout.write(`${(http.address() as { port: number }).port}\n`);
  });
}
