// The checks between the wire and a route: path, query and body against the schemas of its row. What does not fit is refused with
// the path of every field that is wrong; nothing is ignored.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { canonicalSessionKey, InvalidSessionKeyError } from '../core/session-key.ts';
import type { Principal } from './authenticate.ts';
import { keyedRequestOf } from './idempotency-key.ts';
import { Problem, notFound, type FieldError, type ProblemCode } from './problem.ts';
import { noFields, type ApiRequest, type PathValues, type Route } from './route.ts';
import { isUuid } from '../core/ids.ts';

const COUNT = /^[1-9]\d{0,8}$/;
const ERRORS_MAX = 20;

/** The checked request. Throws `Problem`. */
export function parseRequest(
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  principal: Principal,
): ApiRequest<PathValues, unknown, unknown> {
  const params = parseParams(request.params as Record<string, string>);
  const query = parseFields(route.query, request.query, 'invalid_query');
  const rawBody = request.body ?? {};
  const body = parseFields(route.body, rawBody, 'invalid_body');
  const idempotency =
    route.method !== 'POST'
      ? null
      : keyedRequestOf({
          header: request.headers['idempotency-key'],
          principalName: principal.name,
          place: `POST ${placeOf(route.path, params)}`,
          rawBody,
        });
  const { limit: _limit, cursor: _cursor, ...filters } = query as Record<string, unknown>;
  return {
    params,
    query,
    body,
    principal,
    idempotency,
    headers: request.headers,
    list: { path: request.url.split('?', 1)[0] ?? '', filters },
    reply,
  };
}

/** The path with its values in their canonical form. */
function placeOf(path: string, params: object): string {
  const values = new Map(Object.entries(params));
  return path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => String(values.get(name)));
}

/** The canonical form of a session key from outside. Throws `Problem` 400. */
export function parseSessionKey(raw: string, path: string): PathValues['key'] {
  try {
    return canonicalSessionKey(raw);
  } catch (error) {
    if (!(error instanceof InvalidSessionKeyError)) throw error;
    throw new Problem('invalid_session_key', `The ${error.message}.`, {
      errors: [{ path, message: '1 to 200 characters of a-z 0-9 : _ . @ + -' }],
      cause: error,
    });
  }
}

function parseParams(raw: Record<string, string>): PathValues {
  const params: Partial<PathValues> = {};
  if (raw['key'] !== undefined) params.key = parseSessionKey(raw['key'], 'key');
  if (raw['id'] !== undefined) {
    if (!isUuid(raw['id'])) throw notFound('thing with this id: ids are UUIDs');
    params.id = raw['id'].toLowerCase();
  }
  if (raw['runId'] !== undefined) {
    if (!isUuid(raw['runId'])) throw notFound('run with this id: ids are UUIDs');
    params.runId = raw['runId'].toLowerCase();
  }
  if (raw['n'] !== undefined) {
    if (!COUNT.test(raw['n'])) throw notFound('thing with this number: numbers begin with 1');
    params.n = Number(raw['n']);
  }
  if (raw['agent'] !== undefined) params.agent = raw['agent'];
  // Those that the path names are there: the router matched it.
  return params as PathValues;
}

/** By the schema; without one there may be no fields, which is seen without asking zod. */
function parseFields(schema: z.ZodType | undefined, value: unknown, code: ProblemCode): unknown {
  if (schema !== undefined) return parseWith(schema, value, code);
  const isEmpty =
    typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;
  return isEmpty ? value : parseWith(noFields, value, code);
}

function parseWith(schema: z.ZodType, value: unknown, code: ProblemCode): unknown {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const errors = result.error.issues.flatMap(fieldErrorsOf).slice(0, ERRORS_MAX);
  const first = errors[0];
  const where = first === undefined || first.path === '' ? '' : `${first.path}: `;
  throw new Problem(code, `${where}${first?.message ?? 'does not fit'}`, { errors });
}

function fieldErrorsOf(issue: z.core.$ZodIssue): FieldError[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ path: pathOf([...issue.path, key]), message: 'unknown field' }));
  }
  if (issue.code === 'invalid_union') {
    const closest = issue.errors.toSorted((one, other) => one.length - other.length)[0]?.[0];
    if (closest !== undefined && closest.path.length > 0) {
      return fieldErrorsOf({ ...closest, path: [...issue.path, ...closest.path] });
    }
  }
  return [{ path: pathOf(issue.path), message: issue.message }];
}

const NAME_CHARS_MAX = 100;

function pathOf(path: readonly PropertyKey[]): string {
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step).slice(0, NAME_CHARS_MAX)}`))
    .join('')
    .replace(/^\./, '');
}
