// A collector: takes traces as OTLP JSON, and keeps each span once. It also answers GET requests,
// and keeps their headers.
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface CollectedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Record<string, unknown>;
  links: { traceId: string; spanId: string }[];
}

interface OtlpValue {
  stringValue?: string;
  intValue?: number | string;
  doubleValue?: number;
}

interface OtlpTraces {
  resourceSpans: {
    scopeSpans: {
      schemaUrl: string;
      spans: (Omit<CollectedSpan, 'attributes'> & { attributes: { key: string; value: OtlpValue }[] })[];
    }[];
  }[];
}

export interface Collector {
  url: string;
  /** By trace and span id. */
  spans: Map<string, CollectedSpan>;
  schemas: Set<string>;
  /** The headers of GET requests. */
  fetched: IncomingHttpHeaders[];
  /** How many requests were received. */
  requests: number;
  /** From now on nothing is answered. */
  hang(): void;
  close(): Promise<void>;
}

/** Starts on a free loopback port. */
export async function startCollector(): Promise<Collector> {
  let isHanging = false;
  // Exporters keep their connections: one that ends while they send a trace loses it.
  const server = createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.method === 'GET') {
        collector.fetched.push(request.headers);
        return response.writeHead(200, { 'content-type': 'text/plain' }).end('A page.');
      }
      collector.requests += 1;
      if (isHanging) return undefined;
      keep(collector, JSON.parse(Buffer.concat(chunks).toString()) as OtlpTraces);
      return response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const collector: Collector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: new Map(),
    schemas: new Set(),
    fetched: [],
    requests: 0,
    hang: () => void (isHanging = true),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return collector;
}

function keep({ spans, schemas }: Collector, { resourceSpans }: OtlpTraces): void {
  for (const { schemaUrl, spans: received } of resourceSpans.flatMap(({ scopeSpans }) => scopeSpans)) {
    schemas.add(schemaUrl);
    for (const span of received) {
      const attributes = Object.fromEntries(span.attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
      spans.set(`${span.traceId}:${span.spanId}`, { ...span, attributes });
    }
  }
}
