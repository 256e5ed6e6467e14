// A receiver of replies: a server that records each webhook that reached it, and answers when and
// how the test says. It can be stopped and started again on the same port.
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

export interface ReceivedWebhook {
  headers: IncomingHttpHeaders;
  rawBody: string;
  body: { text: string; deliveryId: string; messageIds: string[]; sessionKey: string; turnId: string };
}

export interface WebhookReceiver {
  url: string;
  received: ReceivedWebhook[];
  /** Holds back all answers until the returned function is called. */
  hold(): () => void;
  /** The status of its answers from now on. */
  answer(status: number): void;
  /** Refuses connections until `up`. */
  down(): Promise<void>;
  up(): Promise<void>;
  close(): Promise<void>;
}

/** Starts on a free loopback port. */
export async function startReceiver({ answerAfterMs = 0 } = {}): Promise<WebhookReceiver> {
  const received: ReceivedWebhook[] = [];
  let held: Promise<void> = Promise.resolve();
  let status = 200;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const rawBody = Buffer.concat(chunks).toString();
      received.push({ headers: request.headers, rawBody, body: JSON.parse(rawBody) as ReceivedWebhook['body'] });
      void held
        .then(() => (answerAfterMs > 0 ? delay(answerAfterMs) : undefined))
        .then(() => response.writeHead(status).end());
    });
  });
  await listen(server, 0);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/replies`,
    received,
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return resolve;
    },
    answer: (next) => void (status = next),
    down: () => stop(server),
    up: () => listen(server, port),
    close: () => stop(server),
  };
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
}

async function stop(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}
