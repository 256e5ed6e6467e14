// What an operator decides about a delivery: it is sent now or again, or discarded. Each is one
// statement, which also closes the delivery's dead letter and stores the key of the request.
import { keyedSql, type KeyedRequest } from '../../database/idempotency.ts';
import { literalQuery } from '../../database/literal-query.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import type { DeliveryView } from './contract.ts';
import { headsOfChatsSql } from './store/claims.ts';

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
  returning deliveries.id
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

/** As many deliveries to a destination that has answered are sent at the same time. */
const WOKEN_MAX = 10;

/**
 * Makes a waiting delivery due, with its attempts and its expiry. Because its order is kept, the
 * first of its session or chat is due too, and goes alone: a receiver that is still broken sees one
 * request. When that was sent, it wakes others to its destination (`store/settle.ts`).
 */
export const sendDelivery = decision({
  name: 'send-delivery',
  purpose:
    'Make a waiting delivery and the first open one of its session or its chat due; others to its destination follow when that was sent. Answers what its status was.',
  letters: 'redriven',
  set: `due_at = least(deliveries.due_at, clock_timestamp()), wakes = case when deliveries.id = first.id then ${WOKEN_MAX} else deliveries.wakes end
  from holdfast.deliveries asked cross join lateral (
    (select o.id from holdfast.deliveries o
    where asked.channel = 'webhook' and o.session_id = asked.session_id and o.channel = 'webhook' and o.status in ('pending', 'sending')
    order by o.seq limit 1)
    union all
    select heads.id from (${headsOfChatsSql("asked.channel <> 'webhook' and d.target ->> 'url' = asked.target ->> 'url'")}) as heads
  ) as first
  where asked.id = $id and asked.status = 'pending' and deliveries.id in (asked.id, first.id) and deliveries.status in ('pending', 'sending')`,
});

const DECISIONS = { send: sendDelivery, redrive: redriveDelivery, discard: discardDelivery };
export type DeliveryAction = keyof typeof DECISIONS;

/** Why the status of a delivery does not allow a decision, and what does. */
export function whyUndecided({ id, status, dueAt }: Pick<DeliveryView, 'id' | 'status' | 'dueAt'>): string {
  switch (status) {
    case 'pending':
      return `The delivery was not given up: it waits for its next attempt at ${dueAt}. "holdfast deliveries send ${id}" sends it now.`;
    case 'sending':
      return 'A worker is sending the delivery. Wait for the result.';
    case 'sent':
      return 'The receiver has acknowledged the delivery.';
    case 'unknown':
      return `It is not known whether the chat has it. "holdfast deliveries redrive ${id}" sends it again, and "holdfast deliveries discard ${id}" gives it up.`;
    case 'failed':
    case 'expired':
    case 'discarded':
      return `The delivery is ${status}, so it waits for no attempt. "holdfast deliveries redrive ${id}" sends it again.`;
    default:
      return status satisfies never;
  }
}

export function decideDelivery(
  { database }: Pick<Service, 'database'>,
  id: string,
  { decision, idempotency }: { decision: DeliveryAction; idempotency: KeyedRequest | null },
): Promise<DeliveryDecision> {
  return DECISIONS[decision](database, id, idempotency);
}
