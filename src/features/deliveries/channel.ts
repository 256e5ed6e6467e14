// The channel port, outgoing side: hands one delivery over and returns its result.
import type { ClaimedDelivery } from './store/outbox.ts';

/**
 * `sent`: acknowledged. `later`: it may succeed another time, not before `retryAfterMs` if the receiver said so. `refused`: it
 * will never succeed. An attempt whose answer was lost is `later`: the receiver knows it by its dedupe key.
 */
export type DeliveryResult =
  | { kind: 'sent'; status: number }
  | { kind: 'later'; status: number | null; error: string; retryAfterMs: number | null }
  | { kind: 'refused'; status: number | null; error: string };

export interface Channel {
  name: string;
  /** Sends once. Never rejects; ends within its own deadline. `traceparent`: the header of the request; absent: nothing is traced. */
  send(delivery: ClaimedDelivery, signal: AbortSignal, traceparent?: string): Promise<DeliveryResult>;
}
