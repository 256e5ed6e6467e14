// Clients of the protocol's libraries, of both lines, at the MCP server of an API rig.
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as EarlierTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { onTestFinished } from 'vitest';

/** A result of a tool, in the words of both libraries. */
export interface ToolResult {
  content: { type: string; text: string }[];
  // Answers of every route.
  structuredContent: any; // oxlint-disable-line typescript/no-explicit-any
  isError?: boolean;
  _meta?: Record<string, unknown>;
}

export interface TestClient {
  protocol: () => string | undefined;
  listTools: () => Promise<{ name: string; description?: string; inputSchema: object; annotations?: object }[]>;
  call: (name: string, input?: object, meta?: object) => Promise<ToolResult>;
}

const CLIENT = { name: 'test', version: '1.0.0' };

/**
 * Connects as a client of this kind, closed with the test. `2026`: the newer protocol; `2025`: the
 * earlier one; `sdk`: the earlier line of the library.
 */
export async function connect(kind: '2026' | '2025' | 'sdk', url: string, key: string): Promise<TestClient> {
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  if (kind === 'sdk') {
    const client = new EarlierClient(CLIENT);
    // The earlier library's own types of its transport do not fit with exact optional fields.
    await client.connect(
      new EarlierTransport(new URL(url), { requestInit }) as Parameters<EarlierClient['connect']>[0],
    );
    onTestFinished(() => client.close());
    return {
      protocol: () => undefined,
      listTools: async () => (await client.listTools()).tools as Awaited<ReturnType<TestClient['listTools']>>,
      call: async (name, input = {}, meta = {}) =>
        (await client.callTool({ name, arguments: { ...input }, _meta: { ...meta } })) as unknown as ToolResult,
    };
  }
  const negotiation = kind === '2026' ? { versionNegotiation: { mode: 'auto' as const } } : {};
  const client = new ModernClient(CLIENT, negotiation);
  await client.connect(new ModernTransport(new URL(url), { requestInit }));
  onTestFinished(() => client.close());
  return {
    protocol: () => client.getNegotiatedProtocolVersion(),
    listTools: async () => (await client.listTools()).tools as Awaited<ReturnType<TestClient['listTools']>>,
    call: async (name, input = {}, meta = {}) =>
      (await client.callTool({ name, arguments: { ...input }, _meta: { ...meta } })) as unknown as ToolResult,
  };
}
