// What an operator decides about a delivery: it is sent again, or discarded. Each is one statement,
// which also closes the delivery's dead letter and stores the key of the request.
import { keyedSql, type KeyedRequest } from '../../database/idempotency.ts';
import { literalQuery } from '../../database/literal-query.ts';
import type { Service } from '../../kernel/use-cases/service.ts';

/** `done`; `unknown`: no such delivery; `conflict`: its status does not allow it. */
export type DeliveryDecision = 'done' | 'unknown' | 'conflict';

/** A redriven delivery gets this time limit, whatever its first one was. */
const REDRIVEN_EXPIRES_AFTER = '24 hours';

function decision({ letters, set, ...facts }: { name: string; purpose: string; letters: string; set: string }) {
  return literalQuery({
    ...facts,
    locking: 'The delivery, then its letter.',
    pool: 'views',
    // Sent again, it would be refused.
    retryMs: 0,
    text: `with changed as (
  update holdfast.deliveries set ${set}
  returning id
),
letters as (
  update holdfast.dead_letters set state = '${letters}', settled_at = clock_timestamp()
  where delivery_id in (select id from changed) and state = 'open'
),
${keyedSql(`select json_build_object('id', id) from changed`)}
select (select status from holdfast.deliveries where id = $id) as was, exists (select from changed) as is_changed`,
    values: (id: string, idempotency: KeyedRequest | null = null): object => ({ id, ...idempotency }),
    answer([row]: { was: string | null; is_changed: boolean }[]): DeliveryDecision {
      if (row?.is_changed === true) return 'done';
      return row === undefined || row.was === null ? 'unknown' : 'conflict';
    },
  });
}

/**
 * Sends a failed, expired, discarded or unknown delivery again, with as many attempts as a new one
 * and the same dedupe key: when its end was unknown, the receiver can tell that it has it already.
 * The reconciler rings for its session.
 */
export const redriveDelivery = decision({
  name: 'redrive-delivery',
  purpose: 'Let a delivery that has ended be sent again, and close its dead letter. Answers what its status was.',
  letters: 'redriven',
  set: `status = 'pending', attempts = 0, due_at = clock_timestamp(), settled_at = null,
    owner = null, lease_expires_at = null,
    expires_at = greatest(expires_at, clock_timestamp() + interval '${REDRIVEN_EXPIRES_AFTER}')
  where id = $id and status in ('failed', 'expired', 'unknown', 'discarded')`,
});

export const discardDelivery = decision({
  name: 'discard-delivery',
  purpose:
    'Give a delivery up that is not being sent and was not sent, and close its dead letter. Answers what its status was.',
  letters: 'discarded',
  set: `status = 'discarded', settled_at = clock_timestamp()
  where id = $id and status in ('pending', 'failed', 'expired', 'unknown', 'discarded')`,
});

const DECISIONS = { redrive: redriveDelivery, discard: discardDelivery };

export function decideDelivery(
  { database }: Pick<Service, 'database'>,
  id: string,
  { decision, idempotency }: { decision: keyof typeof DECISIONS; idempotency: KeyedRequest | null },
): Promise<DeliveryDecision> {
  return DECISIONS[decision](database, id, idempotency);
}
