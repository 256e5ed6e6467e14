// The HTTP server: the route table on Fastify. In the order of a request: its id, the key, admission (how much may be in
// flight), the body, the checks of the route, the route, and one place that turns any error into a problem. Successful
// requests are not logged.
import { STATUS_CODES, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { newId } from '../ids.ts';
import { createAttempts } from './attempts.ts';
import { createAuthenticate, type Principal } from './authenticate.ts';
import { checkEncoding } from './check-encoding.ts';
import { createCheckHost } from './check-host.ts';
import type { ApiContext } from './context.ts';
import { createServices } from './create-services.ts';
import { isLinesBody, LINE_TYPES } from './batch-lines.ts';
import { answerWithin } from './deadline.ts';
import { createErrorHandler } from './error-handler.ts';
import { parseJson } from './parse-json.ts';
import { parseRequest } from './parse-request.ts';
import { notFound, Problem, problemBody } from './problem.ts';
import { ANSWERED, type Route } from './route.ts';
import { ROUTES } from './route-table.ts';
import type { ApiServices } from './services.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    isPublic?: boolean;
    takesLines?: boolean;
  }
  interface FastifyRequest {
    principal: Principal | null;
  }
}

/** The longest that an ordinary request takes before it is answered 503. */
const REQUEST_MS_MAX = 10_000;
/** The longest that a request may take to arrive; an upload of lines only has to keep arriving. */
const ARRIVAL_MS_MAX = 60_000;
const PARAM_CHARS_MAX = 2000;
const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;

/**
 * Makes the API. `listen` starts it; closing it ends its streams and waits first. `arrivalMsMax`: the longest that a body may take to arrive, in
 * milliseconds.
 */
export function createApi(
  context: ApiContext,
  { arrivalMsMax = ARRIVAL_MS_MAX }: { arrivalMsMax?: number } = {},
): FastifyInstance {
  const services = createServices(context, ROUTES);
  const handleError = createErrorHandler(context);
  const app = fastify({
    bodyLimit: context.config.limits.bodyBytes,
    routerOptions: { maxParamLength: PARAM_CHARS_MAX },
    exposeHeadRoutes: false,
    // Not for the whole server, because an upload of lines may take longer; see `limitArrival`.
    requestTimeout: 0,
    // While it closes, requests on open connections are answered as usual: a rolling restart fails no request (G26).
    return503OnClosing: false,
    genReqId: createRequestIdOf(),
    frameworkErrors: (error, request, reply) => {
      reply.header('x-request-id', request.id);
      handleError(error, request, reply);
    },
    clientErrorHandler: answerBrokenRequest,
  });
  app.decorateRequest('principal', null);
  app.addHook('onRequest', createOnRequest(context, services, arrivalMsMax));
  app.addHook('onResponse', createOnResponse(services));
  const silent = trackSilentConnections(app);
  app.addHook('preClose', (done) => {
    services.close();
    for (const socket of silent) socket.destroy();
    // Connections whose request ends from now on are not kept for another one.
    app.server.keepAliveTimeout = 1;
    done();
  });
  app.setErrorHandler(handleError);
  // Makes the hooks run for paths that do not exist, too; `onRequest` refuses them before their body is read.
  app.setNotFoundHandler((request, reply) => handleError(unknownRoute(request, reply), request, reply));
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    readBody(body as Buffer, context.config.limits.jsonDepth, done);
  });
  app.addContentTypeParser(LINE_TYPES, (request, payload, done) => {
    if (isLinesRoute(request)) return done(null, payload);
    done(new Problem('unsupported_media_type', 'Send the body as application/json.'));
  });
  for (const route of ROUTES) {
    app.route({
      method: route.method,
      url: route.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      config: { isPublic: route.isPublic === true, takesLines: route.takesLines !== undefined },
      ...(route.takesLines === undefined ? {} : { bodyLimit: route.takesLines.bodyBytesMax }),
      handler: createHandler(route, context, services),
    });
  }
  return app;
}

/**
 * The connections without a request yet, as browsers open them in advance. Closing a server waits for them, though no answer
 * is sent on them.
 */
function trackSilentConnections(app: FastifyInstance): ReadonlySet<Socket> {
  const silent = new Set<Socket>();
  app.server.on('connection', (socket: Socket) => {
    silent.add(socket);
    socket.once('close', () => silent.delete(socket));
  });
  app.server.on('request', (request: IncomingMessage) => silent.delete(request.socket));
  return silent;
}

/** Breaks off a request whose body has not arrived in time. How long its answer takes does not matter. */
function limitArrival(request: FastifyRequest, reply: FastifyReply, msMax: number): void {
  const { raw, headers } = request;
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (!hasBody || (isLinesRoute(request) && isLinesBody(request))) return;
  const late = new Problem('request_timeout', `The body did not arrive within ${msMax / 1000} s. Nothing was done.`);
  const timer = setTimeout(() => answerByHand(late, raw.socket), msMax);
  const hasArrived = (): void => clearTimeout(timer);
  // A request that is refused before its body is read has no end, only an answer or a connection that closes.
  raw.once('end', hasArrived).once('close', hasArrived);
  reply.raw.once('finish', hasArrived).once('close', hasArrived);
}

