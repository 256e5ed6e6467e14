// Decides about a request for an approval.
import type { ApprovalView } from '../../contract/approvals.ts';
import { storableText } from '../../core/text.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { decideApproval, type Decision } from './store/approvals.ts';
import { approvals } from './views.ts';

/**
 * `decided`: now. Otherwise the request is as it is: decided before, expired, or its call does not
 * wait any more.
 */
export type DecisionResult = { kind: 'decided' } | { kind: 'unknown' } | { kind: 'closed'; approval: ApprovalView };

export async function decideRequest(
  { database, views, publish }: Service,
  { note, ...decision }: Decision,
  idempotency: KeyedRequest | null = null,
): Promise<DecisionResult> {
  const said = note === null || note.trim() === '' ? null : storableText(note.trim());
  const { isFirst } = publish(await decideApproval(database, { ...decision, note: said }, idempotency));
  if (isFirst) return { kind: 'decided' };
  const approval = await approvals.find(views, decision.id);
  return approval === null ? { kind: 'unknown' } : { kind: 'closed', approval };
}
