// A call of a tool: the route is performed for the caller, as if the caller had sent the request
// itself. A refusal is a result that the client's model can read, in the words of the API.
import type { CallToolResult } from '@modelcontextprotocol/server';
import { logProblem, toProblem } from '../../api/error-handler.ts';
import { ANSWERED, roleOf, type AnyRequest, type Api, type RawRequest, type Route } from '../../api/route.ts';
import { apiOf, performRoute, refuseRole } from '../../api/perform-route.ts';
import { fieldProblem, problemBody, type Problem } from '../../api/problem.ts';
import { cutHead } from '../../core/text.ts';
import type { RouteTool } from './tools.ts';

/** The field of `_meta` with the key of a call. */
const KEY_FIELD = 'holdfast/idempotencyKey';
const REPLAYED_FIELD = 'holdfast/idempotentReplayed';
const FIELD_CHARS_MAX = 100;

interface CallInput {
  given: Readonly<Record<string, unknown>>;
  meta: Readonly<Record<string, unknown>>;
}

interface Caller {
  request: AnyRequest;
  api: Api;
}

export async function callTool(tool: RouteTool, input: CallInput, caller: Caller): Promise<CallToolResult> {
  try {
    const parts = readInput(tool, input, caller.request);
    const { route, beside } = tool;
    const [main, other] = await Promise.all([
      perform(route, parts, caller),
      beside === null ? null : perform(beside.route, { ...parts, fields: {} }, caller),
    ]);
    const body = beside === null || other === null ? main.body : { [beside.field]: other.body, ...main.body };
    return {
      content: [{ type: 'text', text: JSON.stringify(body) }],
      structuredContent: body,
      ...(main.isReplay ? { _meta: { [REPLAYED_FIELD]: true } } : {}),
    };
  } catch (error) {
    return toErrorResult(tool, error, caller);
  }
}

interface CallParts {
  params: Record<string, string>;
  /** The fields of the body or of the query. */
  fields: Record<string, unknown>;
  headers: Record<string, string>;
}

/**
 * Which part of the input goes where. Throws `Problem`; the schema of the route checks the rest.
 */
function readInput(tool: RouteTool, input: CallInput, request: AnyRequest): CallParts {
  const { params = {}, defaults, inputSchema } = tool;
  const { idempotencyKey, waitSeconds, ...rest } = input.given;
  for (const field of Object.keys(input.given)) {
    if (!Object.hasOwn(inputSchema.properties, field))
      throw fieldProblem(cutHead(field, FIELD_CHARS_MAX), 'unknown field');
  }
  const key = idempotencyKey ?? input.meta[KEY_FIELD] ?? request.headers['idempotency-key'];
  const traceparent = input.meta['traceparent'] ?? request.headers['traceparent'];
  const named = Object.entries(params).map(([field, name]) => {
    const value = rest[field];
    if (typeof value !== 'string' || value === '') throw fieldProblem(field, 'expected a text that is not empty');
    return [name, value] as const;
  });
  const own = Object.entries(rest).filter(([field]) => !Object.hasOwn(params, field));
  return {
    params: Object.fromEntries(named),
    fields: { ...defaults, ...Object.fromEntries(own) },
    headers: {
      // The route refuses a key that is not a text as it refuses an empty one.
      ...(key === undefined ? {} : { 'idempotency-key': typeof key === 'string' ? key : '' }),
      ...(waitSeconds === undefined ? {} : { prefer: `wait=${checkedSeconds(waitSeconds)}` }),
      ...(typeof traceparent === 'string' ? { traceparent } : {}),
    },
  };
}

function checkedSeconds(value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 999_999) return value;
  throw fieldProblem('waitSeconds', 'expected a whole number of seconds, at most 999999');
}

async function perform(
  route: Route,
  { params, fields, headers }: CallParts,
  { request, api }: Caller,
): Promise<{ body: Record<string, unknown>; isReplay: boolean }> {
  const { principal, reply } = request;
  refuseRole(principal.role, roleOf(route));
  const isRead = route.method === 'GET';
  const raw: RawRequest = {
    url: route.path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => encodeURIComponent(params[name] ?? '')),
    params,
    query: isRead ? toQuery(fields) : {},
    body: isRead ? undefined : fields,
    headers,
  };
  const answer = await performRoute(route, { request: raw, reply, principal }, apiOf(route, api));
  if (answer === ANSWERED) throw new Error(`${route.operationId} has answered by itself, so it cannot be a tool`);
  return {
    body: answer.body as Record<string, unknown>,
    isReplay: answer.headers?.['idempotent-replayed'] !== undefined,
  };
}

/** The fields as they are in a URL, where everything is text. */
function toQuery(fields: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      if (Array.isArray(value)) return [name, value.join(',')];
      if (typeof value === 'string') return [name, value];
      if (typeof value === 'number' || typeof value === 'boolean') return [name, String(value)];
      throw fieldProblem(name, 'expected a text, a number or a list of texts', 'invalid_query');
    }),
  );
}

function toErrorResult({ name, route }: RouteTool, error: unknown, { request, api }: Caller): CallToolResult {
  const { reply } = request;
  const problem = toProblem(error, api.context.config.limits.bodyBytes);
  logProblem(api.context, problem, reply.request, { tool: name });
  const body = JSON.parse(problemBody(problem, route.path, reply.request.id)) as Record<string, unknown>;
  return { content: [{ type: 'text', text: describeProblem(problem) }], structuredContent: body, isError: true };
}

function describeProblem({ code, message, errors = [], retryAfterMs }: Problem): string {
  const fields = errors
    .map(({ path, message: fault }) => `${path}: ${fault}`)
    .filter((line) => !message.includes(line));
  const later = retryAfterMs === undefined ? [] : [`Try again after ${Math.max(1, Math.ceil(retryAfterMs / 1000))} s.`];
  return [`${message} (${code})`, ...fields, ...later].join('\n');
}