/** True for a route that reads lines by itself. */
function isLinesRoute(request: FastifyRequest): boolean {
  return request.routeOptions.config.takesLines === true;
}

function readBody(body: Buffer, depthMax: number, done: (error: Error | null, value?: unknown) => void): void {
  try {
    // `Content-Type: application/json` without a body: as if neither had been sent.
    done(null, body.length === 0 ? undefined : parseJson(body, depthMax));
  } catch (error) {
    done(error as Error);
  }
}

/** The id that the client gives, or one of our own: of this server, and counted, because a random one costs more than it says. */
function createRequestIdOf() {
  const server = newId<string>();
  let count = 0;
  return (raw: { headers: Record<string, string | string[] | undefined> }): string => {
    const given = raw.headers['x-request-id'];
    if (typeof given === 'string' && REQUEST_ID.test(given)) return given;
    count += 1;
    return `${server}.${count}`;
  };
}

function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0] ?? '';
}

/** The id, the host, the key and the door. Routes that do not exist ask for a key too, so that a caller without one cannot find out which ones do (G32). */
function createOnRequest({ config, adminKey }: ApiContext, { admission }: ApiServices, arrivalMsMax: number) {
  const checkHost = createCheckHost(config);
  const attempts = createAttempts();
  const configured = config.api.keys.map(({ name, key }) => ({ name: `key:${name}`, key }));
  const authenticate = createAuthenticate([{ name: 'admin', key: adminKey }, ...configured]);
  return (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    reply.header('x-request-id', request.id);
    reply.header('x-content-type-options', 'nosniff');
    reply.header('cache-control', 'no-store');
    try {
      checkHost(request);
      const { authorization } = request.headers;
      request.principal = authenticate(authorization);
      // Requests for the state of this process are answered however busy it is.
      if (request.routeOptions.config.isPublic === true) return done();
      if (request.principal === null) {
        reply.header('www-authenticate', 'Bearer');
        throw refusal(authorization === undefined ? 0 : attempts.countWrongKey(request.ip));
      }
      if (request.is404) throw unknownRoute(request, reply);
      checkEncoding(request, isLinesRoute(request) && isLinesBody(request));
      admission.enter(request);
      limitArrival(request, reply, arrivalMsMax);
    } catch (error) {
      return done(error as Error);
    }
    // Also when the client leaves before there is an answer, which no hook tells.
    reply.raw.once('close', () => admission.leave(request));
    done();
  };
}

const METHODS_OF = ROUTES.map(({ method, path }) => ({ method, matches: matcherOf(path) }));

function matcherOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/[.]/g, '\\$&').replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}

/** The refusal of a method that the path does not have, with `Allow`, or of a path that does not exist. */
function unknownRoute(request: FastifyRequest, reply: FastifyReply): Problem {
  const path = pathOf(request);
  const allowed = METHODS_OF.filter(({ matches }) => matches.test(path)).map(({ method }) => method);
  if (allowed.length === 0) return notFound(`${request.method} ${path}`);
  const allow = [...new Set(allowed)].join(', ');
  reply.header('allow', allow);
  return new Problem('method_not_allowed', `${path} does not support ${request.method}. It supports ${allow}.`);
}

/** The answer to a request without a valid key, which may try again after so many milliseconds. */
function refusal(retryAfterMs: number): Problem {
  if (retryAfterMs === 0) {
    return new Problem('unauthorized', 'Send Authorization: Bearer <key> with a key of this service.');
  }
  return new Problem(
    'too_many_attempts',
    'Too many requests with a wrong API key came from this address. Wait, then send a valid key.',
    {
      retryAfterMs,
    },
  );
}

function createOnResponse({ admission, metrics }: ApiServices) {
  return (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    const isOrdinary = admission.leave(request);
    metrics.observeRequest({
      method: request.method,
      route: request.routeOptions.url ?? 'unknown',
      status: reply.statusCode,
      durationMs: isOrdinary ? reply.elapsedTime : null,
    });
    done();
  };
}

const NOBODY: Principal = { name: 'nobody' };

function createHandler(route: Route, context: ApiContext, services: ApiServices) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const parsed = parseRequest(route, request, reply, request.principal ?? NOBODY);
    const answering = route.handle(parsed, { context, services });
    const answer = await (route.isLong === true ? answering : answerWithin(answering, REQUEST_MS_MAX, LATE));
    if (answer === ANSWERED) return reply;
    reply.code(answer.status);
    if (answer.headers !== undefined) reply.headers(answer.headers);
    return reply.send(answer.body);
  };
}

const LATE = 'The request timed out. It may still take effect.';

/** Answers bytes that are not HTTP, or headers that are too long; there is no request yet. */
function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET') return void socket.destroy();
  answerByHand(new Problem('invalid_request', 'The HTTP request is malformed.'), socket);
}

/** Answers on a connection whose request is not read to its end, and closes it. */
function answerByHand(problem: Problem, socket: Socket): void {
  if (!socket.writable) return void socket.destroy();
  const body = problemBody(problem, '', newId<string>());
  socket.end(
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\ncontent-type: application/problem+json\r\nconnection: close\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}
