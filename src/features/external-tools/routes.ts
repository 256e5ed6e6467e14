// Calls of external tools: what waits for a result, and the results.
import type { ApiContext } from '../../api/context.ts';
import { notFound, Problem } from '../../api/problem.ts';
import { defineEffect, defineList, defineRead, type Route } from '../../api/route.ts';
import { nameText } from '../../contract/queries.ts';
import { externalCall, externalResult, type ExternalCallView } from '../../contract/external-tools.ts';
import { acceptResult } from './use-cases.ts';
import { isInside } from '../../core/scope.ts';
import { parseToolCallId } from '../../core/tool-policy.ts';
import type { FindPlace } from '../../api/belongs.ts';
import { findRoot } from '../../kernel/views/scope.ts';
import { listWaitingCalls, viewExternalCall } from './views.ts';

const nameOf = (id: string): string => `call ${id} of an external tool. GET /v1/tool-calls lists those that wait`;
const missing = (id: string): Problem => notFound(nameOf(id));

/** A call belongs to the session of its turn. */
const itsTurn: FindPlace = async ({ params: { toolCallId: id = '' } }, scope, db) => {
  const turnId = parseToolCallId(id)?.turnId;
  const root = turnId === undefined ? null : await findRoot(db, 'turn', turnId);
  if (isInside(scope, root)) return root;
  throw missing(id);
};

async function findCall(context: ApiContext, id: string): Promise<ExternalCallView> {
  const found = await viewExternalCall(context.views, id);
  if (found === null) throw missing(id);
  return found;
}

const getCalls = defineList({
  operationId: 'listExternalCalls',
  belongs: 'list',
  path: '/v1/tool-calls',
  summary: 'Calls of external tools that wait for a result, oldest turn first',
  filter: {
    status: externalCall.shape.status.extract(['waiting']).optional().describe('Only calls that wait are listed'),
    tool: nameText.optional().describe('Only calls of this tool'),
  },
  shows: { description: 'A page of calls', item: externalCall },
  pages: { isKey: (text) => parseToolCallId(text) !== null },
  list: ({ query: { tool }, principal: { scope } }, page, { context }) =>
    listWaitingCalls(context.views, { tool, scope }, page),
});

const getCall = defineRead({
  operationId: 'getExternalCall',
  belongs: itsTurn,
  path: '/v1/tool-calls/{toolCallId}',
  summary: 'A call of an external tool, with its input',
  shows: { description: 'The call', schema: externalCall },
  read: ({ params: { toolCallId: id } }, { context }) => findCall(context, id),
});

const postResult = defineEffect({
  operationId: 'answerExternalCall',
  belongs: itsTurn,
  path: '/v1/tool-calls/{toolCallId}/result',
  summary: 'Send the result of a call of an external tool. The first one holds; its turn continues',
  body: externalResult,
  answers: {
    200: { description: 'Accepted', schema: externalCall },
    409: { description: '`already_decided`: it has a result, or its turn does not wait for it any more' },
    410: { description: '`expired`: its time is over' },
  },
  async perform({ params: { toolCallId: id }, body: { content, isError = false }, idempotency }, { context }) {
    const result = await acceptResult(context.service, { id, content, isError }, idempotency);
    if (result.kind === 'unknown') throw missing(id);
    if (result.kind === 'closed') throw closed(result.call);
    return {};
  },
  show: (_result, { params: { toolCallId: id } }, { context }) => findCall(context, id),
});

function closed({ id, status, expiresAt }: ExternalCallView): Problem {
  if (status === 'expired')
    return new Problem(
      'expired',
      `The time of the call ${id} was over at ${expiresAt}. The model has read that no result came.`,
    );
  const how =
    status === 'answered' ? 'has a result already; the first one holds' : 'does not wait any more: its turn has ended';
  return new Problem('already_decided', `The call ${id} ${how}.`);
}

export const routes: Route[] = [getCalls, getCall, postResult];
