// Requests for approvals: what waits, and decisions about it.
import { notFound, Problem } from '../../api/problem.ts';
import { defineEffect, defineList, defineRead, type Route } from '../../api/route.ts';
import type { ApiContext } from '../../api/context.ts';
import { approval, approvalNote, approvalStatus, type ApprovalView } from '../../contract/approvals.ts';
import { decideRequest } from './use-cases.ts';
import { approvals } from './views.ts';
import { item } from '../../api/belongs.ts';
import type { Principal } from '../../api/key-ring.ts';
import { EVERYTHING } from '../../core/scope.ts';

const getApprovals = defineList({
  operationId: 'listApprovals',
  belongs: 'list',
  path: '/v1/approvals',
  summary: 'Tool calls that wait for an approval or have waited for one, newest first',
  filter: { status: approvalStatus.exactOptional().describe('Only those with this status') },
  shows: { description: 'A page of requests', item: approval },
  list: ({ query, principal: { scope } }, page, { context }) =>
    approvals.list(context.views, { ...query, scope }, page),
});

const getApproval = defineRead({
  operationId: 'getApproval',
  belongs: item('approval'),
  path: '/v1/approvals/{id}',
  summary: 'A request for an approval, with what would run',
  shows: { description: 'The request', schema: approval },
  read: ({ params: { id } }, { context }) => findApproval(context, id),
});

/** The request, of which the route has found that the caller sees it. */
async function findApproval(context: ApiContext, id: string): Promise<ApprovalView> {
  const found = await approvals.find(context.views, id);
  if (found === null) throw notFound(`approval ${id}. GET /v1/approvals lists them`);
  return found;
}

const decision = (verb: 'approve' | 'deny', status: 'approved' | 'denied', effect: string): Route =>
  defineEffect({
    operationId: `${verb}Approval`,
    belongs: item('approval'),
    path: `/v1/approvals/{id}/${verb}`,
    summary: `${verb === 'approve' ? 'Approve' : 'Deny'} a tool call that waits. The first decision holds; ${effect}`,
    body: approvalNote,
    answers: {
      200: { description: 'Decided', schema: approval },
      409: { description: '`already_decided`: it was decided before, or its call does not wait any more' },
      410: { description: '`expired`: it was not decided in time, which has denied it' },
    },
    async perform({ params: { id }, body: { note = null }, principal, idempotency }, { context }) {
      const by = principal.name === '' ? 'an operator' : principal.name;
      const result = await decideRequest(context.service, { id, status, by, note }, idempotency);
      if (result.kind === 'unknown') throw notFound(`approval ${id}. GET /v1/approvals lists them`);
      if (result.kind === 'closed') throw closed(result.approval, principal);
      return { status };
    },
    show: (_result, { params: { id } }, { context }) => findApproval(context, id),
  });

function closed({ id, status, decidedBy }: ApprovalView, { scope, name }: Principal): Problem {
  if (status === 'expired')
    return new Problem(
      'expired',
      `The approval ${id} has expired, which has denied it. Ask the agent again if needed.`,
    );
  const how = status === 'cancelled' ? 'cancelled, because its call does not wait any more' : status;
  // A caller with a scope learns the names of no others.
  const by = decidedBy === null || (scope !== EVERYTHING && decidedBy !== name) ? '' : ` by ${decidedBy}`;
  return new Problem('already_decided', `The approval ${id} was ${how}${by}. The first decision holds.`);
}

export const routes: Route[] = [
  getApprovals,
  getApproval,
  decision('approve', 'approved', 'exactly what was shown runs, once'),
  decision('deny', 'denied', 'the model reads who denied it and why'),
];
