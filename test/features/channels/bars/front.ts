// What platforms send goes through a front to one of several API processes, as in production: one
// that does not answer is avoided for a while, and what it did not take goes to another one.
import { createServer, request as openRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

const AVOIDED_MS = 2_000;

interface Upstream {
  url: () => string;
  inFlight: number;
  avoidedUntilMs: number;
}

/**
 * Starts a front. `urls`: of the API processes, asked for each request, because they can be
 * restarted on other ports.
 */
export async function startFront(
  urls: readonly (() => string)[],
): Promise<{ url: string; close: () => Promise<void> }> {
  const upstreams = urls.map((url): Upstream => ({ url, inFlight: 0, avoidedUntilMs: 0 }));
  const server = createServer((request, response) => {
    // A platform that has gone is answered nothing.
    forward(upstreams, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The one with the fewest requests in flight, of those that answer. */
function choose(upstreams: readonly Upstream[]): Upstream {
  const now = performance.now();
  const answering = upstreams.filter(({ avoidedUntilMs }) => avoidedUntilMs < now);
  const [first] = (answering.length > 0 ? answering : [...upstreams]).toSorted((a, b) => a.inFlight - b.inFlight);
  return first!;
}

async function forward(upstreams: readonly Upstream[], from: IncomingMessage, to: ServerResponse): Promise<void> {
  const { url = '', method, headers } = from;
  const body = await buffer(from);
  const send = (upstream: Upstream): void => {
    upstream.inFlight += 1;
    const request = openRequest(new URL(url, upstream.url()), { method, headers, agent: false });
    let isAnswered = false;
    request.on('response', (answer) => {
      isAnswered = true;
      to.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(to);
    });
    request.on('close', () => {
      upstream.inFlight -= 1;
      if (!isAnswered) upstream.avoidedUntilMs = performance.now() + AVOIDED_MS;
    });
    request.on('error', ({ code }: NodeJS.ErrnoException) => {
      const next = upstreams.find((each) => each !== upstream && each.avoidedUntilMs < performance.now());
      if (code === 'ECONNREFUSED' && next !== undefined) return send(next);
      // The platform sends again what has no answer.
      to.destroy();
    });
    to.on('close', () => request.destroy());
    request.end(body);
  };
  send(choose(upstreams));
}
