// The least HTTP client that a load generator needs: keep-alive connections, JSON in and out,
// nothing that costs more than the service it measures.
import { Agent, request } from 'node:http';

export interface HttpClient {
  /** Sends a body and returns status and parsed answer; rejects only when there is no answer. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<HttpAnswer>;
  /** Any other request, with a body or without. */
  request(method: string, path: string, body?: object): Promise<HttpAnswer>;
  /** Closes the connections that no request uses. */
  closeIdle(): void;
  close(): void;
}

export interface HttpAnswer {
  status: number;
  body: unknown;
}

/** Opens a client of one service; at most `socketsMax` requests are in flight. */
export function openHttpClient(baseUrl: string, apiKey: string, socketsMax: number): HttpClient {
  const agent = new Agent({ keepAlive: true, maxSockets: socketsMax });
  const { hostname, port } = new URL(baseUrl);
  const ask = (method: string, path: string, text: string, headers: Record<string, string>): Promise<HttpAnswer> =>
    new Promise((resolve, reject) => {
      const outgoing = request(
        {
          agent,
          hostname,
          port,
          method,
          path,
          headers: {
            authorization: `Bearer ${apiKey}`,
            ...(text === '' ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
            ...headers,
          },
        },
        (incoming) => {
          const chunks: Buffer[] = [];
          incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
          incoming.on('error', reject);
          incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, body: parsed(Buffer.concat(chunks)) }));
        },
      );
      outgoing.on('error', reject);
      outgoing.end(text);
    });
  return {
    post: (path, body, headers = {}) => ask('POST', path, JSON.stringify(body), headers),
    request: (method, path, body) => ask(method, path, body === undefined ? '' : JSON.stringify(body), {}),
    closeIdle() {
      for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
    },
    close: () => agent.destroy(),
  };
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString()) as unknown;
  } catch {
    return bytes.toString();
  }
}
