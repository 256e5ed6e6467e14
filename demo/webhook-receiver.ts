// Receives the replies of the demo: a small HTTP server on loopback that records them.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface WebhookReceiver {
  url: string;
  /** The received deliveries, in order: the id that identifies a repeat, and the body. */
  readonly received: readonly ReceivedDelivery[];
  close(): Promise<void>;
}

export interface ReceivedDelivery {
  id: string;
  body: unknown;
}

/** Listens on any free port. */
export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const received: ReceivedDelivery[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      received.push({ id: String(request.headers['webhook-id']), body: JSON.parse(body) });
      response.writeHead(204).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // It listens on a port.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/replies`,
    received,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
