// Serves `/metrics` and `/healthz` in a process without the API: the metrics of the process,
// without a key and without a query.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';

export interface MetricsServer {
  /** Where it listens. */
  url: string;
  close(): Promise<void>;
}

/** Rejects when it cannot listen. Port 0: any free one. */
export async function startMetricsServer(
  registry: Registry,
  address: { host: string; port: number },
): Promise<MetricsServer> {
  const server = createServer((request, response) => {
    answer(registry, request, response).catch(() => response.writeHead(500).end());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(address, resolve);
  });
  const { port } = server.address() as AddressInfo;
  const host = address.host.includes(':') ? `[${address.host}]` : address.host;
  return {
    url: `http://${host}:${port}/metrics`,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(
  registry: Registry,
  { method, url = '/' }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = url.split('?', 1)[0];
  if (method !== 'GET') return void response.writeHead(405, { allow: 'GET' }).end();
  if (path === '/healthz') {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"status":"ok"}');
  } else if (path === '/metrics') {
    response.writeHead(200, { 'content-type': registry.contentType }).end(await registry.metrics());
  } else {
    response.writeHead(404).end();
  }
}
