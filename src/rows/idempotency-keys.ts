// The Idempotency-Keys of requests.
import { holdfast, integer, json, ms, now, text, uuid } from './columns.ts';

export const idempotencyKeys = holdfast.table('idempotency_keys', {
  scope: text().notNull(),
  key: text().notNull(),
  requestSha256: text('request_sha256').notNull(),
  /** The message that a request has made. */
  resourceId: uuid(),
  status: integer(),
  response: json(),
  createdMs: ms('created_at').notNull().default(now),
  /** What a request has made that has no answer yet. */
  result: json(),
});
