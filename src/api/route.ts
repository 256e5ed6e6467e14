// What a route is: a row of data (method, path, schemas, answers) and one function. The rows make
// the server, the checks before the function, the OpenAPI document and the names in the audit log.
// Only the fields are described elsewhere: in `src/contract/`.
import { pageQuery } from '../contract/queries.ts';
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Answer } from './answer.ts';
import type { ApiContext } from './context.ts';
import type { Config } from '../config.ts';
import type { KeyRole } from '../core/key-role.ts';
import type { Principal } from './key-ring.ts';
import { listAnswer, parsePageRequest, type ListIdentity, type PageRules } from './cursor.ts';
import type { KeyedRequest } from '../database/idempotency.ts';
import type { Page, PageRequest } from '../database/page.ts';
import type { Belongs } from './belongs.ts';
import { answerOnce, buildKeyedRequest, sha256OfJson } from './idempotency-key.ts';
import { type PathValues, namesIn, PATH_PARAMETERS, parseWith } from './parse-json.ts';
import type { ApiServices } from './services.ts';
import { describeList } from '../contract/answers.ts';
import { fieldProblem, Problem, type ProblemCode } from './problem.ts';
import type { TokenAccess } from './token-access.ts';

type NamesIn<Path> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never;

type ParamsOf<Path> = Pick<PathValues, NamesIn<Path> & keyof PathValues>;

/** What handlers get beside their request. */
export interface Api {
  context: ApiContext;
  services: ApiServices;
  /** All routes of this API, for one that performs others. */
  routes: readonly Route[];
}

/** A request whose parts are all checked. */
export interface ApiRequest<Params, Query, Body> {
  params: Params;
  query: Query;
  body: Body;
  principal: Principal;
  /** The body of a request with lines or a form, not read yet; null for any other. */
  lines: Readable | null;
  /** The bytes of the body of a route that takes them; null for any other. */
  rawBody: Buffer | null;
  /**
   * The Idempotency-Key of a POST with what it is bound to; null without one, and for other
   * methods.
   */
  idempotency: KeyedRequest | null;
  headers: FastifyRequest['headers'];
  /** The list that a query asks for: its path and every filter, without `limit` and `cursor`. */
  list: ListIdentity;
  /** For answers that are not one value: streams, and waits that end with the client. */
  reply: FastifyReply;
}

/** A request of which only what all requests have is read. */
export type AnyRequest = ApiRequest<unknown, unknown, unknown>;

/** The route has answered by itself, on `reply.raw`. */
export const ANSWERED: unique symbol = Symbol('answered');

/** One of the answers of a route, for the document. */
export interface AnswerDoc {
  description: string;
  schema?: z.ZodType;
  contentType?: string;
}

/** The form of another API, whose clients call some routes. */
export interface ForeignForm {
  isEnabled: (config: Config) => boolean;
  /** True for a path in this form, also for one that does not exist. */
  hasPath: (url: string) => boolean;
  /** The schema of its errors, by its name in the document. */
  errorName: string;
  errorText: string;
  formatError: (problem: Problem) => { headers: Record<string, string>; body: object };
}

/**
 * What the body may be other than JSON, and the most bytes of one that is read as a whole. `lines`,
 * `form`: a stream of lines or of `multipart/form-data`, which the handler reads and checks, and
 * binds the Idempotency-Key to. `raw`: the bytes that were sent, which a signature is of.
 */
export interface OtherBody {
  as: 'lines' | 'form' | 'raw';
  bodyBytesMax?: number;
}

export interface RouteSpec<Path extends string, Query extends z.ZodType, Body extends z.ZodType> {
  /**
   * The name of its operation in the OpenAPI document, of the function of generated clients, and in
   * the audit log.
   */
  operationId: string;
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: Path;
  summary: string;
  /** What it is about: decides what a caller with a scope may ask for. */
  belongs: Belongs;
  /** What tokens for browsers may do with it; absent: nothing. */
  token?: TokenAccess;
  /** Answers without a key: only for answers without private data. */
  isPublic?: true;
  /** The required role; absent: see `roleOf`. */
  role?: KeyRole;
  /** False: the audit log leaves it out, because the rows that it writes say who has sent them. */
  isAudited?: false;
  /** Absent: the form of Holdfast. */
  form?: ForeignForm;
  /** May stay open longer than an ordinary request: streams, and waits. */
  isLong?: true;
  takes?: OtherBody;
  query?: Query;
  body?: Body;
  answers: Record<number, AnswerDoc>;
  /** Headers that it reads, for the document. */
  headers?: Record<string, string>;
  handle: (
    request: ApiRequest<ParamsOf<Path>, z.output<Query>, z.output<Body>>,
    api: Api,
  ) => Promise<Answer | typeof ANSWERED>;
}

