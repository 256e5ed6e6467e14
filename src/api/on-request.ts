// What is checked of every request before its body is read, in this order: the host, the key, the
// route, the role of the key, the encoding of the body, and how much is in flight.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { invalidToken, unauthorized, wrongKey } from './attempts.ts';
import { FORM_TYPE, LINE_TYPES, parseMediaType } from './upload.ts';
import type { ApiContext } from './context.ts';
import { identify, type Identity } from './key-ring.ts';
import { hasBody } from './error-handler.ts';
import { notFound, Problem, problemBody } from './problem.ts';
import type { Route } from './route.ts';
import { refuseRole } from './perform-route.ts';
import type { ApiServices } from './services.ts';
import { refuseToken } from './token-access.ts';
import { MIMEType } from 'node:util';
import { TOKEN_PREFIX } from '../core/browser-token.ts';
import { cutHead } from '../core/text.ts';
import type { Config } from '../config.ts';
import { isLoopbackHost } from '../network/public-address.ts';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { newId } from '../ids.ts';

/**
 * Makes the hook. Routes that do not exist ask for a key too, so that a caller without one cannot
 * find out which ones do (G32).
 */
export function createOnRequest(
  { config }: ApiContext,
  services: ApiServices,
  { refuseUnknown, arrivalMsMax }: { refuseUnknown: RefuseUnknown; arrivalMsMax: number },
) {
  const checkHost = createCheckHost(config);
  const { admission, attempts, keys, limits } = services;

  function enter(request: FastifyRequest, reply: FastifyReply, identity: Identity | null): void {
    request.identity = identity;
    const { isPublic, role, token, isLong } = request.routeOptions.config;
    if (isPublic !== true) {
      if (identity === null) {
        reply.header('www-authenticate', 'Bearer');
        const { authorization } = request.headers;
        if (authorization?.startsWith(`Bearer ${TOKEN_PREFIX}`)) throw invalidToken();
        throw authorization === undefined ? unauthorized() : wrongKey(attempts, request.ip);
      }
      limits.takeRequest(identity.principal, request.ip);
      if (request.is404) throw refuseUnknown(request, reply);
      const { token: claims } = identity.principal;
      if (claims !== undefined) refuseToken(token, claims);
      refuseRole(identity.principal.role, role);
      if (isLong === true) onClose(reply, limits.hold(identity.principal));
    }
    checkEncoding(request, request.routeOptions.config.takes === 'lines' && isStreamed(request));
    admission.enter(request);
    limitArrival(request, reply, arrivalMsMax);
    onClose(reply, () => admission.leave(request));
  }

  return (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    reply.header('x-request-id', request.id);
    reply.header('x-content-type-options', 'nosniff');
    reply.header('cache-control', 'no-store');
    const enterAs = (identity: Identity | null): void => {
      try {
        enter(request, reply, identity);
      } catch (error) {
        return done(error as Error);
      }
      done();
    };
    try {
      checkHost(request);
      refuseTokenInAddress(request);
      // Requests for the state of this process are answered however busy it is.
      if (request.routeOptions.config.isPublic === true && request.method !== 'POST') return done();
      const identity = identify(request, keys);
      if (!(identity instanceof Promise)) return enterAs(identity);
      identity.then(enterAs, done);
    } catch (error) {
      done(error as Error);
    }
  };
}

/**
 * Also when the client disconnects before there is an answer, for which there is no hook, or while
 * its key was looked up.
 */
function onClose({ raw }: FastifyReply, release: () => void): void {
  if (raw.closed) release();
  else raw.once('close', release);
}

export type RefuseUnknown = ReturnType<typeof createRefusal>;

/**
 * Makes the refusal of a method that the path does not have, with `Allow`, or of a path that does
 * not exist.
 */
export function createRefusal(routes: readonly Route[]) {
  const methodsOf = routes.map(({ method, path }) => ({ method, matches: compilePath(path) }));
  return (request: FastifyRequest, reply: FastifyReply): Problem => {
    const path = readPath(request);
    const allowed = methodsOf
      .filter(({ matches }) => matches.test(path))
      .flatMap(({ method }) => (method === 'GET' ? [method, 'HEAD'] : [method]));
    if (allowed.length === 0) return notFound(`${request.method} ${path}`);
    const allow = [...new Set(allowed)].join(', ');
    reply.header('allow', allow);
    return new Problem('method_not_allowed', `${path} does not support ${request.method}. It supports ${allow}.`);
  };
}

function compilePath(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/[.]/g, '\\$&').replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}

function readPath(request: FastifyRequest): string {
  return request.url.split('?', 1)[0] ?? '';
}

// What is checked of the headers of a request before its body is read: those that decide about it
// are there once, `Host` names this service, and the body is in UTF-8 and not compressed. A web
// page can make a browser send requests to a loopback address under a name of its own (DNS
// rebinding); such a name is refused.

const SINGLE_HEADERS = ['host', 'authorization'];

