// Gives up a submission to the provider, on an operator's request.
import type { KeyedRequest } from '../store/idempotency.ts';
import { forgetSubmission as forget, type Forgetting } from '../store/provider-lane/forget-submission.ts';
import type { Service } from './service.ts';

/** Its requests are queued again, and go into another submission. */
export function forgetSubmission(
  { database }: Service,
  request: { id: string; idempotency: KeyedRequest | null },
): Promise<Forgetting> {
  return forget(database, request);
}
