// `POST /mcp`: one message of the Model Context Protocol, over streamable HTTP. There are no
// sessions: each message is complete, so any process of the API can answer it. The protocol's
// library is loaded with the first one.
import { z } from 'zod';
import { isOfOtherOrigin } from '../../api/key-ring.ts';
import { Problem } from '../../api/problem.ts';
import { defineRoute, type Route } from '../../api/route.ts';

const postMcp = defineRoute({
  operationId: 'callMcp',
  belongs: 'self',
  method: 'POST',
  path: '/mcp',
  // Each tool needs the role of the route that it performs.
  role: 'viewer',
  // The routes that are performed are.
  isAudited: false,
  isLong: true,
  summary: 'Answer a message of the Model Context Protocol (streamable HTTP): Holdfast as an MCP server',
  body: z.record(z.string(), z.unknown()),
  headers: { 'MCP-Protocol-Version': 'The version of the protocol that the client speaks' },
  answers: {
    200: { description: 'The answer, as JSON or as the only event of a stream', contentType: 'text/event-stream' },
    202: { description: 'A notification was received' },
  },
  async handle(request, api) {
    if (isOfOtherOrigin(request.headers)) {
      throw new Problem('forbidden', 'The request comes from a page of another origin. Call /mcp from a program.');
    }
    const { answerMcp } = await import('./answer-mcp.ts');
    return await answerMcp(request, api);
  },
});

export const routes: Route[] = [postMcp];
