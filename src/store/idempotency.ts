// The Idempotency-Key of requests other than messages (a message is stored together with its key, see `accept-messages.ts`). A
// key is reserved before the work and keeps the answer after it. Who dies in between leaves a reservation that fades: then the
// next request with the key does the work, which is why everything behind it is harmless to do twice.
import { sql } from './drizzle.ts';
import type { ViewDatabase } from './views/page.ts';

/** Whose key it is and for what request; `sha256` is that of the canonical body. */
export interface KeyedRequest {
  scope: string;
  key: string;
  sha256: string;
}

/**
 * `reserved`: the caller does the work, then calls `keepAnswer` or `releaseKey`. `answered`: the first answer. `mismatch`: the
 * key was used with another body. `busy`: somebody else is at it right now.
 */
export type Reservation =
  | { kind: 'reserved' }
  | { kind: 'answered'; status: number; response: unknown }
  | { kind: 'mismatch' }
  | { kind: 'busy' };

/** Longer than any request behind a key takes; then its reservation counts as left behind. */
const RESERVATION_FADES_AFTER = '30 seconds';

/** True when a message with this key or this platform id was accepted before. */
export async function isKnownMessage(
  db: ViewDatabase,
  { idempotency, platformKey }: { idempotency: KeyedRequest | null; platformKey: string | null },
): Promise<boolean> {
  const known = await db.execute(sql`
    select 1 from holdfast.idempotency_keys
    where scope = ${idempotency?.scope ?? null} and key = ${idempotency?.key ?? null}
    union all select 1 from holdfast.inbox where platform_key = ${platformKey} limit 1`);
  return known.rows.length > 0;
}

/** Takes the key for this request, or says what is known of it. One statement when the key is new, two otherwise. */
export async function reserveKey(db: ViewDatabase, request: KeyedRequest): Promise<Reservation> {
  const reserved = await db.execute(sql`
    insert into holdfast.idempotency_keys as k (scope, key, request_sha256)
    values (${request.scope}, ${request.key}, ${request.sha256})
    on conflict (scope, key) do update set created_at = clock_timestamp()
    where k.status is null and k.request_sha256 = excluded.request_sha256
      and k.created_at < clock_timestamp() - ${RESERVATION_FADES_AFTER}::interval
    returning 1`);
  if (reserved.rows.length > 0) return { kind: 'reserved' };
  const known = await db.execute<{ request_sha256: string; status: number | null; response: unknown }>(sql`
    select request_sha256, status, response from holdfast.idempotency_keys
    where scope = ${request.scope} and key = ${request.key}`);
  const row = known.rows[0];
  // Released between the two statements: whoever asks again gets it.
  if (row === undefined) return { kind: 'busy' };
  if (row.request_sha256 !== request.sha256) return { kind: 'mismatch' };
  if (row.status === null) return { kind: 'busy' };
  return { kind: 'answered', status: row.status, response: row.response };
}

/** Keeps the answer for ever; the first one kept stays. */
export async function keepAnswer(
  db: ViewDatabase,
  request: KeyedRequest,
  answer: { status: number; response: unknown },
): Promise<void> {
  await db.execute(sql`
    update holdfast.idempotency_keys set status = ${answer.status}, response = ${JSON.stringify(answer.response)}::json
    where scope = ${request.scope} and key = ${request.key} and status is null`);
}

/** Gives the key back after work that failed and changed nothing, so that it may be tried again. */
export async function releaseKey(db: ViewDatabase, request: KeyedRequest): Promise<void> {
  await db.execute(sql`
    delete from holdfast.idempotency_keys
    where scope = ${request.scope} and key = ${request.key} and request_sha256 = ${request.sha256} and status is null`);
}
