// Cancels a message that still waits, because its client has left or has cancelled it.
import { cancelMessage } from '../store/cancel-message.ts';
import type { KeyedRequest } from '../store/idempotency.ts';
import type { Service } from './service.ts';

/** Cancels it; false: it does not wait any more, or a worker is just taking it. */
export async function cancelWaiting(
  { database, publish }: Service,
  messageId: string,
  idempotency: KeyedRequest | null,
): Promise<boolean> {
  const reason = 'The client cancelled the request.';
  const { kind } = publish(await cancelMessage(database, { id: messageId, reason, idempotency }));
  return kind === 'done';
}