/**
 * A route of the table; its parts are checked against its own schemas before `handle` sees them.
 */
export type Route = RouteSpec<string, z.ZodType, z.ZodType>;

/**
 * The role that a key needs for a route: any key may read, and an operator's key may change
 * something.
 */
export function roleOf({ role, method }: Pick<Route, 'role' | 'method'>): KeyRole {
  return role ?? (method === 'GET' ? 'viewer' : 'operator');
}

/** The body of requests that need none: nothing, or `{}`. */
export const noFields = z.strictObject({});

export type NoFields = typeof noFields;

type ReadSpec<Path extends string, Query extends z.ZodType> = Omit<
  RouteSpec<Path, Query, NoFields>,
  'method' | 'body' | 'answers' | 'handle'
> & {
  /** The answer with what `read` returns. */
  shows: AnswerDoc;
  read: (request: ApiRequest<ParamsOf<Path>, z.output<Query>, unknown>, api: Api) => Promise<unknown>;
};

/** Declares a GET that answers 200 with one thing. */
export function defineRead<Path extends string, Query extends z.ZodType = NoFields>({
  shows,
  read,
  ...spec
}: ReadSpec<Path, Query>): Route {
  return defineRoute<Path, Query>({
    ...spec,
    method: 'GET',
    answers: { 200: shows },
    handle: async (request, api) => ({ status: 200, body: await read(request, api) }),
  });
}

type ListSpec<Path extends string, Filter extends z.ZodRawShape> = Omit<
  ReadSpec<Path, z.ZodObject<Filter>>,
  'query' | 'shows' | 'read'
> & {
  /** The parameters that choose items, in addition to `limit` and `cursor`. */
  filter?: Filter;
  shows: { description: string; item: z.ZodType };
  pages?: PageRules;
  list: (
    request: ApiRequest<ParamsOf<Path>, z.output<z.ZodObject<Filter>>, unknown>,
    page: PageRequest,
    api: Api,
  ) => Promise<Page<unknown>>;
};

/** Declares a GET that answers with a page of a list, and the cursor of the next page. */
export function defineList<Path extends string, Filter extends z.ZodRawShape = Record<never, z.ZodType>>({
  filter,
  shows: { description, item },
  pages,
  list,
  ...spec
}: ListSpec<Path, Filter>): Route {
  const query = z.strictObject({ ...pageQuery, ...filter });
  return defineRoute<Path, typeof query>({
    ...spec,
    method: 'GET',
    query,
    answers: { 200: { description, schema: describeList(item) } },
    async handle(request, api) {
      // `query` has the fields of `filter`, which TypeScript does not see.
      const filtered = request as unknown as ApiRequest<ParamsOf<Path>, z.output<z.ZodObject<Filter>>, unknown>;
      return listAnswer(request, await list(filtered, parsePageRequest(request, api.context, pages), api));
    },
  });
}

/** A POST whose effect stores the key of its request; see `idempotency-key.ts`. */
export interface EffectSpec<Path extends string, Query extends z.ZodType, Body extends z.ZodType, Result> extends Omit<
  RouteSpec<Path, Query, Body>,
  'method' | 'handle'
> {
  /**
   * Does it, and gives `request.idempotency` to the statement that does. Throws `Problem` when it
   * is refused.
   */
  perform: (request: ApiRequest<ParamsOf<Path>, z.output<Query>, z.output<Body>>, api: Api) => Promise<Result>;
  /**
   * The body for a result, of this request or of an earlier one with the same key and body. Absent:
   * the result itself, as its statement stores it.
   */
  show?: Shown<Path, Query, Body, Result, unknown>;
  /** The whole answer instead, where the result decides about more than the body. */
  answer?: Shown<Path, Query, Body, Result, Answer>;
}

