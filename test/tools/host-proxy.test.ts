// The proxy of sandboxes with real sockets: what happens when one of the two sides does not go on.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { HostProxy } from '../../src/tools/sandbox/host-proxy.ts';

/**
 * A server whose queue of connections is full, so that a further one is neither accepted nor
 * refused: its thread sleeps.
 */
const SLEEPING_SERVER = `
  const server = require('node:net').createServer().listen({ host: '127.0.0.1', port: 0, backlog: 1 }, () => {
    require('node:worker_threads').parentPort.postMessage(server.address().port);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });`;

async function openFullServer(): Promise<number> {
  const worker = new Worker(SLEEPING_SERVER, { eval: true });
  onTestFinished(async () => void (await worker.terminate()));
  const [port] = (await once(worker, 'message')) as [number];
  const waiting = [openSocket(port), openSocket(port)];
  await Promise.all(waiting.map((socket) => once(socket, 'connect')));
  return port;
}

function openSocket(port: number): Socket {
  const socket = connect({ host: '127.0.0.1', port }).on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** A client of a proxy that has sent its request. */
async function ask(request: string, connectMsMax?: number): Promise<Socket> {
  const proxy = new HostProxy(['127.0.0.1'], [], connectMsMax);
  onTestFinished(() => proxy.close());
  const client = openSocket(await proxy.openPort());
  client.write(`${request} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
  return client;
}

/** Connections to a port that are not made yet (SYN_SENT). */
function countAttempts(port: number): number {
  const wanted = new RegExp(`:${port.toString(16).toUpperCase().padStart(4, '0')} 02 `);
  return readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .filter((line) => wanted.test(line)).length;
}

const requestsTo = (port: number) => [`CONNECT 127.0.0.1:${port}`, `GET http://127.0.0.1:${port}/`];

test('a client whose host does not accept the connection in time is refused with the reason', async () => {
  const port = await openFullServer();
  for (const request of requestsTo(port)) {
    const answer = await text(await ask(request, 100));
    expect(answer).toContain('403 Forbidden');
    expect(answer).toContain(`127.0.0.1:${port} did not accept a connection within 0.1 s`);
  }
});

test('a client that leaves before the connection is made takes it along', async () => {
  const port = await openFullServer();
  for (const request of requestsTo(port)) {
    const client = await ask(request);
    await expect.poll(() => countAttempts(port)).toBe(1);
    client.resetAndDestroy();
    await expect.poll(() => countAttempts(port)).toBe(0);
  }
});

test('a client whose host breaks the connection off is cut off, too', async () => {
  const server = createServer((socket) => socket.once('data', () => socket.resetAndDestroy()));
  server.listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const client = await ask(`CONNECT 127.0.0.1:${(server.address() as AddressInfo).port}`);
  await once(client, 'data');
  client.write('anything');
  await once(client, 'close');
});
