// Operator actions on a failed delivery: send it again or discard it. Each is one statement, which also closes
// the delivery's dead letter and stores the key of the request.
import { keyedPart, keyValues, type KeyedRequest } from '../../../database/idempotency.ts';
import { literal, type PreparedQuery } from '../../../database/statement.ts';
import type { ViewDatabase } from '../../../database/page.ts';

/** `done`; `unknown`: no such delivery; `conflict`: its status does not allow it. */
export type DeliveryDecision = 'done' | 'unknown' | 'conflict';

/** A redriven delivery gets this time limit, whatever its first one was. */
const REDRIVEN_EXPIRES_AFTER = '24 hours';

export const REDRIVE_DELIVERY = literal({
  name: 'redrive-delivery',
  purpose: 'Let a delivery that has ended be sent again, and close its dead letter. Answers what its status was.',
  locking: 'The delivery, then its letter.',
  text: `with changed as (
  update holdfast.deliveries set status = 'pending', attempts = 0, due_at = clock_timestamp(), settled_at = null,
    owner = null, lease_expires_at = null,
    expires_at = greatest(expires_at, clock_timestamp() + interval '${REDRIVEN_EXPIRES_AFTER}')
  where id = $1 and status in ('failed', 'expired', 'unknown', 'discarded')
  returning id
),
letters as (
  update holdfast.dead_letters set state = 'redriven', settled_at = clock_timestamp()
  where delivery_id in (select id from changed) and state = 'open'
),
${keyedPart(2, `select json_build_object('id', id) from changed`)}
select (select status from holdfast.deliveries where id = $1) as was, exists (select from changed) as is_changed`,
});

/**
 * Sends a failed, expired, discarded or unknown delivery again, with as many attempts as a new one and the same dedupe key: when
 * its end was unknown, the receiver can tell that it has it already.
 */
export function redriveDelivery(
  db: ViewDatabase,
  id: string,
  idempotency: KeyedRequest | null = null,
): Promise<DeliveryDecision> {
  return decide(db, REDRIVE_DELIVERY.prepared([id, ...keyValues(idempotency)]));
}

export const DISCARD_DELIVERY = literal({
  name: 'discard-delivery',
  purpose:
    'Give a delivery up that is not being sent and was not sent, and close its dead letter. Answers what its status was.',
  locking: 'The delivery, then its letter.',
  text: `with changed as (
  update holdfast.deliveries set status = 'discarded', settled_at = clock_timestamp()
  where id = $1 and status in ('pending', 'failed', 'expired', 'unknown', 'discarded')
  returning id
),
letters as (
  update holdfast.dead_letters set state = 'discarded', settled_at = clock_timestamp()
  where delivery_id in (select id from changed) and state = 'open'
),
${keyedPart(2, `select json_build_object('id', id) from changed`)}
select (select status from holdfast.deliveries where id = $1) as was, exists (select from changed) as is_changed`,
});

/** Gives a delivery up that is not being sent right now and was not sent. */
export function discardDelivery(
  db: ViewDatabase,
  id: string,
  idempotency: KeyedRequest | null = null,
): Promise<DeliveryDecision> {
  return decide(db, DISCARD_DELIVERY.prepared([id, ...keyValues(idempotency)]));
}

async function decide(db: ViewDatabase, query: PreparedQuery): Promise<DeliveryDecision> {
  const { rows } = await db.query<{ was: string | null; is_changed: boolean }>(query);
  if (rows[0]?.is_changed === true) return 'done';
  return rows[0] === undefined || rows[0].was === null ? 'unknown' : 'conflict';
}
