// What a route is: a row of data (method, path, schemas, answers) and one function. The rows make the server, the checks before
// the function, and the OpenAPI document; there is no second place where a route is described.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { SessionKey } from '../core/ids.ts';
import type { ApiContext } from './context.ts';
import type { Principal } from './authenticate.ts';
import type { ListIdentity } from './cursor.ts';
import type { ApiServices } from './services.ts';

/**
 * The parameters that paths have, by name. `key` is canonical, `id` and `runId` are UUIDs in lower case, `n` is a positive integer,
 * `agent` a name.
 */
export interface PathValues {
  key: SessionKey;
  id: string;
  runId: string;
  n: number;
  agent: string;
}

type NamesIn<Path> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never;
type ParamsOf<Path> = Pick<PathValues, NamesIn<Path> & keyof PathValues>;

/** A request whose parts are all checked. */
export interface ApiRequest<Params, Query, Body> {
  params: Params;
  query: Query;
  body: Body;
  /** The body as it came, for hashing. */
  rawBody: unknown;
  principal: Principal;
  headers: FastifyRequest['headers'];
  /** The list that a query asks for: its path and every filter, without `limit` and `cursor`. */
  list: ListIdentity;
  /** For answers that are not one value: streams, and waits that end with the client. */
  reply: FastifyReply;
}

/** What a route answers; `body` is written as JSON unless it is text with a content type. */
export interface Answer {
  status: number;
  body: unknown;
  headers?: Record<string, string>;
}

/** The route has answered by itself, on `reply.raw`. */
export const ANSWERED: unique symbol = Symbol('answered');

/** One of the answers of a route, for the document. */
export interface AnswerDoc {
  description: string;
  schema?: z.ZodType;
  contentType?: string;
}

export interface RouteSpec<Path extends string, Query extends z.ZodType, Body extends z.ZodType> {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: Path;
  summary: string;
  /** Answers without a key: only what says nothing about anybody. */
  isPublic?: true;
  /** Takes care of the Idempotency-Key by itself. */
  ownsIdempotency?: true;
  /** May stay open longer than an ordinary request: streams, and waits. */
  isLong?: true;
  query?: Query;
  body?: Body;
  answers: Record<number, AnswerDoc>;
  /** Headers that it reads, for the document. */
  headers?: Record<string, string>;
  handle: (
    request: ApiRequest<ParamsOf<Path>, z.output<Query>, z.output<Body>>,
    api: { context: ApiContext; services: ApiServices },
  ) => Promise<Answer | typeof ANSWERED>;
}

/** A route of the table; its parts are checked against its own schemas before `handle` sees them. */
export type Route = RouteSpec<string, z.ZodType, z.ZodType>;

/** The body of requests that need none: nothing, or `{}`. */
export const noFields = z.strictObject({});
export type NoFields = typeof noFields;

/** Declares a route; the path's `{names}`, the query and the body give `handle` its types. */
export function defineRoute<Path extends string, Query extends z.ZodType = NoFields, Body extends z.ZodType = NoFields>(
  spec: RouteSpec<Path, Query, Body>,
): Route {
  // The table forgets the types of each row; `parse-request.ts` makes the values by the same schemas before it calls `handle`.
  return spec as unknown as Route;
}
