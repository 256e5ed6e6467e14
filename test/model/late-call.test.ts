// Goal: a worker whose lease ends on the way of a request to its provider sends nothing (G7).
// Method: the lease ends, or the process is frozen past it, at the point where the connection is
// made and nothing is written yet; the provider counts what it receives.
import { spawn } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setImmediate as nextRound } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createAnthropicModel } from '../../src/model/anthropic.ts';
import { request } from './build-request.ts';

const CALLER = join(import.meta.dirname, 'frozen-caller.ts');

interface Provider {
  url: string;
  connections: number;
  /** The bytes that it has received, over all connections. */
  bytes: number;
}

async function startProvider(): Promise<Provider> {
  const server = http.createServer((_, response) => void response.writeHead(500).end());
  const provider: Provider = { url: '', connections: 0, bytes: 0 };
  server.on('connection', (socket) => {
    provider.connections += 1;
    socket.on('data', (chunk) => void (provider.bytes += chunk.length)).on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  provider.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return provider;
}

/** Calls `act` when the next connection is made, before its first request is written. */
function onConnected(act: () => void): void {
  subscribe('undici:client:connected', act);
  onTestFinished(() => void unsubscribe('undici:client:connected', act));
}

test.each([true, false])(
  'a lease that ends while the connection is made leaves the request unsent (G7; streamed: %s)',
  async (isStreaming) => {
    const provider = await startProvider();
    const stopped = new Error('The lease ran out.');
    const lease = new AbortController();
    let hasEnded = false;
    const checks: boolean[] = [];
    onConnected(() => (hasEnded = true));
    const model = createAnthropicModel({ apiKey: 'any', baseUrl: provider.url, isStreaming });
    const asked = model.ask(request(['x']), {
      signal: lease.signal,
      headers: {},
      beforeSend() {
        checks.push(hasEnded);
        if (hasEnded) lease.abort(stopped);
        lease.signal.throwIfAborted();
      },
    });
    await expect(asked).rejects.toBe(stopped);
    expect(checks).toEqual([false, true]);
    expect(provider).toMatchObject({ connections: 1, bytes: 0 });
  },
);

test('a call that was given up on its connection leaves the pool in order', async () => {
  const provider = await startProvider();
  const model = createAnthropicModel({ apiKey: 'any', baseUrl: provider.url });
  const lease = new AbortController();
  let checks = 0;
  const given = model.ask(request(['x']), {
    signal: lease.signal,
    headers: {},
    beforeSend() {
      checks += 1;
      if (checks > 1) lease.abort(new Error('The lease ran out.'));
      lease.signal.throwIfAborted();
    },
  });
  const next = model.ask(request(['x']), { signal: new AbortController().signal, headers: {} });
  expect(await Promise.allSettled([given, next])).toMatchObject([
    { reason: new Error('The lease ran out.') },
    { reason: { name: 'ModelError', status: 500 } },
  ]);
});

test('a process that is frozen past its lease while the connection is made asks nothing after it wakes (G7)', async () => {
  const provider = await startProvider();
  const caller = spawn(process.execPath, [CALLER], {
    env: { ...process.env, MODEL_URL: provider.url, IS_STREAMING: 'true' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void caller.kill('SIGKILL'));
  const exited = once(caller, 'exit');
  const lines = createInterface({ input: caller.stdout })[Symbol.asyncIterator]();
  const { leaseEndsNs } = JSON.parse((await lines.next()).value ?? '{}') as { leaseEndsNs: string };
  while (stateOf(caller.pid) !== 'T' || process.hrtime.bigint() < BigInt(leaseEndsNs)) await nextRound();
  caller.kill('SIGCONT');
  expect(JSON.parse((await lines.next()).value ?? '{}')).toEqual({ outcome: 'lock-lost', checks: 2 });
  await exited;
  expect(provider).toMatchObject({ connections: 1, bytes: 0 });
});

/** `T`: stopped by a signal. */
function stateOf(pid: number | undefined): string | undefined {
  return /\) (\w) /.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1];
}
