// A person acknowledges a problem, or snoozes it.
import { markAttention as mark } from '../store/attention-marks.ts';
import type { KeyedRequest } from '../store/idempotency.ts';
import type { Service } from './service.ts';

/** Stores who has decided what about a problem, and why; `seconds` is null: it is acknowledged. */
export function markAttention(
  { database }: Service,
  decision: { id: string; seconds: number | null; count: number; reason: string | null; by: string },
  idempotency: KeyedRequest | null,
): Promise<void> {
  return mark(database, decision, idempotency);
}
