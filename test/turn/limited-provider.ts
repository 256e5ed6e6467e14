// A provider with a rate limit, over HTTP: a bucket of requests in front of the scripted model.
// When the bucket is empty it answers 429. It records every request.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { performance } from 'node:perf_hooks';

export interface LimitedRequest {
  atMs: number;
  isRefused: boolean;
  session: string;
}

export interface LimitedProvider {
  url: string;
  requests: LimitedRequest[];
  /** Refuses the next request of this session, with this many seconds in Retry-After. */
  refuseNext(session: string, retryAfterSeconds: number): void;
  close(): Promise<void>;
}

/**
 * Starts the provider. The bucket is full at first, holds `capacity` requests, and refills evenly.
 */
export async function startLimitedProvider(
  modelUrl: string,
  { perMinute, capacity }: { perMinute: number; capacity: number },
): Promise<LimitedProvider> {
  const requests: LimitedRequest[] = [];
  let left = capacity;
  let refilledAtMs = performance.now();
  let nextRefusal: { session: string; retryAfterSeconds: number } | null = null;
  const server = http.createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
    const atMs = performance.now();
    left = Math.min(capacity, left + ((atMs - refilledAtMs) * perMinute) / 60_000);
    refilledAtMs = atMs;
    const session = String(request.headers['x-holdfast-session']);
    const isNext = nextRefusal !== null && session.endsWith(nextRefusal.session);
    const isRefused = left < 1 || isNext;
    const retryAfter = String(isNext ? nextRefusal?.retryAfterSeconds : 1);
    if (isNext) nextRefusal = null;
    requests.push({ atMs, isRefused, session });
    if (isRefused) {
      request.resume();
      response.writeHead(429, { 'content-type': 'application/json', 'retry-after': retryAfter });
      response.end(
        JSON.stringify({ type: 'error', error: { type: 'rate_limit_error', message: 'Too many requests.' } }),
      );
      return;
    }
    left -= 1;
    const { method, headers } = request;
    const forwarded = http.request(`${modelUrl}${request.url}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    forwarded.on('error', () => response.destroy());
    request.pipe(forwarded);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    refuseNext: (session, retryAfterSeconds) => void (nextRefusal = { session, retryAfterSeconds }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
