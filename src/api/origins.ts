// Cross-origin requests: pages of the origins in `api.origins` may send keys and tokens, and read
// the answers. Cookies are for the pages of this service alone: no answer allows credentials.
import cors from '@fastify/cors';
import type { FastifyInstance } from 'fastify';
import type { Config } from '../config.ts';
import { REQUEST_HEADER } from './key-ring.ts';

/** How long a browser keeps the answer to a preflight request, which contains no data. */
const PREFLIGHT_SECONDS = 600;

/**
 * Answers preflight requests, which have no key, and adds the headers to all other answers. The
 * origins are read for each request, so that a reload is in force at once.
 */
export function allowOrigins(app: FastifyInstance, config: Pick<Config, 'api'>): void {
  void app.register(cors, {
    origin: (origin, done) => done(null, origin !== undefined && config.api.origins.includes(origin)),
    methods: ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'],
    allowedHeaders: [
      'authorization',
      'content-type',
      'idempotency-key',
      'last-event-id',
      'prefer',
      'x-request-id',
      REQUEST_HEADER,
    ],
    exposedHeaders: ['retry-after', 'x-request-id', 'idempotent-replayed', 'preference-applied', 'location'],
    maxAge: PREFLIGHT_SECONDS,
    strictPreflight: false,
  });
}
