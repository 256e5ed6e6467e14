// An MCP server that notes each execution in a file with its idempotency key, and then answers,
// hangs, ends or cuts the connection, as the input says. Over HTTP, it has a gateway before it.
// With KEEP_EVENTS, a stream that was cut can be resumed. `node counting-server.ts stdio`, or
// `http`: then it prints its address.
import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport, type EventStore } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';
import { faultOf, HUGE, statusAfterRun, wasRun } from './gateway.ts';

const file = process.env['COUNT_FILE'] ?? '';
/** What the next answers are written to, over HTTP. */
const answering = new Set<ServerResponse>();
/** Calls that wait for one with `open`. */
const waiting: (() => void)[] = [];
let isListBroken = false;

function createCountingServer(): McpServer {
  const server = new McpServer({ name: 'counting', version: '1.0.0' });
  const inputSchema = { fault: z.string().default('none') };
  for (const name of ['add', 'put', 'peek']) {
    const annotations = { readOnlyHint: name === 'peek', idempotentHint: name === 'put' };
    const description = `${name} ${process.env['DESCRIPTION'] ?? 'a note'}`;
    server.registerTool(name, { description, inputSchema, annotations }, async ({ fault }, { _meta, signal }) => {
      const key = String(_meta?.['holdfast/idempotencyKey']);
      const isRepeated = wasRun(file, key);
      if (fault === 'die-first' && !wasRun(file, `${key} begun`)) {
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
      if (fault === 'until-open') await new Promise<void>((resolve) => waiting.push(resolve));
      if (fault === 'open') for (const resume of waiting) resume();
      if (fault === 'break-list') isListBroken = true;
      if (fault === 'huge') return { content: [{ type: 'text', text: HUGE }] };
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

/** With it, a client that has lost a stream gets the rest of it by another one. */
function createEventStore(): EventStore {
  const events: { streamId: string; message: Parameters<EventStore['storeEvent']>[1] }[] = [];
  return {
    storeEvent: (streamId, message) => Promise.resolve(String(events.push({ streamId, message }) - 1)),
    async replayEventsAfter(lastId, { send }) {
      const { streamId = '' } = events[Number(lastId)] ?? {};
      for (const [at, event] of events.entries())
        if (at > Number(lastId) && event.streamId === streamId) await send(String(at), event.message);
      return streamId;
    },
  };
}

if (process.argv[2] === 'stdio') {
  process.stdin.on('end', () => process.exit(0));
  await createCountingServer().connect(new StdioServerTransport());
} else {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  /** Answers some messages in place of the server. */
  const answerBefore = (body: unknown, session: string, response: ServerResponse): boolean => {
    const { fault, key } = faultOf(body);
    const [, unknown] = /^forget-(\d+)$/.exec(fault) ?? [];
    if (unknown !== undefined && !wasRun(file, `${key} forgotten`)) {
      sessions.delete(session);
      appendFileSync(file, `${key} forgotten\n`);
      response.writeHead(Number(unknown)).end('Bad Request: No valid session ID provided');
      return true;
    }
    const isList = (body as { method?: string } | undefined)?.method === 'tools/list';
    const status = isList && isListBroken ? 500 : statusAfterRun(file, body);
    if (status !== null) response.writeHead(status).end('from the gateway');
    return status !== null;
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = request.method === 'POST' ? await json(request) : undefined;
    if (answerBefore(body, String(request.headers['mcp-session-id']), response)) return;
    let transport = sessions.get(String(request.headers['mcp-session-id']));
    if (transport === undefined && request.headers['mcp-session-id'] !== undefined) {
      response.writeHead(404).end();
      return;
    }
    if (transport === undefined) {
      const created = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        ...(process.env['KEEP_EVENTS'] === undefined ? {} : { eventStore: createEventStore() }),
        onsessioninitialized: (id) => void sessions.set(id, created),
      });
      await createCountingServer().connect(created);
      transport = created;
    }
    await transport.handleRequest(request, response, body);
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