type Shown<Path extends string, Query extends z.ZodType, Body extends z.ZodType, Result, Made> = (
  result: Result,
  request: ApiRequest<ParamsOf<Path>, z.output<Query>, z.output<Body>>,
  api: Api,
) => Promise<Made>;

/**
 * Declares a POST that has its effect once per Idempotency-Key. Without `answer`, the status is the
 * first of `answers`.
 */
export function defineEffect<
  Path extends string,
  Result,
  Query extends z.ZodType = NoFields,
  Body extends z.ZodType = NoFields,
>({ perform, show, answer, ...spec }: EffectSpec<Path, Query, Body, Result>): Route {
  const status = Number(Object.keys(spec.answers)[0]);
  return defineRoute<Path, Query, Body>({
    ...spec,
    method: 'POST',
    handle: (request, api) =>
      answerOnce(api.context.views, request.idempotency, {
        perform: () => perform(request, api),
        answer: async (result) =>
          answer === undefined
            ? { status, body: show === undefined ? result : await show(result, request, api) }
            : answer(result, request, api),
      }),
  });
}

/** Declares a route; the path's `{names}`, the query and the body give `handle` its types. */
export function defineRoute<Path extends string, Query extends z.ZodType = NoFields, Body extends z.ZodType = NoFields>(
  spec: RouteSpec<Path, Query, Body>,
): Route {
  // The table loses the types of each row; `parseRequest` makes the values by the same schemas
  // before `handle` is called.
  return spec as unknown as Route;
}

// The checks between the wire and a route. What does not fit is refused with the path of every
// field that is wrong; nothing is ignored.

/** The parts of a request as they came, before any check. */
export type RawRequest = Pick<FastifyRequest, 'url' | 'params' | 'query' | 'body' | 'headers'>;

/** The checked request. Throws `Problem`. */
export function parseRequest(
  route: Route,
  request: RawRequest,
  reply: FastifyReply,
  principal: Principal,
): ApiRequest<PathValues, unknown, unknown> {
  const params = parseParams(route.path, request.params as Record<string, string>);
  const query = parseFields(route.query, request.query, 'invalid_query');
  refuseNul(request.query as object, 'invalid_query');
  const unread = request.body instanceof Readable || Buffer.isBuffer(request.body) ? request.body : null;
  const sentBody = unread === null ? (request.body ?? {}) : {};
  const body = unread === null ? parseFields(route.body, sentBody, 'invalid_body') : {};
  const idempotency =
    route.method !== 'POST'
      ? null
      : buildKeyedRequest({
          header: request.headers['idempotency-key'],
          owner: ownerOfAnswers(principal),
          place: `POST ${formatPlace(route.path, params)}`,
          rawBody: sentBody,
        });
  const { limit: _limit, cursor: _cursor, ...filters } = query as Record<string, unknown>;
  return {
    params,
    query,
    body,
    lines: unread instanceof Readable ? unread : null,
    rawBody: Buffer.isBuffer(unread) ? unread : null,
    principal,
    idempotency,
    headers: request.headers,
    list: { path: request.url.split('?', 1)[0] ?? '', filters },
    reply,
  };
}

/**
 * Whose stored answers a request finds: those of its owner to requests with the same scope. A key
 * may replace one that had more, or other things.
 */
export function ownerOfAnswers({ owner, scope }: Principal): string {
  return scope === null ? owner : `${owner} ${sha256OfJson(scope)}`;
}

/** The path with its values in their canonical form. */
function formatPlace(path: string, params: object): string {
  const values = new Map(Object.entries(params));
  return path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => String(values.get(name)));
}

/** The parameters that the path names; the router has found all of them. */
export function parseParams(path: string, raw: Record<string, string>): PathValues {
  const values = namesIn(path).map((name) => [name, PATH_PARAMETERS[name].parse(raw[name] ?? '')]);
  refuseNul(raw, 'invalid_request');
  // A route's handler sees only the names of its own path.
  return Object.fromEntries(values) as PathValues;
}

/**
 * Throws when a value of the path or the query holds a NUL character, which the database cannot
 * store; those of a body are refused where it is read.
 */
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
