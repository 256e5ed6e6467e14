// An operator decides about a delivery: an open dead letter of it is closed by the same statement.
import type { KeyedRequest } from '../../database/idempotency.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { discardDelivery, redriveDelivery, type DeliveryDecision } from './store/redrive-delivery.ts';

/** Sends a delivery again, or discards it; the reconciler rings for its session. */
export async function decideDelivery(
  { database }: Service,
  id: string,
  { decision, idempotency }: { decision: 'redrive' | 'discard'; idempotency: KeyedRequest | null },
): Promise<DeliveryDecision> {
  const decide = decision === 'redrive' ? redriveDelivery : discardDelivery;
  return decide(database, id, idempotency);
}
