// The checks between the wire and a route: path, query and body against the schemas of its row. What does not fit is refused with
// the path of every field that is wrong; nothing is ignored.
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { parseWith } from './check-fields.ts';
import type { Principal } from './key-ring.ts';
import { keyedRequestOf } from './idempotency-key.ts';
import { namesIn, PATH_PARAMETERS, type PathValues } from './path-parameters.ts';
import { fieldProblem, type ProblemCode } from './problem.ts';
import { noFields, type ApiRequest, type Route } from './route.ts';

/** The checked request. Throws `Problem`. */
export function parseRequest(
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  principal: Principal,
): ApiRequest<PathValues, unknown, unknown> {
  const params = parseParams(route.path, request.params as Record<string, string>);
  const query = parseFields(route.query, request.query, 'invalid_query');
  refuseNul(request.query as object, 'invalid_query');
  const lines = request.body instanceof Readable ? request.body : null;
  const rawBody = lines === null ? (request.body ?? {}) : {};
  const body = lines === null ? parseFields(route.body, rawBody, 'invalid_body') : {};
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
    lines,
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

/** The parameters that the path names; the router has found all of them. */
function parseParams(path: string, raw: Record<string, string>): PathValues {
  const values = namesIn(path).map((name) => [name, PATH_PARAMETERS[name].parse(raw[name] ?? '')]);
  refuseNul(raw, 'invalid_request');
  // A route's handler sees only the names of its own path.
  return Object.fromEntries(values) as PathValues;
}

/** Throws when a value of the path or the query holds a NUL character, which the database cannot store; those of a body are refused where it is read. */
function refuseNul(values: object, code: ProblemCode): void {
  for (const [path, value] of Object.entries(values)) {
    if (typeof value !== 'string' || !value.includes('\u0000')) continue;
    throw fieldProblem(path, 'holds a NUL character; send the text without it', code);
  }
}

/** By the schema; without one there may be no fields, which is seen without asking zod. */
function parseFields(schema: z.ZodType | undefined, value: unknown, code: ProblemCode): unknown {
  if (schema !== undefined) return parseWith(schema, value, code);
  const isEmpty =
    typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;
  return isEmpty ? value : parseWith(noFields, value, code);
}