const TOKEN = new RegExp(String.raw`${TOKEN_PREFIX}[\w-]{40}`);

/** Throws `Problem` for a token in an address, which logs and the history of browsers keep (G31). */
function refuseTokenInAddress({ url }: FastifyRequest): void {
  if (!TOKEN.test(url)) return;
  throw new Problem(
    'invalid_request',
    'The address contains a token. Send it as Authorization: Bearer <token>, and make a new one: addresses are logged.',
  );
}

/** Makes the check; it throws `Problem`. */
function createCheckHost({ runtime, api }: Pick<Config, 'runtime' | 'api'>): (request: FastifyRequest) => void {
  // An API on another address is reached under names that only the operator knows.
  const isChecking = isLoopbackHost(runtime.host);
  const named = new Set([runtime.host, ...api.hosts].map((host) => host.toLowerCase()));
  if (api.publicUrl !== undefined) named.add(new URL(api.publicUrl).host);
  return (request) => {
    refuseDoubled(request.raw.rawHeaders);
    const host = (hostOfTarget(request.raw.url) ?? request.headers.host ?? '').toLowerCase();
    if (!isChecking || named.has(host) || named.has(parseHostName(host)) || isLoopbackHost(parseHostName(host))) return;
    throw new Problem(
      'misdirected',
      `The host ${JSON.stringify(cutHead(host, 200))} is not allowed. Use localhost or 127.0.0.1, or add the name to api.hosts in the configuration.`,
    );
  };
}

/**
 * The host of an absolute request target (`GET http://host/path`), which takes precedence over the
 * header; null: the target has none.
 */
function hostOfTarget(target: string | undefined): string | null {
  return /^[a-z][a-z\d+.-]*:\/\/(?:[^/?#]*@)?([^/?#]*)/i.exec(target ?? '')?.[1] ?? null;
}

/** The host without its port. */
function parseHostName(host: string): string {
  return host.replace(/:\d*$/, '');
}

/**
 * Names and values in turn, as they were sent: of a doubled header Node keeps one and drops the
 * other.
 */
function refuseDoubled(rawHeaders: readonly string[]): void {
  for (const name of SINGLE_HEADERS) {
    const times = rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === name).length;
    if (times > 1) {
      throw new Problem('invalid_header', `The header ${name} was sent ${times} times. Send it once.`, {
        errors: [{ path: name, message: 'expected once' }],
      });
    }
  }
}

/** Throws `Problem` 415 when the headers name a compression or another charset. */
function checkEncoding({ headers }: Pick<FastifyRequest, 'headers'>, mayBeGzip = false): void {
  const encoding = headers['content-encoding'];
  const name = encoding?.trim().toLowerCase() ?? 'identity';
  if (encoding !== undefined && name !== 'identity' && !(mayBeGzip && name === 'gzip')) {
    throw refused('Content-Encoding', encoding, 'Send the body without compression.');
  }
  const charset = parseCharset(headers['content-type']);
  if (charset !== null && !/^utf-?8$/i.test(charset)) {
    throw refused('Content-Type', `charset=${charset}`, 'Send the body in UTF-8.');
  }
}

function refused(name: string, value: string, fix: string): Problem {
  return new Problem('unsupported_media_type', `${name} is ${JSON.stringify(cutHead(value, 100))}. ${fix}`, {
    errors: [{ path: name, message: fix }],
  });
}

/** Null without one, and for a type that is none: the server refuses that by itself. */
function parseCharset(contentType: string | undefined): string | null {
  try {
    return contentType === undefined ? null : new MIMEType(contentType).params.get('charset');
  } catch {
    return null;
  }
}

// Requests that are answered on their connection, past the server: bytes that are not HTTP, and
// bodies that do not arrive.

/**
 * Breaks off a request whose body has not arrived in time. How long its answer takes does not
 * matter.
 */
export function limitArrival(request: FastifyRequest, reply: FastifyReply, msMax: number): void {
  const { raw } = request;
  if (!hasBody(request) || isStreamed(request)) return;
  const late = `The body did not arrive within ${msMax / 1000} s. Nothing was done.`;
  const timer = setTimeout(() => answerByHand(new Problem('request_timeout', late), raw.socket), msMax);
  const hasArrived = (): void => clearTimeout(timer);
  // A request that is refused before its body is read has no end, only an answer or a connection
  // that closes.
  raw.once('end', hasArrived).once('close', hasArrived);
  reply.raw.once('finish', hasArrived).once('close', hasArrived);
}

/** True when the body is read by the route, which watches its arrival. */
function isStreamed(request: FastifyRequest): boolean {
  const type = parseMediaType(request);
  const { takes } = request.routeOptions.config;
  return (takes === 'lines' && LINE_TYPES.includes(type)) || (takes === 'form' && type === FORM_TYPE);
}

/** Answers bytes that are not HTTP, or headers that are too long; there is no request yet. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
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
