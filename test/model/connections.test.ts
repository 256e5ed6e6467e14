// How a call reaches its provider: which hosts receive it, through which proxy, and how much of a
// compressed answer is read.
import { execFile } from 'node:child_process';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { createAnthropicModel } from '../../src/model/anthropic.ts';
import { request } from './build-request.ts';

const MODEL_MODULE = join(import.meta.dirname, '../../src/model/anthropic.ts');

async function listen(server: http.Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function ask(baseUrl: string): Promise<unknown> {
  const model = createAnthropicModel({ apiKey: 'key', baseUrl });
  return model.ask(request(['x'], { maxTokens: 100 }), { signal: new AbortController().signal, headers: {} });
}

test('a redirect is not followed, so the key reaches one host only', async () => {
  let isReached = false;
  const other = await listen(http.createServer((_, response) => void ((isReached = true), response.end())));
  const redirecting = await listen(
    http.createServer((_, response) => response.writeHead(307, { location: other }).end()),
  );
  await expect(ask(redirecting)).rejects.toMatchObject({ name: 'ModelError', status: 307 });
  expect(isReached).toBe(false);
});

test.each([
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['deflate', deflateRawSync],
])(
  'an answer compressed with %s fails when its content is longer than its tokens allow (G28)',
  async (encoding, pack) => {
    const body = pack(`event: ping\ndata: {"type": "ping"}\n\n`.repeat(200_000));
    expect(body.length).toBeLessThan(100_000);
    const headers = { 'content-type': 'text/event-stream', 'content-encoding': encoding };
    const baseUrl = await listen(http.createServer((_, response) => response.writeHead(200, headers).end(body)));
    await expect(ask(baseUrl)).rejects.toMatchObject({
      type: 'malformed_stream',
      message: expect.stringContaining('longer than 1150976 bytes'),
    });
  },
);

test('calls use the proxy of the environment when Node is started with NODE_USE_ENV_PROXY', async () => {
  const hosts: (string | undefined)[] = [];
  const proxy = http.createServer((incoming, response) => {
    hosts.push(incoming.headers.host);
    response.writeHead(503).end();
  });
  proxy.on('connect', (incoming, socket) => {
    hosts.push(incoming.url?.replace(/:80$/, ''));
    socket.end('HTTP/1.1 503 Service Unavailable\r\n\r\n');
  });
  const script = `
    import { createAnthropicModel } from ${JSON.stringify(MODEL_MODULE)};
    const model = createAnthropicModel({ apiKey: 'key', baseUrl: 'http://model.invalid' });
    const request = ${JSON.stringify(request(['x']))};
    await model.ask(request, { signal: new AbortController().signal, headers: {} }).catch(() => {});
  `;
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    env: { ...process.env, NODE_USE_ENV_PROXY: '1', HTTP_PROXY: await listen(proxy), NO_PROXY: '' },
  });
  expect(hosts).toEqual(['model.invalid']);
});
