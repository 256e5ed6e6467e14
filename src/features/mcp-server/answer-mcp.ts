// Answers one message of the protocol, of either era, by the protocol's library. This file alone
// knows the library, and is loaded when a client first calls.
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import {
  createMcpHandler,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type CallToolResult,
  type Tool,
} from '@modelcontextprotocol/server';
import type { Answer } from '../../api/answer.ts';
import type { AnyRequest, Api } from '../../api/route.ts';
import { holdfastVersion } from '../../cli/holdfast-version.ts';
import { cutHead } from '../../core/text.ts';
import { callTool } from './call-tool.ts';
import { listTools, mayCall, type RouteTool } from './tools.ts';

const INSTRUCTIONS =
  'Holdfast runs LLM agents durably. A session is one conversation with an agent, found by its key. Send with an idempotencyKey, and send again with ' +
  'the same one if no answer arrives: nothing happens twice. A reply that was not waited for is read with read_session.';
const NAME_CHARS_MAX = 100;

/** The headers of a message that mean something to the protocol. */
const PROTOCOL_HEADER = /^(?:accept|content-type|mcp-[\w-]+)$/;

export async function answerMcp(request: AnyRequest, api: Api): Promise<Answer> {
  const gone = new AbortController();
  request.reply.raw.once('close', () => gone.abort());
  const { fetch } = createMcpHandler(() => createServer(request, api), {
    onerror: (error) => api.context.logger.debug({ err: error }, 'MCP message was refused'),
  });
  const headers = Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' && PROTOCOL_HEADER.test(name) ? [[name, value]] : [],
  );
  const message = new Request('http://localhost/mcp', { method: 'POST', headers, signal: gone.signal });
  // The body is that which the API has read and bounded.
  return await toAnswer(await fetch(message, { parsedBody: request.body }));
}

function createServer(request: AnyRequest, api: Api): Server {
  const server = new Server(
    { name: 'holdfast', version: holdfastVersion() },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  );
  const tools = listTools(api.routes);
  server.setRequestHandler('tools/list', () => ({
    tools: tools.filter((tool) => mayCall(tool, request.principal.role)).map(describeTool),
  }));
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }): Promise<CallToolResult> => {
    const tool = tools.find(({ name }) => name === params.name);
    if (tool === undefined) {
      const names = tools.map(({ name }) => name).join(', ');
      const said = JSON.stringify(cutHead(params.name, NAME_CHARS_MAX));
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool ${said}. Tools: ${names}.`);
    }
    return await callTool(tool, { given: params.arguments ?? {}, meta: mcpReq._meta ?? {} }, { request, api });
  });
  return server;
}

function describeTool({ name, description, inputSchema, route }: RouteTool): Tool {
  const annotations = route.method === 'GET' ? { readOnlyHint: true } : { readOnlyHint: false, destructiveHint: false };
  // Zod writes nothing but JSON.
  return { name, description, inputSchema: inputSchema as Tool['inputSchema'], annotations };
}

async function toAnswer(response: Response): Promise<Answer> {
  const headers = Object.fromEntries(response.headers);
  const { status, body } = response;
  if (headers['content-type']?.startsWith('text/event-stream') !== true) {
    return { status, headers, body: body === null ? undefined : await response.text() };
  }
  return { status, headers, body: Readable.fromWeb(body as ReadableStream) };
}
