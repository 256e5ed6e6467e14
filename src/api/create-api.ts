// The HTTP server: the route table on Fastify. In the order of a request: its id, the key,
// admission (how much may be in flight), the body, the checks of the route, the route, and one
// place that turns any error into a problem. Successful requests are not logged.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { given } from '../core/json.ts';
import { newId } from '../ids.ts';
import type { KeyRole } from '../core/key-role.ts';
import { answerBrokenRequest, createOnRequest, createRefusal, type RefuseUnknown } from './on-request.ts';
import type { ApiContext } from './context.ts';
import { openApiDocument } from './openapi.ts';
import { FORM_TYPE, LINE_TYPES } from './upload.ts';
import { createErrorHandler } from './error-handler.ts';
import type { Identity } from './key-ring.ts';
import { allowOrigins } from './origins.ts';
import { parseJson } from './parse-json.ts';
import type { CreateApiPart } from './part.ts';
import { ANSWERED, roleOf, type Api, type OtherBody, type Route } from './route.ts';
import { apiOf, performRoute } from './perform-route.ts';
import { Problem } from './problem.ts';
import { createServices, type ApiServices } from './services.ts';
import type { TokenAccess } from './token-access.ts';
import { serveWebApp, WEB_DIST } from './web-app.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    isPublic?: boolean;
    takes?: OtherBody['as'] | undefined;
    role?: KeyRole;
    token?: TokenAccess | undefined;
    isLong?: boolean | undefined;
    /** False: pages of other origins cannot read it; absent: those of `api.origins` can. */
    cors?: false;
  }
  interface FastifyRequest {
    /** The caller; null: a request without a key, which public routes allow. */
    identity: Identity | null;
  }
}

/** The longest that a request may take to arrive; an upload of lines only has to keep arriving. */
const ARRIVAL_MS_MAX = 60_000;
const PARAM_CHARS_MAX = 2000;
const RAW_FORM_TYPE = 'application/x-www-form-urlencoded';
const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;

export interface ApiOptions {
  /** The longest that a body may take to arrive, in milliseconds. */
  arrivalMsMax?: number;
  /** Where the build of the dashboard is. */
  webDist?: string;
}

/**
 * Makes the API of some routes, and of what features add to it. `listen` starts it; closing it ends
 * its streams and waits first.
 */
export function createApi(
  context: ApiContext,
  { routes, parts }: { routes: readonly Route[]; parts: readonly CreateApiPart[] },
  { arrivalMsMax = ARRIVAL_MS_MAX, webDist = WEB_DIST }: ApiOptions = {},
): FastifyInstance {
  const services = createServices(
    context,
    parts.map((create) => create(context)),
    describeOnce(routes, context.config.api.publicUrl),
  );
  const handleError = createErrorHandler(context, routes);
  const refuseUnknown = createRefusal(routes);
  const app = fastify({
    bodyLimit: context.config.limits.bodyBytes,
    routerOptions: { maxParamLength: PARAM_CHARS_MAX },
    exposeHeadRoutes: false,
    // Not for the whole server, because an upload of lines may take longer; see `limitArrival`.
    requestTimeout: 0,
    // While it closes, requests on open connections are answered as usual: a rolling restart fails
    // no request (G26).
    return503OnClosing: false,
    genReqId: createRequestIds(),
    frameworkErrors: (error, request, reply) => {
      reply.header('x-request-id', request.id);
      handleError(error, request, reply);
    },
    clientErrorHandler: answerBrokenRequest,
  });
  app.decorateRequest('identity', null);
  allowOrigins(app, context.config);
  // After the hook that answers preflight requests, which have no key.
  app.after(() => void app.addHook('onRequest', createOnRequest(context, services, { refuseUnknown, arrivalMsMax })));
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
  // Makes the hooks run for paths that do not exist, too; `onRequest` refuses them before their
  // body is read.
  app.setNotFoundHandler((request, reply) => handleError(refuseUnknown(request, reply), request, reply));
  addBodyParsers(app, context.config.limits.jsonDepth);
  for (const route of routes) {
    app.route({
      method: route.method === 'GET' ? ['GET', 'HEAD'] : route.method,
      url: route.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      config: {
        isPublic: route.isPublic === true,
        takes: route.takes?.as,
        role: roleOf(route),
        token: route.token,
        isLong: route.isLong,
      },
      ...given({ bodyLimit: route.takes?.bodyBytesMax }),
      handler: createHandler(route, { context, services, routes, refuseUnknown }),
    });
  }
  serveWebApp(app, webDist);
  return app;
}

/** Makes the document when it is first requested. */
function describeOnce(routes: readonly Route[], publicUrl: string | undefined): () => object {
  let document: object | undefined;
  return () => (document ??= openApiDocument(routes, publicUrl));
}

/**
 * The connections without a request yet, as browsers open them in advance. Closing a server waits
 * for them, though no answer is sent on them.
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

// A body is JSON, unless its route reads it by itself.
function addBodyParsers(app: FastifyInstance, depthMax: number): void {
  const wrongType = () => new Problem('unsupported_media_type', 'Send the body as application/json.');
  const takes = (request: FastifyRequest, as: OtherBody['as']) => request.routeOptions.config.takes === as;
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    if (takes(request, 'raw')) return done(null, body);
    readBody(body as Buffer, depthMax, done);
  });
  app.addContentTypeParser(RAW_FORM_TYPE, { parseAs: 'buffer' }, (request, body, done) => {
    if (takes(request, 'raw')) return done(null, body);
    done(wrongType());
  });
  app.addContentTypeParser(LINE_TYPES, (request, payload, done) => {
    if (takes(request, 'lines')) return done(null, payload);
    done(wrongType());
  });
  app.addContentTypeParser(FORM_TYPE, (request, payload, done) => {
    if (takes(request, 'form')) return done(null, payload);
    done(wrongType());
  });
}

function readBody(body: Buffer, depthMax: number, done: (error: Error | null, value?: unknown) => void): void {
  try {
    // `Content-Type: application/json` without a body: as if neither had been sent.
    done(null, body.length === 0 ? undefined : parseJson(body, depthMax));
  } catch (error) {
    done(error as Error);
  }
}

/**
 * The id that the client gives, or one of our own: of this server, and counted, because a random
 * one costs more than it says.
 */
function createRequestIds() {
  const server = newId<string>();
  let count = 0;
  return (raw: { headers: Record<string, string | string[] | undefined> }): string => {
    const given = raw.headers['x-request-id'];
    if (typeof given === 'string' && REQUEST_ID.test(given)) return given;
    count += 1;
    return `${server}.${count}`;
  };
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

function createHandler(route: Route, { refuseUnknown, ...api }: Api & { refuseUnknown: RefuseUnknown }) {
  const own = apiOf(route, api);
  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    if (route.form?.isEnabled(api.context.config) === false) throw refuseUnknown(request, reply);
    const principal = request.identity?.principal ?? null;
    const answer = await performRoute(route, { request, reply, principal }, own);
    if (answer === ANSWERED) return reply;
    reply.code(answer.status);
    if (answer.headers !== undefined) reply.headers(answer.headers);
    if (request.method === 'HEAD' && answer.body instanceof Readable) {
      answer.body.destroy();
      return reply.send();
    }
    return reply.send(answer.once === undefined ? answer.body : { ...(answer.body as object), ...answer.once });
  };
}
