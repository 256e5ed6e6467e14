// Performs a route: the checks of its schemas, its function within its deadline, and the entry of
// the audit log. A request over HTTP comes here after the checks of its head; a feature may perform
// a route for its caller, who then needs the role of that route.
import type { FastifyReply } from 'fastify';
import type { Answer } from './answer.ts';
import { type KeyRole, mayAct } from '../core/key-role.ts';
import { describeScope, EVERYTHING } from '../core/scope.ts';
import { unauthorized } from './attempts.ts';
import { refuseAuthority, refuseOutside } from './belongs.ts';
import { hideOutside } from './hide-names.ts';
import type { Principal } from './key-ring.ts';
import { Problem, answerWithin } from './problem.ts';
import { cutHead } from '../core/text.ts';
import { recordChange, type ChangeEnd } from '../kernel/use-cases/record-change.ts';
import { confineSessions, type Service } from '../kernel/use-cases/service.ts';
import { toProblem } from './error-handler.ts';
import { refuseOutsideToken, showToToken } from './token-access.ts';
import {
  type Api,
  type ApiRequest,
  ANSWERED,
  type Route,
  type RawRequest,
  parseParams,
  parseRequest,
} from './route.ts';

/** The longest that an ordinary request takes before it is answered 503. */
const REQUEST_MS_MAX = 10_000;

const LATE = 'The request timed out. It may still take effect.';

/** The caller of a public route without a key. */
const ANONYMOUS: Principal = {
  name: 'anonymous',
  owner: 'anonymous',
  role: 'viewer',
  keySha256: '',
  scope: EVERYTHING,
};

export interface RouteCall {
  request: RawRequest;
  /** The reply of the HTTP request, also for a route that is performed within another. */
  reply: FastifyReply;
  /** Null: a request without a key, which public routes allow. */
  principal: Principal | null;
}

/** The API as a route gets it: one that reads has views of their own connections. */
export function apiOf({ method }: Route, api: Api): Api {
  return method === 'GET' ? { ...api, context: { ...api.context, views: api.context.reads } } : api;
}

/**
 * Performs a route whose role the caller has. Throws `Problem`, or another error, which `toProblem`
 * makes a `Problem` of.
 */
export async function performRoute(route: Route, { request, reply, principal }: RouteCall, api: Api): Promise<Handled> {
  const own =
    principal === null ? api : await answerWithin(openFor(route, request, principal, api), REQUEST_MS_MAX, LATE);
  const parsed = parseRequest(route, request, reply, principal ?? ANONYMOUS);
  const handle = () => route.handle(parsed, own);
  const answering = principal === null ? handle() : audited(route, parsed, api.context.service, handle);
  const answer = await (route.isLong === true ? answering : answerWithin(answering, REQUEST_MS_MAX, LATE));
  if (answer === ANSWERED || principal === null) return answer;
  if (principal.token !== undefined) {
    // The token may have ended while the request waited for a reply.
    if (!(await api.services.keys.isValid(principal))) throw unauthorized();
    return showToToken(route.token, answer);
  }
  const { schema } = route.answers[answer.status] ?? {};
  return { ...answer, body: await hideOutside(schema, answer.body, principal, api.context.reads) };
}

/**
 * The API as a route gets it for a caller. For one with a scope, its service confines; the sessions
 * that the request names are confined before it is handled. Throws `Problem` for what is outside.
 */
async function openFor(
  route: Route,
  { params: raw, query, body }: RawRequest,
  principal: Principal,
  api: Api,
): Promise<Api> {
  const countsMessages = (principal.stored?.limits.messagesInFlight ?? null) !== null;
  const isConfined = principal.scope !== EVERYTHING || principal.token !== undefined;
  if (!countsMessages && !isConfined) return api;
  const service = { ...api.context.service, countsMessages, isConfined };
  if (isConfined) {
    const params = parseParams(route.path, raw as Record<string, string>);
    const refuse = principal.token === undefined ? refuseOutside : refuseOutsideToken;
    const roots = await refuse(route, principal, { params, query, body }, api.context.reads);
    for (const sent of route.method === 'GET' ? [] : [query, body]) refuseAuthority(principal.scope, sent);
    // One without a body gives the agent no words, such as an abort.
    const hasWords = route.method !== 'GET' && Object.keys(body ?? {}).length > 0;
    if (hasWords) await confineSessions(service, roots);
  }
  return { ...api, context: { ...api.context, service } };
}

/** Throws `Problem` 403 unless a key with the role may use a route that needs the other. */
export function refuseRole(role: KeyRole, needed: KeyRole | undefined): void {
  if (needed === undefined || mayAct(role, needed)) return;
  throw new Problem(
    'forbidden',
    `The API key has the role ${role}; this request needs ${needed}. Use a key with that role; an admin can create one with "holdfast keys create".`,
  );
}

const REASON_CHARS_MAX = 500;

type Handled = Answer | typeof ANSWERED;

/** Handles a request of a known principal, and writes it down if its route changes something. */
function audited(
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
    sees: describeScope(principal.scope),
    action: route.operationId,
    target: list.path,
    reason: parseReason(body) ?? parseReason(query),
    requestId: reply.request.id,
  };
  return recordChange(service, change, { perform: handle, endOf: describeEnd });
}

/** The reason that the caller gave, if the request has one. */
function parseReason(given: unknown): string | null {
  const reason = (given as { reason?: unknown } | null)?.reason;
  return typeof reason === 'string' ? cutHead(reason, REASON_CHARS_MAX) : null;
}

function describeEnd(ended: { result: Handled } | { error: unknown }): ChangeEnd {
  if ('error' in ended) return { outcome: toProblem(ended.error, 0).code, made: null };
  if (ended.result === ANSWERED) return { outcome: 'ok', made: null };
  const { status, body } = ended.result;
  const id = (body as { id?: unknown } | null | undefined)?.id;
  return { outcome: 'ok', made: status === 201 && typeof id === 'string' ? id : null };
}
