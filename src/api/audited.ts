// The audit log: stores every request that may change something before it runs, and its outcome afterwards.
import { headOf } from '../core/cut-text.ts';
import { recordChange, type ChangeEnd } from '../service/record-change.ts';
import type { Service } from '../service/service.ts';
import type { Answer } from './answer.ts';
import { ANSWERED, type ApiRequest, type Route } from './route.ts';
import { toProblem } from './to-problem.ts';

const REASON_CHARS_MAX = 500;

type Handled = Answer | typeof ANSWERED;

/** Handles a request of a known principal, and writes it down if its route changes something. */
export function audited(
  route: Route,
  request: ApiRequest<object, unknown, unknown>,
  service: Service,
  handle: () => Promise<Handled>,
): Promise<Handled> {
  if (route.method === 'GET' || route.isAudited === false) return handle();
  const { principal, list, body, query, reply } = request;
  const change = {
    principal: principal.name,
    role: principal.role,
    action: route.operationId,
    target: list.path,
    reason: reasonOf(body) ?? reasonOf(query),
    requestId: reply.request.id,
  };
  return recordChange(service, change, { perform: handle, endOf });
}

/** The reason that the caller gave, if the request has one. */
function reasonOf(given: unknown): string | null {
  const reason = (given as { reason?: unknown } | null)?.reason;
  return typeof reason === 'string' ? headOf(reason, REASON_CHARS_MAX) : null;
}

function endOf(ended: { result: Handled } | { error: unknown }): ChangeEnd {
  if ('error' in ended) return { outcome: toProblem(ended.error, 0).code, made: null };
  if (ended.result === ANSWERED) return { outcome: 'ok', made: null };
  const { status, body } = ended.result;
  const id = (body as { id?: unknown } | null | undefined)?.id;
  return { outcome: 'ok', made: status === 201 && typeof id === 'string' ? id : null };
}
