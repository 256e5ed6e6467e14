// What a person decides about a failed delivery: send it again or discard it. Each is one statement, which also closes
// the delivery's dead letter and stores the key of the request.
import { sql, type SQL } from './drizzle.ts';
import type { KeyedRequest } from './idempotency.ts';
import type { ViewDatabase } from './views/page.ts';

/** `done`; `unknown`: no such delivery; `conflict`: its status does not allow it. */
export type DeliveryDecision = 'done' | 'unknown' | 'conflict';

/** A redriven delivery has this long again, whatever its first time limit was. */
const REDRIVEN_EXPIRES_AFTER = '24 hours';

/**
 * Sends a failed, expired, discarded or unknown delivery again, with as many attempts as a new one and the same dedupe key: when
 * its end was unknown, the receiver can tell that it has it already.
 */
export async function redriveDelivery(
  db: ViewDatabase,
  id: string,
  idempotency: KeyedRequest | null = null,
): Promise<DeliveryDecision> {
  const result = await db.execute<{ was: string | null; is_changed: boolean }>(sql`
    with changed as (
      update holdfast.deliveries set status = 'pending', attempts = 0, due_at = clock_timestamp(), settled_at = null,
        owner = null, lease_expires_at = null,
        expires_at = greatest(expires_at, clock_timestamp() + ${REDRIVEN_EXPIRES_AFTER}::interval)
      where id = ${id} and status in ('failed', 'expired', 'unknown', 'discarded')
      returning id
    ),
    letters as (
      update holdfast.dead_letters set state = 'redriven', settled_at = clock_timestamp()
      where delivery_id in (select id from changed) and state = 'open'
    ),
    ${keyedSql(idempotency)}
    select (select status from holdfast.deliveries where id = ${id}) as was, exists (select from changed) as is_changed`);
  return decisionOf(result.rows[0]);
}

/** Gives a delivery up that is not being sent right now and was not sent. */
export async function discardDelivery(
  db: ViewDatabase,
  id: string,
  idempotency: KeyedRequest | null = null,
): Promise<DeliveryDecision> {
  const result = await db.execute<{ was: string | null; is_changed: boolean }>(sql`
    with changed as (
      update holdfast.deliveries set status = 'discarded', settled_at = clock_timestamp()
      where id = ${id} and status in ('pending', 'failed', 'expired', 'unknown', 'discarded')
      returning id
    ),
    letters as (
      update holdfast.dead_letters set state = 'discarded', settled_at = clock_timestamp()
      where delivery_id in (select id from changed) and state = 'open'
    ),
    ${keyedSql(idempotency)}
    select (select status from holdfast.deliveries where id = ${id}) as was, exists (select from changed) as is_changed`);
  return decisionOf(result.rows[0]);
}

/** `inserted_keys`, as in idempotency.ts: the key of the request, when the delivery was changed. */
function keyedSql(request: KeyedRequest | null): SQL {
  return sql`inserted_keys as (
      insert into holdfast.idempotency_keys (scope, key, request_sha256, result)
      select ${request?.scope ?? null}::text, ${request?.key ?? null}::text, ${request?.sha256 ?? null}::text, json_build_object('id', id)
      from changed where ${request?.scope ?? null}::text is not null
    )`;
}

function decisionOf(row: { was: string | null; is_changed: boolean } | undefined): DeliveryDecision {
  if (row?.is_changed === true) return 'done';
  return row === undefined || row.was === null ? 'unknown' : 'conflict';
}
