// An MCP server that writes the messages that a test sets, in any form: over HTTP in this process,
// or as one of its own with `node odd-server.ts`, which reads the same from `ODD`. In a text that
// it answers with, `$ID` is the id of the request.
import { appendFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text as toText } from 'node:stream/consumers';

export interface OddAnswer {
  text: string;
  status?: number;
  type?: string;
}

export interface OddServer {
  /** The result of `tools/list`, as JSON. */
  list: string;
  /** The answers to calls, by tool. */
  answers: Record<string, OddAnswer>;
  /** Over HTTP: true when it has sessions. */
  hasSessions?: boolean;
  /** What it says of itself. */
  server?: string;
}

interface Message {
  id?: number;
  method: string;
  params?: { name?: string; arguments?: unknown; _meta?: Record<string, unknown> };
}

const SERVER = '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"odd","version":"1"}}';

/** Null: nothing is answered. */
function answerOf(odd: OddServer, { id, method, params }: Message, ran: (key: string) => void): OddAnswer | null {
  if (id === undefined) return null;
  const result = (json: string): OddAnswer => ({ text: `{"jsonrpc":"2.0","id":$ID,"result":${json}}` });
  switch (method) {
    case 'initialize':
      return result(odd.server ?? SERVER);
    case 'tools/list':
      return result(odd.list);
    case 'tools/call':
      ran(String(params?._meta?.['holdfast/idempotencyKey']));
      return odd.answers[params?.name ?? ''] ?? result('{"content":[{"type":"text","text":"plain"}]}');
    case 'ping':
      return result('{}');
    default:
      return { text: '{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"Method not found"}}' };
  }
}

/** Over HTTP. `odd` may be changed while it runs. */
export async function serveOdd(odd: OddServer) {
  /** The keys of the calls that it has run, as often as it did. */
  const runs: string[] = [];
  /** What calls gave it. */
  const inputs: unknown[] = [];
  const sessions = new Set<string>();
  let begun = 0;
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const message = JSON.parse(await toText(request)) as Message;
    const session = request.headers['mcp-session-id'];
    if (odd.hasSessions === true && message.method === 'initialize') {
      begun += 1;
      sessions.add(`session-${begun}`);
      response.setHeader('mcp-session-id', `session-${begun}`);
    } else if (session !== undefined && !sessions.has(String(session))) {
      const error = { code: -32_001, message: 'Session not found' };
      const body = JSON.stringify({ jsonrpc: '2.0', error, id: null });
      return void response.setHeader('content-type', 'application/json').end(body);
    }
    if (message.method === 'tools/call') inputs.push(message.params?.arguments);
    const said = answerOf(odd, message, (key) => runs.push(key));
    if (said === null) return void response.writeHead(202).end();
    const { status = 200, type = 'application/json', text } = said;
    response
      .writeHead(status, type === '' ? {} : { 'content-type': type })
      .end(text.replaceAll('$ID', JSON.stringify(message.id)));
  }
  const http = createServer((request, response) => void answer(request, response));
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  return {
    odd,
    runs,
    inputs,
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    forgetSessions: () => sessions.clear(),
    close() {
      http.closeAllConnections();
      http.close();
    },
  };
}

if (process.argv[1] === import.meta.filename) {
  const odd = JSON.parse(process.env['ODD'] ?? '{}') as OddServer;
  createInterface({ input: process.stdin }).on('line', (line) => {
    const message = JSON.parse(line) as Message;
    const said = answerOf(odd, message, (key) => appendFileSync(process.env['COUNT_FILE'] ?? '', `${key}\n`));
    if (said !== null) process.stdout.write(`${said.text.replaceAll('$ID', JSON.stringify(message.id))}\n`);
  });
}
