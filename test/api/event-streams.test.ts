// What waits for the clients of all event streams together is bounded, and the slowest of them is
// cut off first (G28). Real responses to clients that do not read; only the log of events is the
// test's.
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { sendEvents } from '../../src/api/routes/events.ts';
import { EventStreams } from '../../src/api/sse.ts';
import type { EventTail, LiveEvent, Subscriber } from '../../src/api/event-tail.ts';
import type { EventRow } from '../../src/kernel/views/events.ts';

const KB = 1024;
const UNSENT_BYTES_MAX = 1000 * KB;

/** A client that asked for a stream and reads nothing, with the stream and what hands it events. */
interface Client {
  response: ServerResponse;
  give(bytes: number): void;
}

async function openClients(streams: EventStreams, count: number): Promise<Client[]> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sockets: Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
    server.closeAllConnections();
  });
  const clients: Client[] = [];
  for (let n = 0; n < count; n += 1) {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
    socket.pause();
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    sockets.push(socket);
    const [, response] = (await once(server, 'request')) as [unknown, ServerResponse];
    clients.push(await follow(streams, response));
  }
  return clients;
}

async function follow(streams: EventStreams, response: ServerResponse): Promise<Client> {
  const attached = Promise.withResolvers<Subscriber>();
  const tail = {
    position: 0n,
    attach: (subscriber: Subscriber) => {
      attached.resolve(subscriber);
      return true;
    },
    detach: () => undefined,
  } as unknown as EventTail;
  const stream = sendEvents({
    response,
    tail,
    after: 0n,
    read: async () => ({ events: [], horizon: 1n }),
    isWanted: () => true,
    isLast: () => false,
    isFollowing: true,
  });
  void streams.run(stream);
  const subscriber = await attached.promise;
  let id = 0n;
  return {
    response,
    give(bytes) {
      id += 1n;
      const event = { id } as EventRow;
      subscriber.take([{ event, frame: 'x'.repeat(bytes) } satisfies LiveEvent]);
    },
  };
}

/** Gives a client events until so much waits for it: first the kernel takes what it can hold. */
async function fill(client: Client, bytes: number): Promise<void> {
  while (client.response.writableLength < 64 * KB) {
    client.give(64 * KB);
    await new Promise((resolve) => setImmediate(resolve));
  }
  client.give(bytes - client.response.writableLength);
}

test('over the bound of all clients together, the one with the most waiting is cut off, and the others stay', async () => {
  const streams = new EventStreams(10, UNSENT_BYTES_MAX);
  const [slow, slowest, slower] = (await openClients(streams, 3)) as [Client, Client, Client];
  await fill(slow, 200 * KB);
  await fill(slowest, 400 * KB);
  await fill(slower, 300 * KB);
  expect([slow, slowest, slower].map(({ response }) => response.destroyed)).toEqual([false, false, false]);
  slow.give(150 * KB);
  expect([slow, slowest, slower].map(({ response }) => response.destroyed)).toEqual([false, true, false]);
});
